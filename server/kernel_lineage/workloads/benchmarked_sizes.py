"""The sizes that benchmarks time, over the dims of a draft that a test gave: a test is small, so that it is quick."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from kernel_gate.expressions import ExpressionError, evaluate
from kernel_lineage.workloads.model import BENCHMARKED, Draft
from kernel_lineage.workloads.same_arguments import sizes_as_in

_MOST_ELEMENTS = 1 << 28
"""Elements of the largest buffer that is timed: a gigabyte of floats."""


def with_benchmarks(draft: Draft, timed: Sequence[Draft]) -> Iterator[Draft]:
    """A complete draft of a test with the sizes of drafts that are timed, as far as all of its arguments have those
    there; before it the first of these, where it has the sizes of none: a test with one extent for two axes is no
    launch of a benchmark at any sizes.

    Sizes of the draft itself are left where one of the others has them: what is timed is told already.
    """
    solved = _solved(draft, timed)
    if not solved:
        yield from benchmarked(timed)
    if solved and dict(draft.dims) not in solved:
        draft = _noted(replace(draft, dims=solved[0], others=tuple(solved[1:])), timed[0])
    yield draft


def benchmarked(timed: Sequence[Draft]) -> Iterator[Draft]:
    """The first of the drafts that are timed, where it is complete, with the sizes of the others."""
    if timed and not timed[0].missing:
        first, *others = timed
        yield _noted(replace(first, others=tuple(_solved(first, others))), first)


def _noted(draft: Draft, timed: Draft) -> Draft:
    """The draft that says who times its sizes."""
    notes = (s for s in draft.assumed if not s.startswith("sizes are those of "))
    return replace(draft, assumed=(f"sizes are those that {timed.way}{BENCHMARKED}", *notes))


def _solved(draft: Draft, timed: Sequence[Draft]) -> list[dict[str, int]]:
    """The dims of a draft where it is as drafts that are timed."""
    return [sizes for other in timed if (sizes := _fitting(draft, other)) is not None]


def _fitting(draft: Draft, other: Draft) -> dict[str, int] | None:
    """The dims of a draft where it is as another one; None where it never is, or with no elements or too many."""
    sizes = sizes_as_in(draft, other)
    with suppress(ExpressionError):
        if sizes is not None and all(sizes.values()) and _elements(draft, sizes) <= _MOST_ELEMENTS:
            return sizes
    return None


def _elements(draft: Draft, sizes: Mapping[str, int]) -> float:
    """Elements of the largest buffer."""
    shapes = (a.shape for a in draft.arguments if a.shape)
    return max((math.prod(evaluate(str(extent), sizes) for extent in shape) for shape in shapes), default=0)
