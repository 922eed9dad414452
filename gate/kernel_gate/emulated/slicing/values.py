"""Numbers that a right program computes on the way to an element, and which of another program's are among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kernel_gate.emulated.slicing.history import History, of_threads
from kernel_gate.emulated.slicing.trace import Event, Flags
from kernel_gate.emulated.slicing.walk import Taken
from kernel_gate.emulated.types import Array

Floats = npt.NDArray[np.float64]

_TOLERANCE = 4e-6
"""Relative: sums of a few hundred values in another order differ by less."""
_CHANCE = 0.02
"""The share of unrelated numbers that may be taken for known ones: many known ones are compared more closely."""
_BITS = 7
"""A number of no more significant bits (0, 1, 0.5, 96) is in every program and says nothing."""
_SUMS = ("add", "sub", "fma", "mad")


@dataclass(frozen=True, slots=True)
class KnownValues:
    """Numbers in ascending order."""

    ordered: Floats
    tolerance: float

    @classmethod
    def of(cls, right: History, wrong: float | None) -> KnownValues:
        """Those of a right program's history; what is near to the `wrong` value of the element is not among them.

        The running values of a sum that stays on one line are not either: sums in another order run through others,
        and a sum that ends too early is one of them.
        """
        steps = list(right.taken())
        leaving = _leaving(right, steps)
        arrays = [np.zeros(0)]
        for step in steps:
            event, threads = right.event(step), step.threads
            if right.opcode(event.number) in _SUMS:
                leaves = leaving.get(step.event)
                threads = threads[:0] if leaves is None else threads[leaves[threads]]
            count = right.trace.threads
            arrays += [telling(of_threads(value, event, threads, count)) for value in event.values]
        numbers = np.concatenate(arrays)
        numbers = np.unique(numbers[~np.isnan(numbers)])
        if wrong is not None:
            numbers = numbers[np.abs(numbers - wrong) > 2 * _TOLERANCE * abs(wrong)]
        return cls(numbers, min(_TOLERANCE, _CHANCE / max(len(numbers), 1)))

    def has(self, numbers: Floats) -> Flags:
        """Which of these are among them; NaN is not."""
        if not len(self.ordered):
            return np.zeros(numbers.shape, np.bool_)
        last = len(self.ordered) - 1
        after = np.searchsorted(self.ordered, numbers)
        near = np.stack([self.ordered[np.clip(after - 1, 0, last)], self.ordered[np.clip(after, 0, last)]])
        return np.asarray((np.abs(near - numbers) <= self.tolerance * np.abs(numbers)).any(axis=0), np.bool_)

    def right(self, event: Event) -> Flags | None:
        """Whether all that an active thread computed, and that says something, is among them."""
        if not event.values:
            return None
        some, every = np.zeros(1, np.bool_), np.ones(1, np.bool_)
        for value in event.values:
            numbers = telling(np.atleast_1d(value))
            hits = self.has(numbers)
            some, every = some | hits, every & (hits | np.isnan(numbers))
        return some & every


def telling(value: Array) -> Floats:
    """Registers as floats; NaN where one says nothing: an index, a round number, an infinity."""
    if value.dtype.itemsize not in (4, 8):
        return np.full(value.shape, np.nan)
    with np.errstate(all="ignore"):
        kind = np.float32 if value.dtype.itemsize == 4 else np.float64
        numbers = np.ascontiguousarray(value).view(kind).astype(np.float64)
        mantissa, size = np.frexp(numbers)[0] * (1 << _BITS), np.abs(numbers)
        numbers[(mantissa == np.rint(mantissa)) | ~((size > 1e-30) & (size < 1e30))] = np.nan
    return numbers


def _leaving(right: History, steps: Sequence[Taken]) -> dict[int, Flags]:
    """By event: the threads whose result something on another line uses, or memory, or another lane."""
    writer = np.full(right.no_registers().shape, -1, np.int64)
    by_event: dict[int, Flags] = {}
    for step in reversed(steps):
        event, threads = right.event(step), step.threads
        effect, line = right.effect(event.number), right.line(event.number)
        leaves = effect.of_a_warp or any(touch.purpose != "read" for touch in event.touches)
        for register in effect.reads:
            writers = writer[register, threads]
            for place in np.unique(writers[writers >= 0]):
                if leaves or right.line(right.trace.events[place].number) != line:
                    flags = by_event.setdefault(int(place), np.zeros(right.trace.threads, np.bool_))
                    flags[threads[writers == place]] = True
        for register in effect.writes:
            writer[register, threads] = step.event
    return by_event
