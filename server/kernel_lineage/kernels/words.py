"""The words of a text of CUDA C++ or Python: names, keywords and types alike."""

from __future__ import annotations

import re
from collections.abc import Mapping

WORD = re.compile(r"[A-Za-z_]\w*")
WORD_OF_BYTES = re.compile(rb"[A-Za-z_]\w*")


def with_meanings(text: str, meanings: Mapping[str, str]) -> str:
    """A text with what some of its words stand for in their places."""
    return WORD.sub(lambda m: meanings.get(m[0], m[0]), text)


def short(text: str, limit: int = 90) -> str:
    """A text in one line of at most so many characters."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
