"""Offsets that came to be worked out in 64 bits: before, each array had to fit into 32."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernel_lineage.kernels.wide_arrays import wide_arrays
from kernel_lineage.learning.preconditions.changes import CodeChange, Precondition

_WIDE = re.compile(r"64|size_t|ptrdiff_t|\blong\b")


def read(change: CodeChange) -> Iterator[Precondition]:
    """The largest number of elements of each array of both states whose offsets the change widens."""
    if not change.adds(_WIDE):
        return
    of_both = {p.name for p in change.before.parameters}
    for array in sorted((wide_arrays(change.after) - wide_arrays(change.before)) & of_both):
        yield Precondition(f"elements({array}) <= {2**31}", change.after.span.first_line)
