"""Checks of several conditions that all have to hold, written such that it is told which one does not."""

from __future__ import annotations

import re
from collections.abc import Iterator

_CHECK = re.compile(
    r"\b(?:STD_)?TORCH_(?:INTERNAL_ASSERT|CHECK(?:_VALUE|_INDEX|_TYPE|_NOT_IMPLEMENTED)?)\s*\(|\bAT_ASSERTM?\s*\("
)
_TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|//[^\n]*|/\*.*?\*/|&&|\|\||[()\[\]{},?]', re.DOTALL
)
_OPENS, _CLOSES = frozenset("([{"), frozenset(")]}")
_LONGEST = 2000
"""Characters of a check that is looked through."""


def with_parts(text: str) -> str:
    """The text in which each condition of such a check is a part that is told by itself."""
    parts, at = [], 0
    for check in _CHECK.finditer(text):
        pieces = list(_conditions(text, check.end()))
        # A comment to the end of a line would take what closes the part with it.
        if len(pieces) < 2 or check.start() < at or "//" in text[check.end() : pieces[-1][1]]:
            continue
        for start, end in pieces:
            written = text[start:end]
            front = len(written) - len(written.lstrip())
            parts += [text[at : start + front], "KLINEAGE_PART(", written.strip(), ")"]
            at = start + len(written.rstrip())
    return "".join((*parts, text[at:]))


def _conditions(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Where the conditions stand that the first argument joins by `&&`; none where it is more than that."""
    spans, begin, depth = [], start, 0
    for token in _TOKEN.finditer(text, start, start + _LONGEST):
        word = token[0]
        if word in _OPENS:
            depth += 1
        elif word in _CLOSES and depth:
            depth -= 1
        elif depth == 0 and word in ("||", "?", "{", "}", "]"):
            return
        elif depth == 0 and word in ("&&", ",", ")"):
            spans.append((begin, token.start()))
            begin = token.end()
            if word != "&&":
                yield from spans
                return
