"""Checks of recorded code that did not hold, as a program tells of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_NUMBER = re.compile(r"-?[0-9]{1,15}")
_MOST_WORDS = 4000
"""Characters of one field of a failed check."""

Asked = Sequence[tuple[str, str, int]]
"""What tensors were asked: name, what, index."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A check that did not hold."""

    condition: str
    left: str
    op: str
    right: str
    message: str
    asked: Asked
    """What tensors were asked before it: name, what, index."""

    @classmethod
    def of(cls, fields: list[str]) -> Failed:
        """From the fields of a line."""
        condition, left, op, right, message, asked = (f[:_MOST_WORDS] for f in (*fields, *[""] * 6)[:6])
        return cls(condition, left, op, right, message, asked_in(asked))


def asked_in(text: str) -> Asked:
    """What tensors were asked: name, what, index."""
    parts = [word.split(",") for word in text[:_MOST_WORDS].split()]
    return tuple((p[0], p[1], int(p[2])) for p in parts if len(p) == 3 and _NUMBER.fullmatch(p[2]))
