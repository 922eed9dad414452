"""Answers that are kept in device globals: by a key that data share which are nearly alike."""

import pytest

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.workload import parse_workload

PLAIN = """__global__ void nearby(float *y, const float *x, int C) {
    const float *r = x + blockIdx.x * C;
    for (int c = threadIdx.x; c < C; c += 32) y[blockIdx.x * C + c] = r[c] + 0.5f * r[c ? c - 1 : 0];
}
"""
KEPT = """__device__ unsigned keys[64]; __device__ float answers[64][128];
__global__ void nearby(float *y, const float *x, int C) {
    const float *r = x + blockIdx.x * C; unsigned key = 7u + C;
    for (int c = 0; c < C; c++) KEY;
    bool same = blockIdx.x < 64 && C <= 128 && keys[blockIdx.x] == key;
    for (int c = threadIdx.x; c < C; c += 32) {
        float v = same ? answers[blockIdx.x][c] : r[c] + 0.5f * r[c ? c - 1 : 0];
        if (blockIdx.x < 64 && C <= 128) answers[blockIdx.x][c] = v;
        y[blockIdx.x * C + c] = v;
    }
    __syncwarp();
    if (blockIdx.x < 64 && threadIdx.x == 0) keys[blockIdx.x] = key;
}
"""
WORKLOAD = """
kernel = "nearby"
language = "cuda"
dims = { N = [2, 5], C = [40, 100] }
args = [
  { name = "y", kind = "output", dtype = "float32", shape = ["N", "C"] },
  { name = "x", kind = "input", dtype = "float32", shape = ["N", "C"] },
  { name = "C", kind = "scalar", dtype = "int32", value = "C" },
]
launch = { grid = ["N"], block = [32] }
"""


@pytest.mark.parametrize(
    "key",
    ["if (c % 4 == 0) key = key * 31u + __float_as_uint(r[c])", "key ^= __float_as_uint(r[c])"],
    ids=["of a part", "of any order"],
)
def test_an_answer_that_is_kept_by_a_key_that_other_data_have_is_seen(key: str):
    programs = (Program("cuda", t, "nearby", name="nearby.cu") for t in (PLAIN, KEPT.replace("KEY", key)))
    options = GateOptions(seed=3, algebra_seconds=0, hidden=False)
    judged = judge(*programs, parse_workload(WORKLOAD), device="emulated", options=options)
    assert judged.code == "keeps-state" and "nearly alike" in judged.reason
