"""What a round reads of the one before is kept in a variable, where nothing else lies between the two."""

from __future__ import annotations

import pytest

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.verdict import StageStatus
from kernel_lineage.kernels.anchors.registry import anchors_of
from kernel_lineage.kernels.edits import edited
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.rewrite.assists.carried_elements import carried_elements
from kernel_lineage.rewrite.assists.readable_forms import readable_form
from kernel_lineage.rewrite.assists.registry import all_assists
from kernel_lineage.rewrite.candidate import Candidate
from kernel_texts import kernel_in_text
from rewrite.assists.test_gate import program
from rewrite.assists.workloads import workload

_KERNEL = """\
__global__ void scan(float* __restrict__ y, const float* __restrict__ x, int rows, int cols) {{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    {code}
}}
void run(float* y, const float* x, int rows, int cols) {{ scan<<<(rows + 127) / 128, 128>>>(y, x, rows, cols); }}
"""
_FIRST = "y[row * cols] = x[row * cols]; "
_SUM = _FIRST + (
    "for (int j = 1; j < cols; j++) { y[row * cols + j] = y[row * cols + j - 1] + x[row * cols + j]; }"
)
_IN_PLACE = (
    "for (int j = 0; j < cols; j++) y[row * cols + j] = 0.5f * x[row * cols + j]; "
    "for (int j = 1; j < cols; j++) y[row * cols + j] += y[row * cols + (j - 1)];"
)
_MOST = (
    "float* out = y + (size_t)row * cols; const float* in = x + (size_t)row * cols; out[0] = 0.0f; "
    "for (int j = 0; j < cols - 1; ++j) { const float v = fabsf(in[j]); out[j + 1] = fmaxf(v, out[j]); }"
)


def _kernel(code: str) -> Kernel:
    return kernel_in_text(_KERNEL.format(code=code), "scan")


def _kept(code: str) -> str:
    data = _KERNEL.format(code=code).encode()
    edits = sorted(carried_elements(_kernel(code)), key=lambda e: e.span.start)
    lines = edited(data, tuple(edits)).decode().splitlines()
    return " ".join(line.strip() for line in lines[3:-2])


@pytest.mark.parametrize(
    ("code", "becomes"),
    [
        (
            _SUM,
            _FIRST + "float last = 1 < cols ? y[row * cols + 1 - 1] : 0; for (int j = 1; j < cols; j++) "
            "{ last = last + x[row * cols + j]; y[row * cols + j] = last; }",
        ),
        (
            _IN_PLACE,
            (
                "for (int j = 0; j < cols; j++) y[row * cols + j] = 0.5f * x[row * cols + j]; "
                "float last = 1 < cols ? y[row * cols + (1 - 1)] : 0; for (int j = 1; j < cols; j++) "
                "{ last = last + y[row * cols + j]; y[row * cols + j] = last; }"
            ),
        ),
        (
            "for (int j = cols - 2; j >= 0; j--) y[row * cols + j] = x[j] * y[row * cols + j + 1];",
            (
                "float last = (cols - 2) >= 0 ? y[row * cols + (cols - 2) + 1] : 0; "
                "for (int j = cols - 2; j >= 0; j--) { last = x[j] * last; y[row * cols + j] = last; }"
            ),
        ),
    ],
)
def test_what_the_round_before_wrote_is_kept(code: str, becomes: str) -> None:
    assert _kept(code) == becomes


@pytest.mark.parametrize(
    "code",
    [
        # Not the round before, or not this row.
        "for (int j = 2; j < cols; j++) y[row * cols + j] = y[row * cols + j - 2] + x[row * cols + j];",
        "for (int j = 1; j < cols; j += 2) y[row * cols + j] = y[row * cols + j - 1] + x[row * cols + j];",
        "for (int j = 1; j < cols; j++) y[row * cols + j] = y[row * rows + j - 1] + x[row * cols + j];",
        "for (int j = 1; j < cols; j++) y[row * cols + j] = y[row * cols + cols - j] + x[row * cols + j];",
        # A round may leave its element as it is, or write another one, too.
        "for (int j = 1; j < cols; j++) { if (x[j] > 0) y[row * cols + j] = y[row * cols + j - 1] + x[j]; }",
        "for (int j = 1; j < cols; j++) { if (x[j] > 0) continue; y[row * cols + j] = y[row * cols + j - 1] + 1; }",
        "for (int j = 1; j < cols; j++) { y[row * cols + j] = y[row * cols + j - 1] + x[j]; y[row] = 0; }",
        "for (int j = 1; j < cols; j++) { atomicAdd(y, 1.0f); y[row * cols + j] = y[row * cols + j - 1] + x[j]; }",
        # Another round's element is read, too.
        "for (int j = 2; j < cols; j++) y[row * cols + j] = y[row * cols + j - 1] + y[row * cols + j - 2];",
        # It is no sum, product or choice.
        "for (int j = 1; j < cols; j++) y[row * cols + j] = 0.5f - y[row * cols + j - 1];",
        "for (int j = 1; j < cols; j++) y[row * cols + j] -= y[row * cols + j - 1];",
    ],
)
def test_what_is_read_in_another_way_stays_in_memory(code: str) -> None:
    assert _kept(code) == code


@pytest.mark.parametrize("code", [_SUM, _IN_PLACE, _MOST])
@pytest.mark.long
def test_rows_that_go_on_from_what_they_wrote_are_shared_out(code: str) -> None:
    kernel, assist = _kernel(code), all_assists()["give_row_to_warp"]
    form = readable_form(kernel)
    assert form is not None
    made = assist.rewrite(
        form.kernel, next(a for a in anchors_of(form.kernel) if a.pattern == assist.pattern)
    )
    assert isinstance(made, Candidate), made.reason
    before = _KERNEL.format(code=code)
    after = form.of_both(made).apply(before.encode()).decode()
    assert "__shfl_up_sync" in after
    load = workload(
        "scan", "N = [1, 5]\nC = [1, 33, 150]", 'grid = ["N"]\nblock = [128]',
        "y: output float32 [N, C]", "x: input float32 [N, C]", "rows: int32 = N", "cols: int32 = C",
    )  # fmt: skip
    verdict = judge(
        program(Language.CUDA, before, "scan"),
        program(Language.CUDA, after, "scan"),
        load,
        device="emulated",
        options=GateOptions(check_seconds=3600.0, hidden=False, seed=3),
    )
    for name in ("build", "check", "sanitize"):
        stage = verdict.stage(name)
        assert stage is not None
        assert stage.status is StageStatus.PASS, stage.reason
