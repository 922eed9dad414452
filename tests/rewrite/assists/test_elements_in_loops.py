"""An element that a loop works on is kept in a variable, where nothing else in the loop can touch it."""

from __future__ import annotations

import pytest

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.verdict import StageStatus
from kernel_lineage.kernels.anchors.registry import anchors_of
from kernel_lineage.kernels.edits import edited
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.rewrite.assists.elements_in_loops import elements_in_variables
from kernel_lineage.rewrite.assists.model import Refusal, attempt
from kernel_lineage.rewrite.assists.readable_forms import readable_form
from kernel_lineage.rewrite.assists.registry import all_assists
from kernel_lineage.rewrite.candidate import Candidate
from kernel_texts import kernel_in_text
from rewrite.assists.examples_read import Application
from rewrite.assists.test_gate import programs
from rewrite.assists.workloads import workload

_KERNEL = """\
struct Rows {{ float* at; }};
__device__ float next(const float* at) {{ return at[1]; }}
__global__ void sums({y}, const float* __restrict__ x, const int* __restrict__ n, float* z, Rows* rows, int cols) {{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= cols) return;
    {code}
}}
"""
_APART = "float* __restrict__ y"


def _kernel(code: str, y: str = _APART) -> Kernel:
    return kernel_in_text(_KERNEL.format(code=code, y=y), "sums")


def _kept(code: str, y: str = _APART) -> str:
    edits = attempt(lambda: elements_in_variables(_kernel(code, y)))
    assert not isinstance(edits, Refusal), edits.reason
    data = _KERNEL.format(code=code, y=y).encode()
    lines = edited(data, tuple(sorted(edits, key=lambda e: e.span.start))).decode().splitlines()
    return " ".join(line.strip() for line in lines[5:-1])


@pytest.mark.parametrize(
    ("code", "becomes"),
    [
        (
            "y[row] = 0.5f; for (int k = 0; k < cols; k++) y[row] += x[k];",
            "float element = 0.5f; for (int k = 0; k < cols; k++) element += x[k]; y[row] = element;",
        ),
        (
            "y[row] = x[0]; for (int k = 1; k < cols; k++) { if (x[k] > y[row]) y[row] = x[k]; } y[row] *= 2.0f;",
            (
                "float element = x[0]; for (int k = 1; k < cols; k++) { if (x[k] > element) element = x[k]; } "
                "y[row] = element; y[row] *= 2.0f;"
            ),
        ),
        (
            (
                "y[row * 2 + 1] = 0; for (int k = 0; k < n[0]; k++) { for (int j = 0; j < k; j++) "
                "y[row*2 + 1] = fmaf(x[j], x[k], y[row * 2+1]); }"
            ),
            (
                "float element = 0; for (int k = 0; k < n[0]; k++) { for (int j = 0; j < k; j++) "
                "element = fmaf(x[j], x[k], element); } y[row * 2 + 1] = element;"
            ),
        ),
    ],
)
def test_an_element_that_a_loop_works_on_is_kept(code: str, becomes: str) -> None:
    assert _kept(code) == becomes


@pytest.mark.parametrize(
    "code",
    [
        # Another element, or the element of another round.
        "y[row] = 0; for (int k = 0; k < cols; k++) y[k] += x[k];",
        "y[row] = 0; for (int k = 0; k < cols; k++) { y[row] += x[k]; row += 1; }",
        "y[row] = 0; for (int k = 0; k < cols; k++) y[row] += y[k];",
        "y[n[row]] = 0; for (int k = 0; k < cols; k++) y[n[row]] += x[k];",
        # It may never be touched: no round, or no way to it.
        "for (int k = 0; k < cols; k++) y[row] += x[k];",
        "if (row > 3) y[row] = 0; for (int k = 0; k < cols; k++) y[row] += x[k];",
        # Something else may touch it.
        "y[row] = 0; for (int k = 0; k < cols; k++) atomicAdd(&y[row], x[k]);",
        "y[row] = 0; for (int k = 0; k < cols; k++) y[row] += next(y + row);",
        "y[row] = 0; for (int k = 0; k < cols; k++) { float* p = &y[row]; *p += x[k]; y[row] += 1.0f; }",
        "z[row] = 0; for (int k = 0; k < cols; k++) { z[row] += rows->at[k]; }",
        "rows->at[row] = 0; for (int k = 0; k < cols; k++) { rows->at[row] += x[k]; }",
        # The loop may be left before the element is stored.
        "y[row] = 0; for (int k = 0; k < cols; k++) { if (x[k] < 0) return; y[row] += x[k]; }",
    ],
)
def test_an_element_that_may_be_touched_otherwise_stays_in_memory(code: str) -> None:
    assert _kept(code) == code


def test_buffers_that_may_overlap_are_left_alone() -> None:
    code = "y[row] = 0; for (int k = 0; k < cols; k++) y[row] += z[k];"
    assert _kept(code, "float* y") == code


def test_threads_that_work_together_may_see_each_step() -> None:
    made = attempt(
        lambda: elements_in_variables(
            _kernel("y[row] = 0; for (int k = 0; k < cols; k++) { y[row] += x[k]; __syncthreads(); }")
        )
    )
    assert isinstance(made, Refusal)
    assert "work together" in made.reason


_DISTANCES = """\
__global__ void distances(const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ out,
                          int n, int m, int d) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * m) return;
    int column = i / n, row = i % n;
    out[row * m + column] = 0.0f;
    for (int k = 0; k < d; k++) {
        out[row * m + column] += fabsf(x[row * d + k] - y[column * d + k]);
    }
}
void run(const float* x, const float* y, float* out, int n, int m, int d) {
    distances<<<(n * m + 255) / 256, 256>>>(x, y, out, n, m, d);
}
"""


@pytest.mark.parametrize("name", ["multiply_in_tiles", "exchange_thread_indices"])
def test_sums_in_memory_are_rewritten_as_sums_in_variables_are(name: str) -> None:
    form, assist = readable_form(kernel_in_text(_DISTANCES, "distances")), all_assists()[name]
    assert form is not None
    made = assist.rewrite(
        form.kernel, next(a for a in anchors_of(form.kernel) if a.pattern == assist.pattern)
    )
    assert isinstance(made, Candidate), made.reason
    after = form.of_both(made).apply(_DISTANCES.encode()).decode()
    load = workload(
        "distances", "N = [1, 33]\nM = [1, 70]\nD = [9]", 'grid = ["ceil_div(N * M, 256)"]\nblock = [256]',
        "x: input float32 [N, D]", "y: input float32 [M, D]", "out: output float32 [N, M]", "n: int32 = N",
        "m: int32 = M", "d: int32 = D",
    )  # fmt: skip
    verdict = judge(
        *programs(Application(assist, Language.CUDA, "distances", _DISTANCES, after, "distances"), load),
        load,
        device="emulated",
        options=GateOptions(check_seconds=3600.0, hidden=False, seed=3),
    )
    for stage_name in ("build", "check", "sanitize"):
        stage = verdict.stage(stage_name)
        assert stage is not None
        assert stage.status is StageStatus.PASS, stage.reason
