"""`#pragma unroll` is taken off loops: the compiler decides by itself how far to unroll."""

from __future__ import annotations

from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.rewrite.candidate import Edit
from kernel_lineage.rewrite.simplifications.functions import functions_rewritten, pattern_replaced
from kernel_lineage.rewrite.simplifications.model import Simplification


def _simplify(kernel: Kernel) -> tuple[Edit, ...]:
    pragma = r"(?m)^[ \t]*#[ \t]*pragma[ \t]+unroll\b[^\n]*\n"
    return functions_rewritten(kernel, lambda text: pattern_replaced(text, pragma, ""))


SIMPLIFICATION = Simplification(
    title="#pragma unroll taken off",
    weakens="loop_unroll",
    languages=frozenset({Language.CUDA}),
    simplify=_simplify,
)
