"""A Triton kernel that takes tensor descriptors of the host, and its workload."""

DESCRIBED = """
import triton
import triton.language as tl

@triton.jit
def add_one(out, x, N, ROWS: tl.constexpr, ONE: tl.constexpr = 1.0):
    for row in range(0, N, ROWS):
        out.store([tl.program_id(0), row, 0], x.load([tl.program_id(0), row, 0]) + ONE)
"""
DESCRIBED_WORKLOAD = """
kernel = "add_one"
language = "triton"
promises = ["C % 4 == 0"]
dims = { B = [3], N = [5, 16], C = [12] }
args = [
    { name = "out", kind = "output", dtype = "float32", shape = ["B", "N", "C"], descriptor = [1, "ROWS", 16] },
    { name = "x", kind = "input", dtype = "float32", shape = ["B", "N", "C"], descriptor = [1, "ROWS", 16] },
    { name = "N", kind = "scalar", dtype = "int32", value = "N" },
]
launch = { grid = ["B"], constexpr = { ROWS = "8" } }
"""
