"""How an instruction reaches memory: its address, its width, and the check of every active thread's access."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from kernel_gate.devices.base import Place
from kernel_gate.emulated.addresses import (
    LOCAL_WINDOW,
    SEGMENT_BITS,
    SHARED_WINDOW,
    Segment,
    Watched,
    window_base,
)
from kernel_gate.emulated.ptx.model import Address, Group, Instruction, Register, Symbol
from kernel_gate.emulated.site import Read, Site
from kernel_gate.emulated.types import TYPES, Array, PtxType
from kernel_gate.emulated.wave import Wave

Purpose: TypeAlias = Literal["read", "write", "atomic"]
_SPACES = ("global", "shared", "local", "const", "param")


@dataclass(slots=True)
class Located:
    """Checked memory of the active threads."""

    space: str
    cells: npt.NDArray[Any]
    """The memory, seen as unsigned elements of the access."""
    index: Array
    """First element of each active thread, or a scalar when it is the same for all."""
    written: npt.NDArray[Any] | None
    """Which bytes were written, seen in the same way; None: all."""
    segment: Segment | None
    """The segment, in global memory."""
    remote: bool = False
    """Shared memory of another block of the cluster is among it: not looked at for races."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a store did, for each active thread."""

    replaced: npt.NDArray[np.bool_]
    """Another value stood there before."""
    lost: npt.NDArray[np.bool_]
    """Another thread's value of the same store was left there."""

    @classmethod
    def by_atomic(cls, count: int) -> Change:
        """Atomics take turns: each replaces, none is lost."""
        return cls(np.ones(count, np.bool_), np.zeros(count, np.bool_))


Do: TypeAlias = Callable[[Wave, Located], None]


