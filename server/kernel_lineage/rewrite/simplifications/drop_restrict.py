"""`__restrict__` is taken off the parameters: the compiler may no longer reorder or cache across stores."""

from __future__ import annotations

from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.rewrite.candidate import Edit
from kernel_lineage.rewrite.simplifications.functions import functions_rewritten, pattern_replaced
from kernel_lineage.rewrite.simplifications.model import Simplification


def _simplify(kernel: Kernel) -> tuple[Edit, ...]:
    return functions_rewritten(
        kernel, lambda text: pattern_replaced(text, r"[ \t]*\b__restrict(?:__)?\b", "")
    )


SIMPLIFICATION = Simplification(
    title="__restrict__ taken off the parameters",
    weakens="restrict_read_only",
    languages=frozenset({Language.CUDA}),
    simplify=_simplify,
)
