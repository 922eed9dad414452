"""A record of what one block of threads executed: instructions, the threads that ran them, the memory they touched.

The walk back (`walk.taken`) asks which instruction gave what to which. Values are kept where they are asked for: they
tell right intermediate results from wrong ones (`clues`). A record is bounded; a launch that goes beyond is ended, and
nothing is said of it.
"""

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from kernel_gate.devices.base import Dim3, Fault
from kernel_gate.emulated.faults import LaunchFault
from kernel_gate.emulated.program import Block, DecodedKernel
from kernel_gate.emulated.registry import Step, Unsupported
from kernel_gate.emulated.site import Read, Site
from kernel_gate.emulated.slicing.operands import effect_of
from kernel_gate.emulated.terminators import Branch, IndexedBranch, Terminator
from kernel_gate.emulated.types import TYPES, Array
from kernel_gate.emulated.wave import Index, Wave

Flags = npt.NDArray[np.bool_]
_BYTES_MOST = 1 << 27
_BYTES_WITH_VALUES = _BYTES_MOST // 2
_BYTES_OF_EVENT = 200
"""What an event takes beside its arrays, about."""


@dataclass(frozen=True, slots=True)
class Touch:
    """Memory that an instruction reached: one row of `nbytes` for each of its threads."""

    purpose: str
    """`read`, `write` or `atomic`."""
    space: str
    segment: int
    """The segment of global memory; else 0."""
    first: Index
    """Byte offsets into the segment's `data`, or into the shared or local memory of the wave."""
    nbytes: int
    threads: Index

    def rows(self) -> Index:
        """One row of byte offsets for each thread."""
        return self.first[:, None] + np.arange(self.nbytes)


@dataclass(slots=True)
class MemoryFlags:
    """A flag for each byte of memory, which grows with what is asked of it."""

    flags: dict[tuple[str, int], Flags] = field(default_factory=dict)
    """By space and segment."""

    def at(self, space: str, segment: int, size: int) -> Flags:
        """Those of some memory, at least `size` of them."""
        flags = self.flags.get((space, segment))
        if flags is None or len(flags) < size:
            grown = np.zeros(max(size, 4096, 0 if flags is None else 2 * len(flags)), np.bool_)
            if flags is not None:
                grown[: len(flags)] = flags
            self.flags[space, segment] = flags = grown
        return flags

    def of(self, touch: Touch) -> Flags:
        """Those of the memory that was touched, long enough for it."""
        return self.at(touch.space, touch.segment, int(touch.first.max(initial=0)) + touch.nbytes)

    def any_of(self, touch: Touch) -> Flags:
        """Whether a flag of its bytes is set, for each of its threads."""
        return np.asarray(self.of(touch)[touch.rows()].any(axis=1), np.bool_)

    def set(self, touch: Touch, of_thread: Flags) -> None:
        """Give the bytes of each thread its flag."""
        self.of(touch)[touch.rows()] = of_thread[touch.threads][:, None]


@dataclass(slots=True)
class Event:
    """One execution of one instruction."""

    number: int
    """The instruction's number in the flat body."""
    active: Index | None
    """Threads that executed it; None: all."""
    skipped: Index | None = None
    """Threads that came to it and whose guard did not hold."""
    touches: list[Touch] = field(default_factory=list)
    values: tuple[Array, ...] = ()
    """What it left in the registers that it writes, predicates aside: of each active thread, or one for all."""


@dataclass(slots=True)
class Trace:
    """The events of one launch of one block, in order."""

    with_values: bool = False
    """Keep what instructions computed; False once that has become too much."""
    events: list[Event] = field(default_factory=list)
    threads: int = 0
    """Threads of the wave that was recorded."""
    shared_bytes: int = 0
    places: list[tuple[Dim3, Dim3]] = field(default_factory=list)
    """Block and thread indices of each thread."""
    _bytes: int = 0

    def recorded(self, kernel: DecodedKernel) -> DecodedKernel:
        """The kernel, whose every instruction and branch is recorded as it runs."""
        blocks, start = [], 0
        for block in kernel.blocks:
            steps = [
                self._recorded_step(
                    step, Site.of(kernel.flat.body[number], number, kernel.layout, frozenset())
                )
                for number, step in enumerate(block.steps, start)
            ]
            start += block.count
            blocks.append(Block(steps, block.count, self._recorded_end(block, start - 1)))
        return replace(kernel, blocks=blocks)

    def touch(self, wave: Wave, purpose: str, space: str, segment: int, first: Array, nbytes: int) -> None:
        """The current instruction's active threads reach memory at these byte offsets."""
        if self.events:
            offsets = np.asarray(wave.spread(first), np.int64)
            self.events[-1].touches.append(Touch(purpose, space, segment, offsets, nbytes, wave.index))
            self._grow(16 * len(offsets))

    def _recorded_step(self, step: Step, site: Site) -> Step:
        guard, number = site.instruction.guard, site.number
        results = self._results(site)
        try:
            holds = None if guard is None else site.reader(guard, TYPES["pred"])
        except Unsupported:
            return step

        def recorded(wave: Wave) -> None:
            if holds is None:
                self._begin(number, wave)
            else:
                self._begin_guarded(number, wave, np.broadcast_to(holds(wave), wave.index.shape))
            step(wave)
            if results and self.with_values:
                wave.put_back()
                self._keep(self.events[-1], [wave.registers[register] for register in results])

        return recorded

    def _results(self, site: Site) -> tuple[int, ...]:
        """Registers whose values are kept when an instruction has run."""
        if not self.with_values:
            return ()
        types, writes = site.layout.types, effect_of(site.instruction, site.layout).writes
        return tuple(r for r in writes if r < len(types) and types[r].name != "pred")

    def _keep(self, event: Event, registers: list[Array]) -> None:
        if self._bytes > _BYTES_WITH_VALUES:
            self.with_values = False
            return
        event.values = tuple(
            value.copy() if value.ndim == 0 or event.active is None else value[event.active]
            for value in registers
        )
        self._grow(sum(value.nbytes for value in event.values))

    def _recorded_end(self, block: Block, number: int) -> Terminator | None:
        end = block.end
        if isinstance(end, Branch) and end.guard is not None:
            return replace(end, guard=self._recorded_read(end.guard, number))
        if isinstance(end, IndexedBranch):
            return replace(end, index=self._recorded_read(end.index, number))
        return end

    def _recorded_read(self, read: Read, number: int) -> Read:
        def recorded(wave: Wave) -> Array:
            self._begin(number, wave)
            return read(wave)

        return recorded

    def _begin(self, number: int, wave: Wave) -> None:
        is_same = bool(self.events) and self.events[-1].active is wave.active
        self._note(wave)
        self.events.append(Event(number, wave.active))
        self._grow(_BYTES_OF_EVENT + (0 if is_same or wave.active is None else wave.active.nbytes))

    def _begin_guarded(self, number: int, wave: Wave, holds: Array) -> None:
        if holds.all():
            self._begin(number, wave)
            return
        self._note(wave)
        self.events.append(Event(number, wave.index[holds], wave.index[~holds]))
        self._grow(_BYTES_OF_EVENT + wave.index.nbytes)

    def _note(self, wave: Wave) -> None:
        if not self.threads:
            self.threads, self.shared_bytes = wave.threads, len(wave.shared.data)
            self.places = [wave.place(thread) for thread in range(wave.threads)]

    def _grow(self, nbytes: int) -> None:
        self._bytes += nbytes
        if self._bytes > _BYTES_MOST:
            raise LaunchFault(Fault("timeout", f"the record of one block is longer than {_BYTES_MOST} bytes"))
