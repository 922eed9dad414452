"""The sizes with which a function launches a kernel again: a `main` that runs it small, then as large as it gets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from kernel_gate.expressions import ExpressionError, evaluate_int
from kernel_lineage.kernels.words import WORD
from kernel_lineage.workloads.model import Draft

_MOST_TIMED = 1 << 31
"""Elements of a launch that is timed."""
_TIMES = 8
"""Times the elements of the first launch that say something new, of counters that overflow and of long loops."""


def largest_of(draft: Draft, later: Iterable[Draft]) -> tuple[Mapping[str, int], ...]:
    """The largest sizes of later launches that are timed, in the draft's dims; none where those are nearly as large."""
    sizes = [draft.dims, *(s for d in later if (s := _in_dims_of(draft, d)) is not None)]
    timed = {n: s for n, s in enumerate(sizes) if _elements(draft, s) <= _MOST_TIMED}
    largest = max(timed, key=lambda n: (_elements(draft, sizes[n]), -n), default=0)
    more = _elements(draft, sizes[largest]) >= _TIMES * max(1, _elements(draft, draft.dims))
    return (sizes[largest],) if more else ()


def _in_dims_of(draft: Draft, other: Draft) -> dict[str, int] | None:
    """The sizes of another launch, whose numbers have names of their own; None where it is of another form."""
    if len(draft.dims) != len(other.dims):
        return None
    names = dict(zip(other.dims, draft.dims, strict=True))
    renamed = [WORD.sub(lambda m: names.get(m[0], m[0]), text) for text in _texts(other)]
    return dict(zip(draft.dims, other.dims.values(), strict=True)) if renamed == [*_texts(draft)] else None


def _texts(draft: Draft) -> Iterator[str]:
    yield from draft.launch_texts
    for argument in draft.arguments:
        yield from argument.shape or ()
        yield str(argument.value)


def _elements(draft: Draft, sizes: Mapping[str, int]) -> int:
    """Elements of all buffers at some sizes; 0 where that is not told."""
    try:
        shapes = (a.shape or ("0",) for a in draft.arguments if a.is_buffer)
        return sum(math.prod(evaluate_int(extent, sizes) for extent in shape) for shape in shapes)
    except ExpressionError:
        return 0
