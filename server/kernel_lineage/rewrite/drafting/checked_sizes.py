"""Sizes that are small enough to be checked often: a draft's own, halved until the emulated device can run them."""

from __future__ import annotations

import math
from dataclasses import replace

from kernel_gate.cases import elements
from kernel_gate.expressions import ExpressionError
from kernel_gate.workload import Workload, WorkloadError
from kernel_lineage.rewrite.drafting.model import Draft

_CHECKED_ELEMENTS = 1 << 14
"""Elements of all buffers of a checked shape: what the emulated device runs in about a second."""
_WARP = 32
_SMALLEST = 4


def with_checked_sizes(draft: Draft) -> Draft:
    """Sizes that are small enough to be checked often."""
    if draft.chosen:
        return draft
    try:
        workload = draft.workload()
    except WorkloadError:
        return draft
    sizes = dict(draft.dims)
    try:
        # A warp's width is kept as long as it can be: kernels that count on it fail below.
        for smallest, most in ((_WARP, _CHECKED_ELEMENTS), (_SMALLEST, 4 * _CHECKED_ELEMENTS)):
            _halve(workload, sizes, smallest, most)
    except ExpressionError:
        return draft
    said = tuple(
        f"{s}; checked with {sizes[n]}"
        if (n := s.split(" is ")[0]) in sizes and sizes[n] != draft.dims[n]
        else s
        for s in draft.assumed
    )
    return replace(draft, checked=sizes, assumed=said)


def _halve(workload: Workload, sizes: dict[str, int], smallest: int, most: int) -> None:
    """Halve the largest size, rounding up, while all buffers have more than `most` elements; none below `smallest`."""
    fixed: set[str] = set()
    while elements(workload, sizes) > most:
        name = max((n for n in sizes if n not in fixed), key=lambda n: sizes[n], default="")
        half = math.ceil(sizes.get(name, 0) / 2)
        if half < smallest:
            return
        if workload.keeps_promises({**sizes, name: half}):
            sizes[name] = half
        else:
            fixed.add(name)
