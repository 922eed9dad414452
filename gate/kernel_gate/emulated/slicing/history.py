"""The history of one element: a record of the block that stored it, and where the element lies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from kernel_gate.emulated.program import DecodedKernel
from kernel_gate.emulated.slicing.operands import Effect, effect_of
from kernel_gate.emulated.slicing.trace import Event, Flags, Trace
from kernel_gate.emulated.slicing.walk import Rightness, Taken, lines_of, taken
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

    def lines(self) -> tuple[int, ...]:
        """The lines that fed the element, nearest first, each once."""
        return lines_of(self.trace, self.kernel, self.taken())

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


def of_threads(value: Array, event: Event, threads: Index, wave_threads: int) -> Array:
    """What some of an event's active threads hold in a register that it wrote."""
    count = wave_threads if event.active is None else len(event.active)
    every = np.broadcast_to(value.reshape(-1), (count,)) if value.size == 1 else value
    return every[threads if event.active is None else np.searchsorted(event.active, threads)]
