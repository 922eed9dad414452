"""`#pragma unroll` is taken off loops: the compiler decides by itself how far to unroll."""

from __future__ import annotations

from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.rewrite.candidate import Edit
from kernel_lineage.rewrite.simplifications.matches import edits_of
from kernel_lineage.rewrite.simplifications.model import Simplification


def _simplify(kernel: Kernel) -> tuple[Edit, ...]:
    return edits_of(kernel, r"(?m)^[ \t]*#[ \t]*pragma[ \t]+unroll\b[^\n]*\n", lambda _match: "")


SIMPLIFICATION = Simplification(
    id="drop_unroll",
    title="#pragma unroll taken off",
    weakens="loop_unroll",
    languages=frozenset({Language.CUDA}),
    simplify=_simplify,
)
