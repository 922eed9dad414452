"""Offsets that came to be worked out in 64 bits: before, each array had to fit into 32."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernel_lineage.kernels.wide_arrays import wide_arrays
from kernel_lineage.learning.preconditions.changes import CodeChange, Precondition

_WIDE = re.compile(r"64|size_t|ptrdiff_t|\blong\b")


def read(change: CodeChange) -> Iterator[Precondition]:
    """The largest number of elements of each array of both states whose offsets the change widens.

    Where some offsets were wide before, another factor must be widened at as many addresses: an address that comes with
    a wide offset of its own says nothing of the others.
    """
    if not change.adds(_WIDE):
        return
    of_both = {p.name for p in change.before.parameters}
    old = wide_arrays(change.before)
    for array, new in sorted(wide_arrays(change.after).items()):
        was = old.get(array)
        widens = was is None or (new.factors > was.factors and new.addresses <= was.addresses)
        if array in of_both and widens:
            yield Precondition(f"elements({array}) <= {2**31}", change.after.span.first_line)
