"""TOML that somebody else wrote."""

from __future__ import annotations

import tomllib
from typing import Any

MOST_PARTS = 40
"""The most parts of one key: `tomllib` takes the square of their number."""


def toml_of(text: str) -> dict[str, Any]:
    """The tables of a TOML text. Raises `ValueError` with words, also for one that is nested without end."""
    for number, line in enumerate(text.split("\n"), 1):
        key = line.partition("=")[0].lstrip()
        if key.count(".") > MOST_PARTS and not key.startswith("#"):
            raise ValueError(f"line {number}: a key of more than {MOST_PARTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested deeper than is read") from None
