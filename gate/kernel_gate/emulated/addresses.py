"""Addresses that name their allocation.

Allocation number N lies in the middle of the 2³⁶ bytes from N · 2³⁶, so every address within 32 gigabytes of it says
which buffer it was based on, and an index that runs away is told from one that belongs to the next buffer. Windows
stand for shared and local memory and for parameters in generic addresses. Shared variables lie 2²⁰ apart in their
32-bit space for the same reason. Numbers are such that addresses look as a GPU's do (0x7…, aligned to 512 bytes and no
more), so that a kernel cannot tell by them where it runs.
"""

from __future__ import annotations

import os
import random
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kernel_gate.devices.base import DeviceError, Place

if TYPE_CHECKING:
    from kernel_gate.emulated.payloads.memory import PayloadMemory

SEGMENT_BITS = 36
CENTRE = 1 << (SEGMENT_BITS - 1)
SHARED_WINDOW = 2046
LOCAL_WINDOW = 2045
PARAMETERS = 3
"""Number of the segment that stands for a kernel's parameters in generic addresses."""
GRID_BARRIER = 2
"""Number of the segment by which all blocks of a grid wait for each other."""
FUNCTION_WINDOW = 4
_NUMBERS = range(2040, FUNCTION_WINDOW, -1)
"""Numbers of allocations, in the order in which they are taken: from 0x7f8… down, as on a GPU."""
_REUSED_AFTER = 200
"""So many later allocations until the number of a freed one is taken again."""
_PAGE = 512
"""What cudaMalloc aligns to at least."""
_PAGES = 1 << 24
_LARGE = (2 << 20) // _PAGE
"""Pages of 2 MB, what allocators of frameworks align large tensors to: half of the buffers lie so."""
SHARED_BITS = 20
SHARED_CENTRE = 1 << (SHARED_BITS - 1)
RANK_SHIFT = 27
"""From here on an address of shared memory holds the rank of a block of the cluster plus one; 0: the own block."""


def window_base(number: int) -> int:
    """The generic address where a window starts."""
    return number << SEGMENT_BITS


def function_address(number: int) -> int:
    """What a pointer to a device function holds; nothing is stored there."""
    return window_base(FUNCTION_WINDOW) + 16 * number


@dataclass(slots=True)
class Watched:
    """Some bytes of a segment's `data`, and who stored to them last."""

    start: int
    stop: int
    writer: Place | None = None
    launch: int = 0
    """The writer's number among the device's launches."""
    block: int = 0
    """The writer's linear number in the grid."""


@dataclass(slots=True)
class Reached:
    """How far into a segment's `data` accesses went, in bytes; nothing yet while `stop` is 0."""

    stop: int = 0
    reads: bool = False
    writes: bool = False

    def include(self, stop: int, *, reads: bool, writes: bool) -> None:
        """An access that ended before this byte."""
        self.stop = max(self.stop, stop)
        self.reads |= reads
        self.writes |= writes


_GB = 1 << 30
_SHARE_OF_MEMORY = 4


