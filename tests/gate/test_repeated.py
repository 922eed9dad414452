"""Loops that no planned case repeats are repeated by longer extents, those of different dims together."""

import pytest

from benchmarks.strangers.fresh import ground
from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.reasons import Reason

ARGS = [
    ("y", "output", "float32", "R,L"),
    ("x", "input", "float32", "R,L"),
    ("R", "scalar", "int32", "R"),
    ("L", "scalar", "int32", "L"),
]
BEFORE = """__global__ void steps(float *y, const float *x, int R, int L) {
    for (int r = blockIdx.x; r < R; r += gridDim.x)
        for (int i = threadIdx.x; i < L; i += blockDim.x)
            y[r * L + i] = x[r * L + i] - (i ? x[r * L + i - 1] : 0.0f);
}
"""
AFTER = """__global__ void steps(float *y, const float *x, int R, int L) {
    __shared__ float s[129];
    for (int r = blockIdx.x; r < R; r += gridDim.x) {
        CLEAR
        for (int t = 0; t < L; t += 128) {
            for (int i = threadIdx.x; i < 128; i += blockDim.x) s[i + 1] = t + i < L ? x[r * L + t + i] : 0.0f;
            __syncthreads();
            for (int i = threadIdx.x; i < 128 && t + i < L; i += blockDim.x) y[r * L + t + i] = s[i + 1] - s[i];
            __syncthreads();
            if (threadIdx.x == 0) s[0] = s[128];
            __syncthreads();
        }
    }
}
"""
EACH_ROW = "if (threadIdx.x == 0) s[0] = 0.0f;"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (AFTER.replace("CLEAR", EACH_ROW), Reason.NOT_PROFILED),
        (AFTER.replace("CLEAR", "if (threadIdx.x == 0 && r == blockIdx.x) s[0] = 0.0f;"), Reason.WRONG_VALUE),
    ],
    ids=["each row", "the first row of a block"],
)
def test_what_a_full_tile_leaves_to_the_next_row_is_seen(text: str, code: Reason):
    of = ground("steps", BEFORE, {"R": [2, 3], "L": [5, 9]}, ARGS, "8", 32, {"R": 3, "L": 9})
    verdict = judge(
        of.program(),
        of.program(text),
        of.workload,
        device="emulated",
        options=GateOptions(seed=3, callers_seconds=0),
    )
    assert verdict.code is code, verdict.reason
    check = verdict.stage("check")
    assert check is not None
    if code is Reason.WRONG_VALUE:
        assert "hidden shape" in check.details["case"]
    else:
        assert not check.details["coverage"]["loops_once"]
