"""All readers of what a fix's change of code says of the code before it."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.learning.preconditions import branches, repairs, tails, toolkits, values, widths
from kernel_lineage.learning.preconditions.changes import CodeChange, Precondition, Reader

_READERS: tuple[Reader, ...] = (
    tails.read,
    values.read,
    branches.read,
    repairs.read,
    toolkits.read,
    widths.read,
)


def preconditions(change: CodeChange) -> Iterator[Precondition]:
    """What each reader reads, every condition once."""
    seen: set[str] = set()
    for read in _READERS:
        for one in read(change):
            if one.expr not in seen:
                seen.add(one.expr)
                yield one
