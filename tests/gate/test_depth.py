"""How many terms sums have at sizes that are far from those that were measured."""

import pytest

from kernel_gate.building import build_program
from kernel_gate.program import Program
from kernel_gate.stages.depth import Depths
from kernel_gate.workload import parse_workload

WORKLOAD = """kernel = "forms"
language = "cuda"
dims = { N = [DIMS_N], D = [DIMS_D] }
args = [
    { name = "out", kind = "output", dtype = "float32", shape = ["N"] },
    { name = "x", kind = "input", dtype = "float32", shape = ["N", "D"] },
    { name = "p", kind = "input", dtype = "float32", shape = ["D", "D"] },
    { name = "N", kind = "scalar", dtype = "int32", value = "N" },
    { name = "D", kind = "scalar", dtype = "int32", value = "D" },
]
launch = { grid = ["ceil_div(N, 32)"], block = [32] }
"""
HEAD = """extern "C" __global__ void forms(float* out, const float* x, const float* p, int N, int D) {
    int n = blockIdx.x * 32 + threadIdx.x;
    if (n >= N) return;
    float s = 0;
"""
FORM = (
    "for (int i = 0; i < D; ++i) for (int j = 0; j < D; ++j) s += x[n * D + i] * p[i * D + j] * x[n * D + j];"
)
ROW = "for (int i = 0; i < D; ++i) s += x[n * D + i] * p[i];"
ONE = "s = x[n * D] * p[0];"


@pytest.mark.parametrize(("dims_n", "dims_d"), [("64", "32"), ("32, 64", "16, 32")])
@pytest.mark.parametrize(("body", "terms"), [(FORM, 500 * 500), (ROW, 500), (ONE, 1)])
def test_terms_are_carried_by_how_they_grow_with_each_dim(body: str, terms: int, dims_n: str, dims_d: str):
    workload = parse_workload(WORKLOAD.replace("DIMS_N", dims_n).replace("DIMS_D", dims_d))
    program = Program("cuda", f"{HEAD}{body} out[n] = s; }}", "forms", name="baseline")
    shapes = [{"N": 64, "D": 32}]
    depths = Depths(build_program(program, workload, shapes, arch="sm_80"), workload)
    assert terms <= depths.of({"N": 100_000, "D": 500}) <= 1.1 * terms + 2
