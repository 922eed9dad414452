"""The walk back: from the store of one element through registers, memory and branches to all that fed it.

A dynamic slice (Agrawal and Horgan, 1990) of one block's run, with the branches that kept a write from happening
(relevant slices: Gyimóthy, Beszédes and Forgács, 1999). It follows data through registers, shared, local and
global memory of the block, addresses and predicates among them, and the branches that decided whether an instruction
ran. A shuffle that names its lanes is followed to the one that gave; lanes that another warp instruction joins are
taken together. What other blocks gave through global memory is not followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

import numpy as np

from kernel_gate.emulated.program import DecodedKernel
from kernel_gate.emulated.slicing.control import ControlFlow
from kernel_gate.emulated.slicing.operands import Effect, effect_of, stored_spaces
from kernel_gate.emulated.slicing.shuffles import Shuffle, shuffles_of
from kernel_gate.emulated.slicing.trace import Event, Flags, MemoryFlags, Touch, Trace
from kernel_gate.emulated.wave import Index

_NONE: Index = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Taken:
    """One execution that fed the element, and by which threads."""

    event: int
    """Its place in the trace."""
    threads: Index
    """Those whose results fed it and are not known to be right. None for a guard that kept a store from it."""
    right: Index
    """Those whose results fed it and are known to be right: what fed them was not looked for."""


Rightness = Callable[[Event], Flags | None]
"""Whether what each active thread of an event computed is known to be right; None: of no thread."""


def taken(
    trace: Trace, kernel: DecodedKernel, segment: int, start: int, stop: int, right: Rightness | None = None
) -> Iterator[Taken]:
    """The executions that fed the bytes from `start` to `stop` of a segment's data, the last first.

    Branches and guards that kept a store from them, or a write from a register that fed them, are among those. The walk
    ends at results that `right` says to be right.
    """
    walk = Walk.over(trace, kernel, right)
    walk.memory.at("global", segment, stop)[start:stop] = True
    return walk.back(trace.events)


def fed_last(trace: Trace, kernel: DecodedKernel, thread: int) -> tuple[int, ...]:
    """The lines that fed the last instruction of a trace, as one thread ran it: of what it failed at, nearest first."""
    *before, last = trace.events
    walk = Walk.over(trace, kernel)
    walk.look_for(last, np.array([thread]))
    line = kernel.flat.body[last.number].line
    nearest = () if line is None else (line,)
    return tuple(dict.fromkeys([*nearest, *lines_of(trace, kernel, walk.back(before))]))


def lines_of(trace: Trace, kernel: DecodedKernel, steps: Iterable[Taken]) -> tuple[int, ...]:
    """The lines of what these executions ran, in their order, each once."""
    lines = (kernel.flat.body[trace.events[step.event].number].line for step in steps)
    return tuple(dict.fromkeys(line for line in lines if line is not None))


@dataclass(slots=True)
class Walk:
    """What is still looked for: registers of threads, bytes of memory, branches of threads."""

    kernel: DecodedKernel
    threads: int
    shared_bytes: int
    stored: Set[tuple[str, int]]
    """Memory that was stored to, by space and segment; of other memory nothing is looked for."""
    known: Rightness | None = None
    registers: Flags = field(init=False)
    """By register and thread."""
    wanted: list[bool] = field(init=False)
    """Whether any thread's value of a register is looked for."""
    memory: MemoryFlags = field(default_factory=MemoryFlags)
    branches: dict[int, Flags] = field(default_factory=dict)
    """By branch instruction: threads that ran something because of it."""
    _everyone: Index = field(init=False)
    _flow: ControlFlow = field(init=False)
    _shuffles: Mapping[int, Shuffle] = field(init=False)
    _effects: dict[int, Effect] = field(default_factory=dict)

    def __post_init__(self) -> None:
        count = len(self.kernel.layout.types) + 1
        self.registers = np.zeros((count, self.threads), np.bool_)
        self.wanted = [False] * count
        self._everyone = np.arange(self.threads)
        self._flow = ControlFlow.of(self.kernel)
        self._shuffles = shuffles_of(self.kernel)
        self.branches = {branch: np.zeros(self.threads, np.bool_) for branch in self._flow.decided}

    @classmethod
    def over(cls, trace: Trace, kernel: DecodedKernel, right: Rightness | None = None) -> Walk:
        """A walk that looks for nothing yet."""
        stored = {
            (t.space, t.segment) for event in trace.events for t in event.touches if t.purpose != "read"
        }
        return cls(kernel, trace.threads, trace.shared_bytes, stored, right)

    def back(self, events: Sequence[Event]) -> Iterator[Taken]:
        """The executions that gave what is looked for, the last first."""
        for place in range(len(events) - 1, -1, -1):
            gave = self.take(events[place])
            if gave is not None:
                yield Taken(place, *gave)

    def take(self, event: Event) -> tuple[Index, Index] | None:
        """The threads by which an event gave something that is looked for, and those whose gift is known to be right.

        What fed the former is looked for instead. None: it gave nothing.
        """
        effect = self._effect(event.number)
        if event.number in self.branches:
            chosen = self._take_branch(event, self.active(event))
            return (chosen, _NONE) if chosen.size else None
        wanted = any(self.wanted[register] for register in effect.writes)
        stores = any(touch.purpose != "read" for touch in event.touches)
        if not (wanted or stores or effect.writes_any_shared or event.skipped is not None):
            return None
        active, took = self.active(event), False
        if event.skipped is not None:
            took = self._take_guard(event.skipped, effect, event.number)
        gave = np.zeros(self.threads, np.bool_)
        for register in effect.writes:
            if self.wanted[register]:
                gave[active] |= self.registers[register, active]
        for touch in event.touches:
            if touch.purpose != "read":
                self._find_stored(touch, gave)
        if effect.writes_any_shared and self._looks_in(("shared",)):
            gave[active] = True
        if not gave.any():
            return (_NONE, _NONE) if took else None
        for register in effect.writes:
            if self.wanted[register]:
                self.registers[register, gave] = False
                self.wanted[register] = bool(self.registers[register].any())
        right = np.zeros(self.threads, np.bool_)
        verdict = None if self.known is None else self.known(event)
        if verdict is not None:
            right[active] = verdict
        asked = np.flatnonzero(gave & ~right)
        if asked.size:
            self.look_for(event, asked)
        return asked, np.flatnonzero(gave & right)

    def is_branch(self, event: Event) -> bool:
        """Whether an event decides what runs."""
        return event.number in self.branches

    def _take_branch(self, event: Event, active: Index) -> Index:
        """The threads of a branch by which something that is looked for was computed, or was not."""
        flags, decided = self.branches[event.number], self._flow.decided[event.number]
        chosen = flags[active]
        flags[active] = False
        if self._looks_in(decided.stores):
            chosen[:] = True
        for register in decided.writes:
            if self.wanted[register]:
                chosen |= self.registers[register, active]
        if chosen.any():
            self.look_for(event, active[chosen])
        return active[chosen]

    def _take_guard(self, skipped: Index, effect: Effect, number: int) -> bool:
        """The guard of an instruction that would have given something that is looked for, had it held."""
        missed = np.zeros(len(skipped), np.bool_)
        missed[:] = self._looks_in(stored_spaces(self.kernel.flat.body[number]))
        for register in effect.writes:
            if self.wanted[register]:
                missed |= self.registers[register, skipped]
        if missed.any():
            self._want(effect.guard, skipped[missed])
        return bool(missed.any())

    def _effect(self, number: int) -> Effect:
        if number not in self._effects:
            self._effects[number] = effect_of(self.kernel.flat.body[number], self.kernel.layout)
        return self._effects[number]

    def _looks_in(self, spaces: Iterable[str]) -> bool:
        """Whether bytes of any of these spaces are looked for."""
        return any(space in spaces and flags.any() for (space, _), flags in self.memory.flags.items())

    def _find_stored(self, touch: Touch, gave: Flags) -> None:
        """Mark threads that stored bytes which are looked for; a plain store ends the search for them."""
        flags = self.memory.flags.get((touch.space, touch.segment))
        if flags is None:
            return
        bytes_at = touch.rows()
        inside = bytes_at < len(flags)
        hit = (flags[np.where(inside, bytes_at, 0)] & inside).any(axis=1)
        if hit.any():
            gave[touch.threads[hit]] = True
            if touch.purpose == "write":
                flags[bytes_at[hit][inside[hit]]] = False

    def active(self, event: Event) -> Index:
        """The threads that executed an event."""
        return self._everyone if event.active is None else event.active

    def look_for(self, event: Event, chosen: Index) -> None:
        """Look for what these threads of an event used: registers, memory, the branches that led there."""
        effect, active = self._effect(event.number), self.active(event)
        shuffle = self._shuffles.get(event.number)
        if shuffle is not None:
            sources = np.intersect1d(shuffle.sources(chosen), active)
            self._want((shuffle.value,), sources)
            self._want(shuffle.own, chosen)
            joined = np.union1d(chosen, sources)
        else:
            joined = active[np.isin(active // 32, chosen // 32)] if effect.of_a_warp else chosen
            self._want(effect.reads, joined)
        for touch in event.touches:
            if touch.purpose != "write" and (touch.space, touch.segment) in self.stored:
                rows = touch.rows()[np.isin(touch.threads, joined)]
                if rows.size:
                    self.memory.at(touch.space, touch.segment, int(rows.max()) + 1)[rows] = True
        if effect.reads_any_shared:
            self.memory.at("shared", 0, self.shared_bytes)[:] = True
        for branch in self._flow.deciding[event.number]:
            self.branches[branch][joined] = True

    def _want(self, registers: Iterable[int], threads: Index) -> None:
        for register in registers:
            self.registers[register, threads] = True
            self.wanted[register] = True
