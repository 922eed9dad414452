"""Shapes at which whole numbers that are computed in floats are others."""

import pytest

from kernel_gate.building import build_program
from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.stages.float_indices import float_index_cases
from kernel_gate.workload import parse_workload

KERNEL = """__global__ void nearest(float *y, const float *x, int from, int to) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < to) y[i] = x[TAKEN];
}
"""
EXACT, ROUNDED = "(int)((long long)i * from / to)", "min((int)(i * ((float)from / to)), from - 1)"
WORKLOAD = parse_workload("""
kernel = "nearest"
language = "cuda"
dims = { a = [16], b = [64] }
args = [
  { name = "y", kind = "output", dtype = "float32", shape = ["b"] },
  { name = "x", kind = "input", dtype = "float32", shape = ["a"] },
  { name = "from", kind = "scalar", dtype = "int32", value = "a" },
  { name = "to", kind = "scalar", dtype = "int32", value = "b" },
]
launch = { grid = ["ceil_div(b, 64)"], block = [64] }
""")


def nearest(taken: str) -> Program:
    return Program("cuda", KERNEL.replace("TAKEN", taken), "nearest", name="nearest.cu")


@pytest.mark.parametrize(
    ("taken", "status"),
    [
        (ROUNDED, "fail"),
        ("(int)(((double)i * from + 0.5) / to)", "pass"),
    ],
)
def test_an_index_that_goes_through_floats_is_tried_where_their_quotient_is_too_small(taken, status):
    judged = judge(nearest(EXACT), nearest(taken), WORKLOAD, device="emulated")
    assert judged.stage("check").status == status, judged.reason


@pytest.mark.parametrize(
    ("before", "after", "count"), [(EXACT, ROUNDED, 4), (ROUNDED, ROUNDED, 0), (ROUNDED, EXACT, 0)]
)
def test_only_a_change_to_floats_has_cases_of_its_own(before, after, count):
    built = [
        build_program(nearest(text), WORKLOAD, [{"a": 16, "b": 64}], arch="sm_80", options=GateOptions())
        for text in (before, after)
    ]
    cases = float_index_cases(*built, WORKLOAD, {"a": 16, "b": 64}, 0)
    assert len(cases) == count
    assert not cases or {"a": 14, "b": 46} in [case.dims for case in cases]
