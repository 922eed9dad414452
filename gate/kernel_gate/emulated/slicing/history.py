"""The history of one element: a record of the block that stored it, and where the element lies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from kernel_gate.emulated.program import DecodedKernel
from kernel_gate.emulated.slicing.operands import Effect, effect_of
from kernel_gate.emulated.slicing.trace import Event, Touch, Trace
from kernel_gate.emulated.slicing.walk import Fed, Flags, Rightness, Taken, each_once, taken
from kernel_gate.emulated.types import Array
from kernel_gate.emulated.wave import Index


@dataclass(frozen=True, slots=True)
class History:
    """What one block did, for the bytes of an element in a segment's data."""

    trace: Trace
    kernel: DecodedKernel
    segment: int
    start: int
    stop: int
    buffers: Mapping[int, tuple[str, int]]
    """Segment → the name of the argument that it holds, and where in its data that starts."""
    value: float | None = None
    """The element's value, where it is a number."""
    _effects: dict[int, Effect] = field(default_factory=dict)

    def taken(self, right: Rightness | None = None) -> Iterable[Taken]:
        """What fed the element, the last first; the walk ends at results that are known to be right."""
        return taken(self.trace, self.kernel, self.segment, self.start, self.stop, right)

    def fed(self) -> list[Fed]:
        """The instructions that fed the element, nearest first, each once."""
        return each_once(self.trace, self.kernel, self.taken())

    def event(self, step: Taken) -> Event:
        """The execution of a step."""
        return self.trace.events[step.event]

    def line(self, number: int) -> int | None:
        """The line of an instruction."""
        return self.kernel.flat.body[number].line

    def opcode(self, number: int) -> str:
        """The opcode of an instruction, without its modifiers."""
        return self.kernel.flat.body[number].parts[0]

    def effect(self, number: int) -> Effect:
        """What an instruction does to registers."""
        if number not in self._effects:
            self._effects[number] = effect_of(self.kernel.flat.body[number], self.kernel.layout)
        return self._effects[number]

    def no_registers(self) -> Flags:
        """A flag for each register of each thread."""
        return np.zeros((len(self.kernel.layout.types) + 1, self.trace.threads), np.bool_)


@dataclass(slots=True)
class MemoryFlags:
    """A flag for each byte of memory, which grows with what is asked of it."""

    flags: dict[tuple[str, int], Flags] = field(default_factory=dict)

    def of(self, touch: Touch) -> Flags:
        """Those of the memory that was touched, long enough for it."""
        at, size = (touch.space, touch.segment), int(touch.first.max(initial=0)) + touch.nbytes
        flags = self.flags.get(at)
        if flags is None or len(flags) < size:
            grown = np.zeros(max(size, 4096, 0 if flags is None else 2 * len(flags)), np.bool_)
            if flags is not None:
                grown[: len(flags)] = flags
            self.flags[at] = flags = grown
        return flags

    def any_of(self, touch: Touch) -> Flags:
        """Whether a flag of its bytes is set, for each of its threads."""
        return np.asarray(self.of(touch)[touch.rows()].any(axis=1), np.bool_)

    def set(self, touch: Touch, of_thread: Flags) -> None:
        """Give the bytes of each thread its flag."""
        self.of(touch)[touch.rows()] = of_thread[touch.threads][:, None]


def of_threads(value: Array, event: Event, threads: Index, wave_threads: int) -> Array:
    """What some of an event's active threads hold in a register that it wrote."""
    count = wave_threads if event.active is None else len(event.active)
    every = np.broadcast_to(value.reshape(-1), (count,)) if value.size == 1 else value
    return every[threads if event.active is None else np.searchsorted(event.active, threads)]
