"""The sizes that benchmarks time, over the dims of a draft that a test gave: a test is small, so that it is quick."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kernel_gate.expressions import ExpressionError, evaluate
from kernel_lineage.workloads.model import BENCHMARKED, Draft
from kernel_lineage.workloads.promises import broken

_MOST_ELEMENTS = 1 << 28
"""Elements of the largest buffer that is timed: a gigabyte of floats."""


def with_sizes_of(draft: Draft, timed: Sequence[Draft]) -> Draft:
    """The draft with the sizes of other drafts of its kernel, as far as all of its arguments have those there.

    Sizes of the draft itself are left where one of the others has them: what is timed is told already.
    """
    solved = [sizes for other in timed if (sizes := _solved(draft, other)) is not None]
    if not solved or any(sizes == dict(draft.dims) for sizes in solved):
        return draft
    notes = (s for s in draft.assumed if not s.startswith("sizes are those of "))
    note = f"sizes are those that {timed[0].way}{BENCHMARKED}"
    return replace(draft, dims=solved[0], others=tuple(solved[1:]), assumed=(note, *notes))


def _solved(draft: Draft, other: Draft) -> dict[str, int] | None:
    """What the dims of a draft are where its expressions have the values of another draft; None where there is none, or
    where they are too large.
    """
    pairs = list(_pairs(draft, other))
    sizes: dict[str, int] = {}
    for text, value in pairs:
        if text in draft.dims:
            sizes.setdefault(text, value)
    try:
        same = sizes.keys() == draft.dims.keys() and all(evaluate(t, sizes) == v for t, v in pairs)
        fits = same and _elements(draft, sizes) <= _MOST_ELEMENTS
    except ExpressionError:
        return None
    return {n: sizes[n] for n in draft.dims} if fits and not broken(sizes, draft.promises) else None


def _elements(draft: Draft, sizes: Mapping[str, int]) -> float:
    """Elements of the largest buffer."""
    shapes = (a.shape for a in draft.arguments if a.shape)
    return max((math.prod(evaluate(str(extent), sizes) for extent in shape) for shape in shapes), default=0)


def _pairs(draft: Draft, other: Draft) -> Iterator[tuple[str, int]]:
    """The expressions of a draft over its dims, each with the whole number that it is in the other."""
    there = {a.name: a for a in other.arguments}
    for argument in draft.arguments:
        same = there.get(argument.name)
        shape, extents = argument.shape or (), (same.shape if same is not None else None) or ()
        texts = [*zip(shape, extents, strict=False)] if len(shape) == len(extents) else []
        if same is not None and argument.kind == "scalar":
            texts += [(str(argument.value), str(same.value))]
        yield from _numbers(texts, draft.dims, other.dims)
    texts = [(text, other.constexpr[n]) for n, text in draft.constexpr.items() if n in other.constexpr]
    yield from _numbers(texts, draft.dims, other.dims)


def _numbers(
    texts: Sequence[tuple[str, str]], dims: Mapping[str, int], other: Mapping[str, int]
) -> Iterator[tuple[str, int]]:
    for text, written in texts:
        try:
            own, value = evaluate(text, dims), evaluate(written, other)
        except ExpressionError:
            continue
        if isinstance(own, int) and isinstance(value, int):
            yield text, value
