"""What speaks against a line that fed a wrong element, told by another program that computes the element right.

Nothing is asked of the two texts: they may be two algorithms, or in two languages. A number that both programs compute
on the way to the element is right, and so is what led to it; what both need of the inputs is the same.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

import numpy as np

from kernel_gate.emulated.slicing.history import History
from kernel_gate.emulated.slicing.inputs import InputClues, input_clues
from kernel_gate.emulated.slicing.news import News
from kernel_gate.emulated.slicing.values import KnownValues

_EVENTS_MOST = 60_000
"""A longer record is not compared: it would take longer than the verdict."""


@dataclass(frozen=True, slots=True)
class Clues:
    """Lines of the wrong program's text."""

    values: News = field(default_factory=News)
    inputs: InputClues = field(default_factory=InputClues)
    undefined: tuple[int, ...] = ()
    """Lines that fed the element and read a register to which nothing was written."""
    stores: tuple[int, ...] = ()
    """Where the element is not stored: lines that store others of its output."""


def clues(wrong: History, right: History, inputs: Set[str]) -> Clues | None:
    """Compare two histories of one element; `inputs` are the names of arguments that are only read.

    None where one of the records is too long.
    """
    if not (wrong.trace.with_values and right.trace.with_values):
        return None
    if max(len(wrong.trace.events), len(right.trace.events)) > _EVENTS_MOST:
        return None
    stores = _stores(wrong)
    if stores is not None:
        return Clues(stores=stores)
    values = KnownValues.of(right, wrong.value)
    return Clues(News.of(wrong, values), input_clues(wrong, right, inputs), _undefined(wrong))


def _stores(wrong: History) -> tuple[int, ...] | None:
    """Lines that store to the element's output; None where the element itself is stored."""
    lines: dict[int, None] = {}
    for event in reversed(wrong.trace.events):
        line = wrong.line(event.number)
        for touch in event.touches:
            if touch.purpose != "read" and (touch.space, touch.segment) == ("global", wrong.segment):
                at = touch.rows()
                if ((at >= wrong.start) & (at < wrong.stop)).any():
                    return None
                if line is not None:
                    lines[line] = None
    return tuple(lines)


def _undefined(wrong: History) -> tuple[int, ...]:
    """Lines that fed the element and read a register before anything wrote it."""
    written, lines = wrong.no_registers(), dict[int, None]()
    asked = {step.event: step.threads for step in wrong.taken()}
    everyone = np.arange(wrong.trace.threads)
    for place, event in enumerate(wrong.trace.events):
        effect, line = wrong.effect(event.number), wrong.line(event.number)
        fed = place in asked and line is not None and bool(effect.reads)
        if fed and not written[list(effect.reads)][:, asked[place]].all():
            lines[line] = None  # type: ignore[index]
        active = everyone if event.active is None else event.active
        for register in effect.writes:
            written[register, active] = True
    return tuple(lines)
