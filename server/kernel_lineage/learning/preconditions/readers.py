"""What a fix's change of code says of the code before it."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.learning.preconditions import tails, widths
from kernel_lineage.learning.preconditions.changes import CodeChange, Precondition


def preconditions(change: CodeChange) -> Iterator[Precondition]:
    """What masks and wide offsets that the change brings say."""
    yield from tails.read(change)
    yield from widths.read(change)
