"""Offsets that came to be worked out in 64 bits: before, each array had to fit into 32."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.wide_arrays import wide_arrays

_WIDE = re.compile(r"64|size_t|ptrdiff_t|\blong\b")


def widened(before: Kernel, after: Kernel) -> Iterator[str]:
    """The largest number of elements of each array of both states whose offsets the change widens, as conditions.

    Where some offsets were wide before, another factor must be widened at as many addresses: an address that comes with
    a wide offset of its own says nothing of the others.
    """
    if not _comes(before, after):
        return
    of_both = {p.name for p in before.parameters}
    old = wide_arrays(before)
    for array, new in sorted(wide_arrays(after).items()):
        was = old.get(array)
        widens = was is None or (new.factors > was.factors and new.addresses <= was.addresses)
        if array in of_both and widens:
            yield f"elements({array}) <= {2**31}"


def _comes(before: Kernel, after: Kernel) -> bool:
    """Whether a new line of the kernel, or of a device function that it reaches, widens: cheaper than reading."""
    old, new = ({line.strip() for text in _texts(k) for line in text.splitlines()} for k in (before, after))
    return any(_WIDE.search(line) for line in new - old)


def _texts(kernel: Kernel) -> Iterator[str]:
    yield kernel.text
    for function in kernel.source.device_functions if kernel.source is not None else ():
        if function.name in kernel.device_functions:
            yield function.text
