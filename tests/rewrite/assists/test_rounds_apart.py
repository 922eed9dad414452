"""Loops in loops are shared out as a whole only where no two of their rounds touch one element."""

from __future__ import annotations

import pytest

from kernel_lineage.kernels.anchors.registry import anchors_of
from kernel_lineage.rewrite.assists.registry import all_assists
from kernel_lineage.rewrite.candidate import Candidate
from kernel_texts import kernel_in_text

_KERNEL = """\
__global__ void rows(float* __restrict__ out, const float* __restrict__ x, const int* __restrict__ n,
                     int N, int V, int C) {{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < V; k++) {{ sum += x[row * V + k]; }}
    for (int v = 0; v < V; v++) {{
        {code}
    }}
}}
void run(float* out, const float* x, const int* n, int N, int V, int C) {{
    rows<<<(N + 63) / 64, 64>>>(out, x, n, N, V, C);
}}
"""


def _is_shared_out(code: str) -> bool:
    """Whether one of the candidates gives a warp's lanes a `v` each."""
    text, assist = _KERNEL.format(code=code), all_assists()["give_row_to_warp"]
    kernel = kernel_in_text(text, "rows")
    made = assist.rewrite(kernel, next(a for a in anchors_of(kernel) if a.pattern == assist.pattern))
    candidates = [made, *made.alternatives] if isinstance(made, Candidate) else []
    return any("v += 32" in one.apply(text.encode()).decode() for one in candidates)


@pytest.mark.parametrize(
    "code",
    [
        "for (int c = 0; c < C; c++) { out[(row * V + v) * C + c] = sum * x[c]; }",
        "for (int c = 0; c < 3; c++) { out[row * V * 3 + v * 3 + c] = sum; }",
        "for (int c = 0; c < C; c++) { if (x[c] < 0.0f) break; out[(row * V + v) * C + c] = x[v]; }",
        "float most = 0.0f; for (int c = 0; c < n[v]; c++) { most = fmaxf(most, x[c]); } out[row * V + v] = most;",
    ],
)
def test_rounds_that_fill_ranges_of_their_own_are_shared_out(code: str) -> None:
    assert _is_shared_out(code)


@pytest.mark.parametrize(
    "code",
    [
        # A range is longer than the rounds lie apart, or nothing tells how long it is.
        "for (int c = 0; c < C; c++) { out[(row * V + v) * (C - 1) + c] = sum; }",
        "for (int c = 0; c <= C; c++) { out[(row * V + v) * C + c] = sum; }",
        "for (int c = 0; c < n[v]; c++) { out[(row * V + v) * C + c] = sum; }",
        "for (int c = 1; c < C; c++) { out[(row * V + v) * C + c] = sum; }",
        # Where it begins depends on data, or its elements lie apart.
        "for (int c = 0; c < C; c++) { out[(row * V + v) * C + c + n[v]] = sum; }",
        "for (int c = 0; c < C; c++) { out[(row * V + v) * C + 2 * c] = sum; }",
        "for (int c = 0; c < C; c++) { for (int d = 0; d < C; d++) { out[(row * V + v) * C + c + d] = sum; } }",
        # Another statement writes the next round's.
        "for (int c = 0; c < C; c++) { out[(row * V + v) * C + c] = sum; out[(row * V + v) * C + c + 1] = 0; }",
        "out[row * V + v] = sum; out[row * V + v + 1] = 0; for (int c = 0; c < C; c++) { sum += x[c]; }",
    ],
)
def test_rounds_whose_ranges_may_meet_are_not(code: str) -> None:
    assert not _is_shared_out(code)
