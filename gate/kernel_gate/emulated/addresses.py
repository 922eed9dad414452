"""Addresses that name their allocation.

Allocation number N starts at N · 2⁴⁰ + 2³⁹, so every address within half a terabyte of it says which buffer it was
based on, and an index that runs away is told from one that belongs to the next buffer. Windows stand for shared
and local memory in generic addresses. Shared variables lie 2²⁰ apart in their 32-bit space for the same reason.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

SEGMENT_BITS = 40
CENTRE = 1 << (SEGMENT_BITS - 1)
SHARED_WINDOW = 1
LOCAL_WINDOW = 2
_FIRST = 3
SHARED_BITS = 20
SHARED_CENTRE = 1 << (SHARED_BITS - 1)


def window_base(number: int) -> int:
    """The generic address where a window starts."""
    return number << SEGMENT_BITS


@dataclass(slots=True)
class Segment:
    """One allocation."""

    number: int
    name: str
    nbytes: int
    itemsize: int
    constant: bool = False
    data: npt.NDArray[np.uint8] = field(init=False)
    """Padded to a multiple of 64 bytes, so that it can be viewed as any vector type."""
    written: npt.NDArray[np.uint8] | None = field(init=False)
    """0xFF where something was written; None when everything was."""

    def __post_init__(self) -> None:
        padded = -(-max(self.nbytes, 1) // 64) * 64
        self.data = np.zeros(padded, np.uint8)
        self.written = np.zeros(padded, np.uint8)

    @property
    def base(self) -> int:
        """Address of its first byte."""
        return (self.number << SEGMENT_BITS) + CENTRE

    def fill(self, data: npt.NDArray[np.uint8]) -> None:
        """Write the whole of it from the host."""
        self.data[: self.nbytes] = data
        self.written = None


class AddressSpace:
    """All allocations of a device."""

    def __init__(self) -> None:
        self._segments: dict[int, Segment] = {}
        self._next = _FIRST

    def allocate(self, nbytes: int, name: str, itemsize: int, constant: bool = False) -> Segment:
        """A new segment; numbers are never used twice, so a stale pointer is always found."""
        segment = Segment(self._next, name, nbytes, itemsize, constant)
        self._segments[self._next] = segment
        self._next += 1
        return segment

    def free(self, segment: Segment) -> None:
        """Forget a segment; further accesses are out of bounds."""
        self._segments.pop(segment.number, None)

    def find(self, number: int) -> Segment | None:
        """The segment of that number."""
        return self._segments.get(number)

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        return sum(s.nbytes for s in self._segments.values())

    def describe(self, address: int) -> tuple[str, dict[str, Any]]:
        """Words for a bad address and what a fault says of it: buffer and element."""
        segment = self.find(address >> SEGMENT_BITS)
        if segment is None:
            return ("a null pointer" if address < 1 << SEGMENT_BITS else "no buffer"), {}
        offset = address - segment.base
        element = offset // segment.itemsize
        count = segment.nbytes // segment.itemsize
        return f"{segment.name}[{element}] of {count} elements", {"buffer": segment.name, "element": element}
