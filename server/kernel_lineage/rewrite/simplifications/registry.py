"""All simplifications: the modules beside this one that declare a `SIMPLIFICATION`."""

from __future__ import annotations

from functools import cache

from kernel_lineage.collected import declared_in
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite import simplifications as package
from kernel_lineage.rewrite.candidate import Candidate
from kernel_lineage.rewrite.simplifications.model import Simplification


@cache
def all_simplifications() -> tuple[Simplification, ...]:
    """Every simplification, in the order of their ids."""
    return tuple(declared_in(package, "SIMPLIFICATION", Simplification).values())


def simplified(simplification: Simplification, kernel: Kernel) -> bytes | None:
    """The kernel's file after a simplification; None where there is nothing to take back."""
    if kernel.source is None or kernel.language not in simplification.languages:
        return None
    edits = simplification.simplify(kernel)
    if not edits:
        return None
    return Candidate("", kernel.name, edits, simplification.id, simplification.title).apply(
        kernel.source.data
    )
