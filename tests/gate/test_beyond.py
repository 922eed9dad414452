"""Sizes beyond the callers': a block's number in 16 bits is a condition on the extent."""

import pytest

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.workload import parse_workload

KERNEL = """__global__ void scaled(float *y, const float *x, int n) {
    INDEX
    if (i < n) y[i] = 2.0f * x[i] + 1.0f;
}
"""
WORKLOAD = """
kernel = "scaled"
language = "cuda"
dims = { n = [40, 100] }
profile_dims = [{ n = 5000 }]
args = [
  { name = "y", kind = "output", dtype = "float32", shape = ["n"] },
  { name = "x", kind = "input", dtype = "float32", shape = ["n"] },
  { name = "n", kind = "scalar", dtype = "int32", value = "n" },
]
launch = { grid = ["ceil_div(n, 32)"], block = [32] }
"""


@pytest.mark.parametrize(
    ("index", "needed"),
    [
        ("short b = blockIdx.x; int i = b * 32 + threadIdx.x;", ["n <= 1048576"]),
        ("int i = (blockIdx.x & 32767) * 32 + threadIdx.x;", ["n <= 1048576"]),
        ("int i = (unsigned short)blockIdx.x * 32 + threadIdx.x;", ["n <= 2097152"]),
        pytest.param(
            "int i = (int)((float)blockIdx.x * 32.0f + threadIdx.x);",
            ["n <= 16777216"],
            marks=pytest.mark.long,
        ),
        ("int b = blockIdx.x, i = ((b & 255) | (b >> 8 << 8)) * 32 + threadIdx.x;", []),
    ],
    ids=["with a sign", "15 bits", "without a sign", "a float", "all of it in two parts"],
)
def test_blocks_beyond_the_callers_sizes_are_run_where_few_bits_of_their_number_are_kept(index, needed):
    texts = ("int i = blockIdx.x * 32 + threadIdx.x;", index)
    programs = (Program("cuda", KERNEL.replace("INDEX", t), "scaled", name="scaled.cu") for t in texts)
    judged = judge(
        *programs, parse_workload(WORKLOAD), device="emulated", options=GateOptions(seed=3, algebra_seconds=0)
    )
    checked = judged.stage("check")
    assert checked.status == "pass" and [c["expr"] for c in checked.details["conditions"]] == needed