@dataclass(frozen=True, slots=True)
class Access:
    """One memory operand."""

    instruction: Instruction
    number: int
    space: str
    """`generic` when the opcode names none."""
    element: PtxType
    vector: int
    purpose: Purpose
    address: Read
    counted: bool = True
    """Whether it is a request of a warp, as counts know them."""
    multiple: int | None = None
    """What its address must be a multiple of; None for its width."""

    @property
    def nbytes(self) -> int:
        """Bytes of one thread's access."""
        return self.element.size * self.vector

    @property
    def alignment(self) -> int:
        """What addresses must be a multiple of: the width, or for a part of a row the largest power of two in it."""
        return 1 << (self.nbytes.bit_length() - 1) if self.multiple is None else self.multiple

    def perform(self, wave: Wave, do: Do) -> None:
        """Check the access and hand over the memory; once for each buffer when threads reach several."""
        if self.space == "shared":
            self._shared(wave, self.address(wave), do)
        elif self.space == "local":
            self._local(wave, self.address(wave).astype(np.int64), do)
        else:
            self._generic(wave, do)

    def _generic(self, wave: Wave, do: Do) -> None:
        address = self.address(wave)
        low, high = (int(address),) * 2 if address.ndim == 0 else (int(address.min()), int(address.max()))
        number = low >> SEGMENT_BITS
        if number == high >> SEGMENT_BITS:
            self._one_segment(wave, number, address, low, high, do)
            return
        outer, numbers = wave.index, address >> np.uint64(SEGMENT_BITS)
        before = wave.active
        for number in np.unique(numbers):
            chosen = numbers == number
            wave.active = outer[chosen]
            part = address[chosen]
            self._one_segment(wave, int(number), part, int(part.min()), int(part.max()), do)
        wave.active = before

    def _one_segment(self, wave: Wave, number: int, address: Array, low: int, high: int, do: Do) -> None:
        if self.space == "generic" and number == SHARED_WINDOW:
            self._shared(wave, address - np.uint64(window_base(number)), do)
            return
        if self.space == "generic" and number == LOCAL_WINDOW:
            self._local(wave, (address - np.uint64(window_base(number))).astype(np.int64), do)
            return
        segment = wave.launch.find(number)
        if segment is None or low < segment.base or high + self.nbytes > segment.base + segment.nbytes:
            self._outside(wave, address, segment)
        assert segment is not None
        if segment.reached is not None:
            segment.reached.include(
                high + self.nbytes - segment.origin,
                reads=self.purpose != "write",
                writes=self.purpose != "read",
            )
        if segment.constant and self.purpose != "read":
            raise wave.stop("out_of_bounds", f"write to constant `{segment.name}`", self.instruction)
        if self.alignment > 1:
            bits = address if address.ndim == 0 else np.bitwise_or.reduce(address)
            if int(bits) & (self.alignment - 1):
                self._misaligned(wave, address)
        offsets = address - np.uint64(segment.origin)
        self._trace(wave, "global", number, offsets)
        if wave.launch.checks.counts and self.counted:
            wave.launch.counts.global_access(wave, self.number, offsets, self.nbytes)
            wave.launch.counts.touch(segment, offsets, self.nbytes, self.purpose)
        index = (offsets >> np.uint64(self.element.size.bit_length() - 1)).view(np.int64)
        written = None if segment.written is None else segment.written.view(self.element.raw)
        at = Located("global", segment.data.view(self.element.raw), index, written, segment)
        if segment.input and self.purpose != "read":
            self._change_nothing(wave, at, do)
        else:
            do(wave, at)
        if segment.watched is not None and self.purpose != "read":
            self._remember_writer(wave, segment.watched, index)

    def _trace(self, wave: Wave, space: str, segment: int, first: Array) -> None:
        if wave.launch.checks.terms is not None:
            wave.launch.checks.terms.touch(space, segment, first, self.nbytes)
        if wave.launch.trace is not None:
            wave.launch.trace.touch(wave, self.purpose, space, segment, first, self.nbytes)

    def _change_nothing(self, wave: Wave, at: Located, do: Do) -> None:
        """Write to an input: the values that stand there already are let through, as a GPU's check of it does."""
        assert at.segment is not None
        index = wave.spread(at.index)[:, None] + np.arange(self.vector)
        before = at.cells[index]
        do(wave, at)
        changed = at.cells[index] != before
        if not changed.any():
            return
        position, part = (int(i) for i in np.argwhere(changed)[0])
        offset = int(index[position, part]) * self.element.size - at.segment.offset
        name, element = at.segment.name, at.segment.element(offset, self.element.size)
        message = f"changed its input {name}[{element}]; only output and inout arguments may be written"
        raise wave.stop("input_changed", message, self.instruction, position, buffer=name, element=element)

    def _remember_writer(self, wave: Wave, watched: Watched, index: Array) -> None:
        """The last of the active threads that stored to the watched bytes: of one store's threads the last wins."""
        first = wave.spread(index) * self.element.size
        reached = np.flatnonzero((first < watched.stop) & (first + self.nbytes > watched.start))
        if len(reached):
            block, thread = wave.place(int(wave.index[reached[-1]]))
            watched.writer = Place("the last write", self.instruction.line, block, thread)
            watched.launch = wave.launch.number
            watched.block = int(wave.blocks[wave.block_of[wave.index[reached[-1]]]])

    def _outside(self, wave: Wave, address: Array, segment: Segment | None) -> None:
        addresses = wave.spread(address)
        if segment is None:
            bad = np.ones(len(addresses), np.bool_)
        else:
            bad = addresses < segment.base
            bad |= addresses + np.uint64(self.nbytes) > segment.base + segment.nbytes
        position = int(np.argmax(bad))
        words, where = wave.launch.space.describe(int(addresses[position]), self.element.size)
        message = f"out of bounds: {self.purpose} of {self.nbytes} bytes at {words}"
        raise wave.stop("out_of_bounds", message, self.instruction, position, **where)

    def _misaligned(self, wave: Wave, address: Array) -> None:
        addresses = wave.spread(address)
        position = int(np.argmax(addresses & np.uint64(self.alignment - 1) != 0))
        words, where = wave.launch.space.describe(int(addresses[position]), self.element.size)
        message = (
            f"misaligned: {self.purpose} of {self.nbytes} bytes at {words}, "
            f"{int(addresses[position]) % self.alignment} bytes past a multiple of {self.alignment}"
        )
        raise wave.stop("misaligned", message, self.instruction, position, **where)

    def _shared(self, wave: Wave, address: Array, do: Do) -> None:
        shared = wave.shared
        offsets = shared.locate(wave, address, self.nbytes, self.instruction)
        if wave.launch.checks.counts and self.counted:
            wave.launch.counts.shared_access(wave, self.number, offsets, self.nbytes)
        self._trace(wave, "shared", 0, offsets)
        index = offsets >> (self.element.size.bit_length() - 1)
        raw = self.element.raw
        remote = shared.is_remote(address)
        do(wave, Located("shared", shared.data.view(raw), index, shared.written.view(raw), None, remote))

    def _local(self, wave: Wave, offset: Array, do: Do) -> None:
        frame = wave.local.shape[1]
        low, high = (int(offset),) * 2 if offset.ndim == 0 else (int(offset.min()), int(offset.max()))
        if low < 0 or high + self.nbytes > frame:
            spread = wave.spread(offset)
            position = int(np.argmax((spread < 0) | (spread + self.nbytes > frame)))
            message = f"out of bounds: {self.purpose} at byte {int(spread[position])} of {frame} bytes of local memory"
            raise wave.stop("out_of_bounds", message, self.instruction, position)
        self._trace(wave, "local", 0, wave.index * frame + offset)
        index = (wave.index * frame + offset) >> (self.element.size.bit_length() - 1)
        raw, written = self.element.raw, wave.local_written
        flags = None if written is None else written.reshape(-1).view(raw)
        do(wave, Located("local", wave.local.reshape(-1).view(raw), index, flags, None))


def access(
    site: Site, position: int, purpose: Purpose, element: PtxType, vector: int = 1, space: str | None = None
) -> Access:
    """The access that operand `position` describes; `space`: when the opcode names several."""
    operand = site.operand(position)
    if isinstance(operand, Group) and operand.items:
        # A tensor: its coordinates stand behind its map's address.
        operand = operand.items[0]
    if not isinstance(operand, Address):
        raise site.unsupported()
    if space is None:
        space = next((p for p in (part.split("::")[0] for part in site.parts) if p in _SPACES), "generic")
    base = operand.base
    if space == "param" and isinstance(base, Symbol) and base.name in site.layout.local:
        space = "local"
    kind = TYPES["u32" if space == "shared" and _is_narrow(site, base) else "u64"]
    read = site.reader(base, kind)
    offset: Any = kind.dtype.type(operand.offset % (1 << (8 * kind.size)))
    address = read if operand.offset == 0 else lambda wave: read(wave) + offset
    return Access(site.instruction, site.number, space, element, vector, purpose, address)


def _is_narrow(site: Site, base: object) -> bool:
    if isinstance(base, Register):
        declared = site.register_type(base)
        return declared is not None and declared.size == 4
    return True
