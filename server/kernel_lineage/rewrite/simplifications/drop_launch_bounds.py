"""`__launch_bounds__` is taken off: the compiler plans registers for any block size."""

from __future__ import annotations

from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.rewrite.candidate import Edit
from kernel_lineage.rewrite.simplifications.functions import functions_rewritten, pattern_replaced
from kernel_lineage.rewrite.simplifications.model import Simplification


def _simplify(kernel: Kernel) -> tuple[Edit, ...]:
    bounds = r"\b__launch_bounds__\s*\([^()]*(?:\([^()]*\)[^()]*)*\)[ \t]*"
    return functions_rewritten(kernel, lambda text: pattern_replaced(text, bounds, ""))


SIMPLIFICATION = Simplification(
    title="__launch_bounds__ taken off",
    weakens="launch_bounds",
    languages=frozenset({Language.CUDA}),
    simplify=_simplify,
)
