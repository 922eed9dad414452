"""The gate: build → check → sanitize → profile → verdict. Stands alone."""
