"""PTX text → modules, functions and statements."""
