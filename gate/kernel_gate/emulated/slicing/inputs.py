"""Which elements of its inputs an element was computed from, beside those from which a right program computes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal

import numpy as np

from kernel_gate.emulated.slicing.control import ControlFlow
from kernel_gate.emulated.slicing.history import History
from kernel_gate.emulated.slicing.trace import MemoryFlags
from kernel_gate.emulated.slicing.walk import Taken
from kernel_gate.emulated.wave import Index

_AGAIN = 1.3
"""As many more reads of each byte than in the right program mean that one place is read for another."""


@dataclass(frozen=True, slots=True)
class InputClues:
    """Lines that read inputs, or what was made of them, where an element lacks some or has others."""

    readers: tuple[int, ...] = ()
    """Where what is missing should have been read: from the inputs or, once in the block, from its memory or lanes."""
    deciding: tuple[int, ...] = ()
    """Branches and guards that decide whether those lines run."""
    another_place: bool = False
    """Something else is read instead; otherwise too little is read, or too much."""
    within: bool = False
    """What is missing was read from the inputs, and did not get from there to the element."""


@dataclass(frozen=True, slots=True)
class _Reads:
    """What was read of one input."""

    rows: Sequence[Index] = ()
    """The bytes that each thread read, as rows, for each access."""

    @property
    def bytes(self) -> Index:
        """Each once, ascending."""
        return np.unique(np.concatenate([np.zeros(0, np.int64), *(row.ravel() for row in self.rows)]))

    @property
    def often(self) -> float:
        """Reads of each byte."""
        return sum(row.size for row in self.rows) / max(len(self.bytes), 1)

    def beside(self, other: _Reads) -> bool:
        """Whether some access takes nothing that the other reads: a wide one may take more than is used."""
        theirs = other.bytes
        return any((~np.isin(row, theirs).any(axis=1)).any() for row in self.rows)


def input_clues(wrong: History, right: History, inputs: Set[str]) -> InputClues:
    """Compare what both read of the inputs with these names."""
    steps = list(wrong.taken())
    ours, theirs = _read(wrong, steps, inputs), _read(right, right.taken(), inputs)
    pairs = {name: (ours.get(name, _Reads()), theirs.get(name, _Reads())) for name in {*ours, *theirs}}
    omitted = {name: np.setdiff1d(b.bytes, a.bytes) for name, (a, b) in pairs.items()}
    extra = {name for name, (a, b) in pairs.items() if a.beside(b)}
    lacking = {name for name, offsets in omitted.items() if len(offsets)}
    if not (lacking or extra):
        return InputClues()
    again = any(pairs[name][0].often > _AGAIN * pairs[name][1].often for name in lacking)
    where = _end_of(wrong, omitted)
    readers = _readers(wrong, steps, lacking | extra, where)
    return InputClues(
        tuple(readers),
        _deciding(wrong, readers.values()),
        another_place=again or bool(lacking and extra),
        within=where is not None and bool(readers),
    )


def _read(history: History, steps: Iterable[Taken], inputs: Set[str]) -> dict[str, _Reads]:
    rows: dict[str, list[Index]] = {}
    for step in steps:
        for touch in history.event(step).touches:
            if touch.space != "global" or touch.purpose == "write" or touch.segment not in history.buffers:
                continue
            name, start = history.buffers[touch.segment]
            if name in inputs:
                offsets = touch.rows()[np.isin(touch.threads, step.threads)] - start
                rows.setdefault(name, []).append(offsets)
    return {name: _Reads(offsets) for name, offsets in rows.items()}


def _readers(
    history: History, steps: Iterable[Taken], names: Set[str], where: Literal["shared", "warp"] | None
) -> dict[int, list[int]]:
    """Lines that fed the element and read the inputs, or else what the block holds of them, with their instructions.

    Those by which most was read come first.
    """
    by_line: dict[int, list[int]] = {}
    times: Counter[int] = Counter()
    for step in steps:
        event = history.event(step)
        if where == "warp":
            reads = history.effect(event.number).of_a_warp
        else:
            reads = any(
                touch.purpose != "write"
                and (
                    touch.space == "shared"
                    if where == "shared"
                    else touch.space == "global" and history.buffers.get(touch.segment, ("", 0))[0] in names
                )
                for touch in event.touches
            )
        line = history.line(event.number)
        if reads and len(step.threads) and line is not None:
            times[line] += len(step.threads)
            numbers = by_line.setdefault(line, [])
            if event.number not in numbers:
                numbers.append(event.number)
    return {line: by_line[line] for line, _ in times.most_common()}


def _deciding(history: History, readers: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """Lines of the branches and guards: for each reader in turn, those of most of its instructions first."""
    flow, body = ControlFlow.of(history.kernel), history.kernel.flat.body
    deciders: dict[int, None] = {}
    for numbers in readers:
        counted: Counter[int] = Counter()
        for number in numbers:
            lines = {history.line(branch) for branch in flow.deciding[number]}
            if body[number].guard is not None:
                lines.add(history.line(number))
            counted.update(line for line in lines if line is not None)
        deciders.update(dict.fromkeys(line for line, _ in counted.most_common()))
    return tuple(deciders)


def _end_of(history: History, omitted: Mapping[str, Index]) -> Literal["shared", "warp"] | None:
    """Where what the element lacks was last seen in its block: in shared memory, or in lanes of a warp.

    None: the block does not read it, or only keeps it in the registers of its threads.
    """
    starts = {name: (segment, start) for segment, (name, start) in history.buffers.items()}
    missing = {
        starts[name][0]: offsets + starts[name][1] for name, offsets in omitted.items() if len(offsets)
    }
    registers, memory = history.no_registers(), MemoryFlags()
    everyone = np.arange(history.trace.threads)
    end: Literal["shared", "warp"] | None = None
    for event in history.trace.events:
        effect = history.effect(event.number)
        active = everyone if event.active is None else event.active
        held = np.zeros(history.trace.threads, np.bool_)
        held[active] = registers[list(effect.reads)][:, active].any(axis=0)
        for touch in event.touches:
            if touch.purpose == "write":
                continue
            if touch.space != "global":
                held[touch.threads] |= memory.any_of(touch)
            elif touch.segment in missing:
                held[touch.threads] |= np.isin(touch.rows(), missing[touch.segment]).any(axis=1)
        if held.any() and effect.of_a_warp and end is None:
            end = "warp"
        for register in effect.writes:
            registers[register, active] = held[active]
        for touch in event.touches:
            if touch.purpose != "read" and touch.space != "global":
                memory.set(touch, held)
                if touch.space == "shared" and held[touch.threads].any():
                    end = "shared"
    return end
