"""CUDA C++ as characters: what of a text is code."""

from __future__ import annotations

import re

TOKEN = re.compile(
    r"""R"(?P<mark>[^()\\ ]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|//[^\n]*|/\*.*?\*/""",
    re.DOTALL,
)
"""A comment or a literal."""


def code_alone(source: str) -> str:
    """A text with spaces for its comments and literals; every character and line stays where it is."""
    return TOKEN.sub(blank, source)


def blank(match: re.Match[str]) -> str:
    """Spaces for what matched, line by line."""
    return re.sub(r"[^\n]", " ", match[0])
