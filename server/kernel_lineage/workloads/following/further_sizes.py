"""The sizes with which a function launches a kernel again: a `main` that runs it small, then as large as it gets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kernel_lineage.kernels.words import with_meanings
from kernel_lineage.workloads.model import Draft

_MOST_TIMED = 1 << 31
"""Elements of a launch that is timed."""
_TIMES = 8
"""Times the elements of the first launch that say something new, of counters that overflow and of long loops."""


def largest_of(draft: Draft, later: Iterable[Draft]) -> tuple[Mapping[str, int], ...]:
    """The largest sizes of later launches that are timed, in the draft's dims; none where those are nearly as large."""
    sizes = [draft.dims, *(s for d in later if (s := _in_dims_of(draft, d)) is not None)]
    timed = {n: s for n, s in enumerate(sizes) if draft.elements(s) <= _MOST_TIMED}
    largest = max(timed, key=lambda n: (draft.elements(sizes[n]), -n), default=0)
    more = draft.elements(sizes[largest]) >= _TIMES * max(1, draft.elements(draft.dims))
    return (sizes[largest],) if more else ()


def _in_dims_of(draft: Draft, other: Draft) -> dict[str, int] | None:
    """The sizes of another launch, whose numbers have names of their own; None where it is of another form."""
    if len(draft.dims) != len(other.dims):
        return None
    names = dict(zip(other.dims, draft.dims, strict=True))
    renamed = [with_meanings(text, names) for text in _texts(other)]
    return dict(zip(draft.dims, other.dims.values(), strict=True)) if renamed == [*_texts(draft)] else None


def _texts(draft: Draft) -> Iterator[str]:
    yield from draft.launch_texts
    for argument in draft.arguments:
        yield from argument.shape or ()
        yield str(argument.value)
