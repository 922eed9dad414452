"""Programs and a workload that several tests judge: y = 2 x + 1 over N rows of C."""

from kernel_gate.program import Program
from kernel_gate.workload import Workload, parse_workload

WORKLOAD = """
kernel = "affine"
language = "cuda"

[dims]
N = [1, 3]
C = [32, 70]

[[args]]
name = "y"
kind = "output"
dtype = "float32"
shape = ["N", "C"]
[[args]]
name = "x"
kind = "input"
dtype = "float32"
shape = ["N", "C"]
[[args]]
name = "n"
kind = "scalar"
dtype = "int32"
value = "N * C"

[launch]
grid = ["ceil_div(N * C, 64)"]
block = [64]
"""

AFFINE = """__global__ void affine(float *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i] + 1.0f;
}
"""


def affine(old: str = "", new: str = "", name: str = "affine.cu", **rest: object) -> Program:
    """The kernel with a piece of its text replaced."""
    assert old in AFFINE
    return Program("cuda", AFFINE.replace(old, new, 1) if old else AFFINE, "affine", name=name, **rest)  # type: ignore[arg-type]


def workload(extra: str = "", **replaced: str) -> Workload:
    """The workload, with text appended or replaced (`old__new` pairs are given as old=new)."""
    text = WORKLOAD + extra
    for old, new in replaced.items():
        text = text.replace(old, new)
    return parse_workload(text)
