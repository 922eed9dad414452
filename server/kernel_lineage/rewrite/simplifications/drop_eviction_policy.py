"""`eviction_policy` and `cache_modifier` are taken off Triton's loads and stores."""

from __future__ import annotations

from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.rewrite.candidate import Edit
from kernel_lineage.rewrite.simplifications.functions import functions_rewritten, pattern_replaced
from kernel_lineage.rewrite.simplifications.model import Simplification


def _simplify(kernel: Kernel) -> tuple[Edit, ...]:
    hint = r",\s*(?:eviction_policy|cache_modifier)\s*=\s*(?:\"[^\"]*\"|'[^']*')"
    return functions_rewritten(kernel, lambda text: pattern_replaced(text, hint, "", in_literals=True))


SIMPLIFICATION = Simplification(
    title="cache hints taken off loads and stores",
    weakens="cache_hints",
    languages=frozenset({Language.TRITON}),
    simplify=_simplify,
)
