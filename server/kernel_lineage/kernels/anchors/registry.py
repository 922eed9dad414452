"""All anchor patterns, collected from the files beside this one: a new file is a new pattern."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from kernel_lineage.collected import declared_in
from kernel_lineage.kernels import anchors as package
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.source import Kernel


@cache
def anchors() -> Mapping[str, AnchorPattern]:
    """Every pattern by its id, in the order of ids."""
    return declared_in(package, "PATTERN", AnchorPattern)


def anchors_of(kernel: Kernel) -> tuple[Anchor, ...]:
    """Every match of every pattern in a kernel, in the order of the file.

    Deeply nested code can exhaust a pattern's recursion; that pattern then has no match, the others are kept.
    """
    matches: list[Anchor] = []
    for pattern in anchors().values():
        if kernel.language in pattern.languages:
            try:
                matches += (replace(anchor, pattern=pattern.id) for anchor in pattern.find(kernel))
            except RecursionError:
                continue
    return tuple(sorted(matches, key=lambda anchor: (anchor.span, anchor.pattern, anchor.detail)))