@dataclass(slots=True)
class Segment:
    """One allocation."""

    number: int
    name: str
    nbytes: int
    itemsize: int
    """Bytes of an element; 0 where what accesses it tells, as of a variable, whose type code does not keep."""
    constant: bool = False
    input: bool = False
    """What a launch may read but not change."""
    offset: int = 0
    """Bytes of `data` before the segment's own, so that it can start at an address of any alignment."""
    page: int = 0
    """The place where `data` lies, from the middle of its allocation's addresses on."""
    data: npt.NDArray[np.uint8] = field(init=False)
    """Padded to a multiple of 64 bytes, so that it can be viewed as any vector type."""
    watched: Watched | None = None
    reached: Reached | None = None
    written: npt.NDArray[np.uint8] | None = field(init=False)
    """0xFF where something was written; None when everything was."""

    def __post_init__(self) -> None:
        padded = -(-max(self.offset + self.nbytes, 1) // 64) * 64
        self.data = np.zeros(padded, np.uint8)
        self.written = np.zeros(padded, np.uint8)

    @property
    def base(self) -> int:
        """Address of its first byte."""
        return self.origin + self.offset

    @property
    def origin(self) -> int:
        """Address of the first byte of `data`; a multiple of 512."""
        return (self.number << SEGMENT_BITS) + CENTRE + self.page * _PAGE

    @property
    def contents(self) -> npt.NDArray[np.uint8]:
        """Its bytes: a view."""
        return self.data[self.offset : self.offset + self.nbytes]

    def element(self, offset: int, size: int) -> int:
        """The element at so many bytes from its start, for an access to elements of `size` bytes."""
        return offset // (self.itemsize or size)

    def fill(self, data: npt.NDArray[np.uint8]) -> None:
        """Write the whole of it from the host."""
        self.contents[:] = data
        self.written = None


def some_page() -> int:
    """Where a segment may lie: one place in two is a multiple of a large power of two."""
    page = random.randrange(_PAGES)
    return page - page % random.choice((1, _LARGE))


def memory_of_device() -> int:
    """Bytes that an emulated device may hold: each takes two of the machine's, and other processes want some."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // _SHARE_OF_MEMORY


class AddressSpace:
    """All allocations of a device."""

    def __init__(self, most_bytes: int | None = None, payloads: PayloadMemory | None = None) -> None:
        self.most_bytes = memory_of_device() if most_bytes is None else most_bytes
        self.payloads = payloads
        """Payloads beside the floats of the segments, where a device follows them."""
        self._segments: dict[int, Segment] = {}
        self._fresh = iter(_NUMBERS)
        self._freed: deque[int] = deque()

    def allocate(
        self,
        nbytes: int,
        name: str,
        itemsize: int,
        constant: bool = False,
        offset: int = 0,
        page: int | None = None,
    ) -> Segment:
        """A new segment, at any page or at this one. The number of a freed one is taken again late, so that a stale
        pointer is found.

        Raises `DeviceError` for more than a device of this kind has, before anything is allocated.
        """
        have = self.nbytes
        if nbytes > self.most_bytes - have:
            raise DeviceError(
                f"{name} takes {nbytes / _GB:.3g} GB; the emulated device has {self.most_bytes / _GB:.3g} GB, of which "
                f"{have / _GB:.3g} GB are taken; use smaller arrays or dims"
            )
        if len(self._freed) > _REUSED_AFTER:
            number = self._freed.popleft()
        else:
            next_number = next(self._fresh, None)
            if next_number is None and not self._freed:
                raise MemoryError(f"the emulated device holds at most {len(_NUMBERS)} buffers")
            number = self._freed.popleft() if next_number is None else next_number
        place = some_page() if page is None else page
        segment = Segment(number, name, nbytes, itemsize, constant, offset=offset, page=place)
        self._segments[number] = segment
        return segment

    def free(self, segment: Segment) -> None:
        """Forget a segment; further accesses are out of bounds."""
        if self._segments.get(segment.number) is segment:
            del self._segments[segment.number]
            self._freed.append(segment.number)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of all segments that are there."""
        return tuple(self._segments)

    def find(self, number: int) -> Segment | None:
        """The segment of that number."""
        return self._segments.get(number)

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        return sum(s.nbytes for s in self._segments.values())

    def describe(self, address: int, size: int) -> tuple[str, dict[str, Any]]:
        """Words for a bad address, and what a fault says of it: buffer and element (of `size` bytes in a variable)."""
        segment = self.find(address >> SEGMENT_BITS)
        if segment is None:
            return ("a null pointer" if address < 1 << SEGMENT_BITS else "no buffer"), {}
        element = segment.element(address - segment.base, size)
        count = segment.element(segment.nbytes, size)
        return f"{segment.name}[{element}] of {count} elements", {"buffer": segment.name, "element": element}
