"""Structures that host code copies to variables of device code, as the words of the bytes that it copies."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from kernel_lineage.workloads.following.fields import alias_of
from kernel_lineage.workloads.following.types import FLOATS, INTEGERS, bytes_of, plain_type
from kernel_lineage.workloads.following.unit import Unit
from kernel_lineage.workloads.following.values import Number, Record

_WORD = 4


def words_of(record: Record, unit: Unit, text: Callable[[Number], str]) -> tuple[str, ...] | None:
    """The 4-byte words of a structure of plain numbers, as expressions; None where one is not told."""
    words: list[str] = []
    widest = _WORD
    for field in unit.fields.get(alias_of(record.type, unit), ()):
        kind = plain_type(alias_of(field.type, unit))
        value, size = record.fields.get(field.name), bytes_of(kind)
        if field.array or field.stars or size not in (_WORD, 2 * _WORD) or not isinstance(value, Number):
            return None
        widest = max(widest, size)
        own = _words(value, kind, size, text)
        if own is None:
            return None
        words += ["0"] * (len(words) % (size // _WORD))
        words += own
    words += ["0"] * (len(words) % (widest // _WORD))
    return tuple(words) or None


def _words(value: Number, kind: str, size: int, text: Callable[[Number], str]) -> list[str] | None:
    """The words of one number; None for a real one that sizes decide, and for what is no plain number."""
    if kind in FLOATS and value.is_constant:
        packed = struct.pack("<d" if size > _WORD else "<f", value.value)
        return [str(word) for word in _signed(packed)]
    if kind not in INTEGERS or not isinstance(value.value, int) or not 0 <= value.value < 1 << 31:
        return None
    return [text(value), "0"][: size // _WORD]


def _signed(data: bytes) -> Iterator[int]:
    for (word,) in struct.iter_unpack("<i", data):
        yield word
