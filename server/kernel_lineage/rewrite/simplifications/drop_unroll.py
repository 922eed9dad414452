"""`#pragma unroll` is taken off loops: the compiler decides by itself how far to unroll."""

from __future__ import annotations

from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.rewrite.candidate import Edit
from kernel_lineage.rewrite.simplifications.matches import edits_of
from kernel_lineage.rewrite.simplifications.model import Simplification, SimplifiedExample


def _simplify(kernel: Kernel) -> tuple[Edit, ...]:
    return edits_of(kernel, r"(?m)^[ \t]*#[ \t]*pragma[ \t]+unroll\b[^\n]*\n", lambda _match: "")


_LOOP = """\
__global__ void k(float* out, const float* x) {
    float sum = 0.0f;
%s    for (int i = 0; i < 8; i++) {
        sum += x[i];
    }
    out[0] = sum;
}
"""

SIMPLIFICATION = Simplification(
    id="drop_unroll",
    title="#pragma unroll taken off",
    weakens="loop_unroll",
    languages=frozenset({Language.CUDA}),
    simplify=_simplify,
    examples=(
        SimplifiedExample(Language.CUDA, _LOOP % "    #pragma unroll 4\n", _LOOP % ""),
        SimplifiedExample(Language.CUDA, _LOOP % "", None),
    ),
)
