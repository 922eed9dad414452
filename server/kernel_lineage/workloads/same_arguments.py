"""The sizes of a draft's dims at which its arguments are those of another draft of the same kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kernel_gate.expressions import ExpressionError, evaluate
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.promises import broken


def sizes_as_in(draft: Draft, other: Draft) -> dict[str, int] | None:
    """What the dims of a draft are where its expressions have the values of another draft; None where there is none."""
    pairs = list(_pairs(draft, other))
    sizes: dict[str, int] = {}
    for text, value in pairs:
        if text in draft.dims:
            sizes.setdefault(text, value)
    try:
        same = sizes.keys() == draft.dims.keys() and all(evaluate(t, sizes) == v for t, v in pairs)
    except ExpressionError:
        return None
    return {n: sizes[n] for n in draft.dims} if same and not broken(sizes, draft.promises) else None


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
