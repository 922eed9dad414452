"""A relation over the tags of some threads' values: where it does not hold, and by which two data.

A coordinate of a value stands for all data that went into the value, so a relation holds when it does for every choice
of one datum from each term. The ends of the ranges decide that: `==` needs one value, `a < b` the greatest of a below
the least of b. So whatever violates it is a pair of data, which are named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kernel_gate.emulated.tags.keys import UNTAGGED, Coding, Keys
from kernel_gate.invariants.model import Comparison

Flags: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Ends:
    """A term for every element that is looked at: the least and the greatest of its values."""

    low: Any
    high: Any
    """Arrays of values."""
    tagged: Any
    """False where no datum is in it; a number is never without."""
    low_key: Keys | None = None
    high_key: Keys | None = None
    """None: a number."""

    @classmethod
    def of_coordinate(cls, coding: Coding, tags: Keys, name: str) -> Ends:
        """The ends of a coordinate of tags."""
        low, high = coding.ends(tags, name)
        return cls(coding.value(low), coding.value(high), low != UNTAGGED, low, high)

    @classmethod
    def of_number(cls, value: Any) -> Ends:
        """The ends of a whole number."""
        return cls(value, value, np.True_)

    def at(self, position: tuple[int, ...], shape: tuple[int, ...], *, high: bool) -> tuple[int, int | None]:
        """Value and key of one end at one element."""
        value = np.broadcast_to(self.high if high else self.low, shape)[position]
        key = self.high_key if high else self.low_key
        return int(value), None if key is None else int(np.broadcast_to(key, shape)[position])


@dataclass(frozen=True, slots=True)
class Judged:
    """A relation, element by element."""

    violated: Flags
    untagged: Flags
    """Where a coordinate has no datum, so that nothing, or not everything, was compared."""


def judge(comparison: Comparison, terms: Sequence[Ends], shape: tuple[int, ...]) -> Judged:
    """Compare terms of a shape."""
    coordinates = [term for term in terms if term.low_key is not None]
    missing: Any = np.False_
    for term in coordinates:
        missing = missing | ~term.tagged
    if comparison == "==":
        least, greatest, some = np.iinfo(np.int64).max, np.iinfo(np.int64).min, np.False_
        low: Any = np.int64(least)
        high: Any = np.int64(greatest)
        any_tagged: Any = some
        for term in terms:
            low = np.minimum(low, np.where(term.tagged, term.low, least))
            high = np.maximum(high, np.where(term.tagged, term.high, greatest))
        for term in coordinates:
            any_tagged = any_tagged | term.tagged
        violated = any_tagged & (low < high)
    else:
        left, right = terms
        holds = {
            "<": left.high < right.low,
            "<=": left.high <= right.low,
            ">": left.low > right.high,
            ">=": left.low >= right.high,
        }[comparison]
        violated = left.tagged & right.tagged & ~holds
    violated = np.broadcast_to(violated, shape)
    return Judged(violated, np.broadcast_to(missing, shape) & ~violated)


def witnesses(
    comparison: Comparison, terms: Sequence[Ends], position: tuple[int, ...], shape: tuple[int, ...]
) -> tuple[tuple[int, int, int | None], tuple[int, int, int | None]]:
    """The two data that violate a relation at an element: position of the term, value, key (None: a number)."""
    if comparison == "==":
        tagged = [k for k, term in enumerate(terms) if np.broadcast_to(term.tagged, shape)[position]]
        lows = [(k, *terms[k].at(position, shape, high=False)) for k in tagged]
        highs = [(k, *terms[k].at(position, shape, high=True)) for k in tagged]
        low, high = min(lows, key=lambda witness: witness[1]), max(highs, key=lambda witness: witness[1])
        return (low, high) if low[0] <= high[0] else (high, low)
    upper = comparison in ("<", "<=")
    return (0, *terms[0].at(position, shape, high=upper)), (1, *terms[1].at(position, shape, high=not upper))
