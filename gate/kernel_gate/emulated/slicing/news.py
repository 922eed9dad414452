"""Where a wrong element's history leaves what a right program computes too: new values, and where they arise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kernel_gate.emulated.slicing.history import History, of_threads
from kernel_gate.emulated.slicing.trace import Event, Flags, MemoryFlags
from kernel_gate.emulated.slicing.values import KnownValues, telling
from kernel_gate.emulated.slicing.walk import Taken
from kernel_gate.emulated.wave import Index


@dataclass(frozen=True, slots=True)
class News:
    """Lines, the earliest executed first; of values that led to the element."""

    born: tuple[int, ...] = ()
    """Values that are new though nothing new went into them."""
    new: tuple[int, ...] = ()
    """Values that the right program does not compute."""
    met: tuple[int, ...] = ()
    """All that led to new values, as far back as to values that are known."""

    @classmethod
    def of(cls, wrong: History, values: KnownValues) -> News:
        """What is new in a history."""
        return _Following(wrong).through(list(wrong.taken(values.right)))


@dataclass(slots=True)
class _Following:
    """Which registers and bytes hold values that are new, as the executions go on."""

    wrong: History
    registers: Flags = field(init=False)
    memory: MemoryFlags = field(default_factory=MemoryFlags)

    def __post_init__(self) -> None:
        self.registers = self.wrong.no_registers()

    def through(self, steps: Sequence[Taken]) -> News:
        """Follow the steps, of which the last comes first."""
        born: dict[int, None] = {}
        new: dict[int, None] = {}
        met: dict[int, None] = {}
        for step in reversed(steps):
            event = self.wrong.event(step)
            line = self.wrong.line(event.number)
            receivers = self._receiving(event, step.threads)
            speakers = self._speaking(event, step.threads)
            self._leave(event, step, speakers | receivers)
            if line is None:
                continue
            met[line] = None
            if (speakers | receivers).any():
                new[line] = None
            if (speakers & ~receivers).any():
                born[line] = None
        return News(tuple(born), tuple(new), tuple(met))

    def _speaking(self, event: Event, threads: Index) -> Flags:
        """Threads whose results say something: the walk left those that are known out."""
        flags = np.zeros(len(threads), np.bool_)
        for value in event.values:
            flags |= ~np.isnan(telling(of_threads(value, event, threads, self.wrong.trace.threads)))
        return flags

    def _receiving(self, event: Event, threads: Index) -> Flags:
        """Threads into whose results something new went."""
        effect = self.wrong.effect(event.number)
        everyone = np.asarray(self.registers[list(effect.reads)].any(axis=0), np.bool_)
        if effect.of_a_warp:
            warps = np.unique(np.flatnonzero(everyone) // 32)
            everyone = np.isin(np.arange(self.wrong.trace.threads) // 32, warps)
        for touch in event.touches:
            if touch.purpose != "write":
                everyone[touch.threads] |= self.memory.any_of(touch)
        return everyone[threads]

    def _leave(self, event: Event, step: Taken, new: Flags) -> None:
        state = np.zeros(self.wrong.trace.threads, np.bool_)
        state[step.threads] = new
        for register in self.wrong.effect(event.number).writes:
            self.registers[register, step.right] = False
            self.registers[register, step.threads] = new
        for touch in event.touches:
            if touch.purpose != "read":
                self.memory.set(touch, state)
