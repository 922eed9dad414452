"""The words of a text of CUDA C++ or Python: names, keywords and types alike."""

from __future__ import annotations

import re

WORD = re.compile(r"[A-Za-z_]\w*")
WORD_OF_BYTES = re.compile(rb"[A-Za-z_]\w*")


def short(text: str, limit: int = 90) -> str:
    """A text in one line of at most so many characters."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
