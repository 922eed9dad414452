"""`eviction_policy` and `cache_modifier` are taken off Triton's loads and stores."""

from __future__ import annotations

from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.rewrite.candidate import Edit
from kernel_lineage.rewrite.simplifications.matches import edits_of
from kernel_lineage.rewrite.simplifications.model import Simplification, SimplifiedExample


def _simplify(kernel: Kernel) -> tuple[Edit, ...]:
    return edits_of(
        kernel, r",\s*(?:eviction_policy|cache_modifier)\s*=\s*(?:\"[^\"]*\"|'[^']*')", lambda _match: ""
    )


_KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def k(out, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n%s)
    tl.store(out + at, value, mask=at < n)
"""

SIMPLIFICATION = Simplification(
    id="drop_eviction_policy",
    title="cache hints taken off loads and stores",
    weakens="cache_hints",
    languages=frozenset({Language.TRITON}),
    simplify=_simplify,
    examples=(
        SimplifiedExample(Language.TRITON, _KERNEL % ', eviction_policy="evict_first"', _KERNEL % ""),
        SimplifiedExample(Language.TRITON, _KERNEL % "", None),
    ),
)
