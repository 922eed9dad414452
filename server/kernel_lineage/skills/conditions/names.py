"""The fixed names of facts, with unit and source: the one place where a new one is added."""

from __future__ import annotations

import re


def rename_fact(name: str, kernel_name: str, skill_name: str) -> str:
    """`align(inp)` under inp → x is `align(x)`; a fact that does not speak of `kernel_name` keeps its name."""
    return re.sub(rf"(?<![\w.]){re.escape(kernel_name)}(?!\w)", skill_name, name)
