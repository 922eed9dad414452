"""The check on kernels of every element type: inputs, outputs, inout and scalars; what was not written is said."""

import pytest

from kernel_gate.dtype_names import EXACT_NAMES, FLOAT_NAMES
from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.verdict import StageStatus, Verdict
from kernel_gate.workload import parse_workload

C_TYPES = {
    "float64": "double", "float32": "float", "float16": "__half", "bfloat16": "__nv_bfloat16",
    "float8_e4m3fn": "__nv_fp8_e4m3", "float8_e5m2": "__nv_fp8_e5m2",
    "int64": "long long", "int32": "int", "int16": "short", "int8": "signed char",
    "uint64": "unsigned long long", "uint32": "unsigned", "uint16": "unsigned short", "uint8": "unsigned char",
    "bool": "bool",
}  # fmt: skip
HEADERS = {"__half": "cuda_fp16.h", "__nv_b": "cuda_bf16.h", "__nv_f": "cuda_fp8.h"}

WORKLOAD = """
kernel = "select"
language = "cuda"
[dims]
n = [70]
[[args]]
name = "y"
kind = "output"
dtype = "{dtype}"
shape = ["n"]
[[args]]
name = "x"
kind = "input"
dtype = "{dtype}"
shape = ["n"]
values = "{values}"
[[args]]
name = "z"
kind = "inout"
dtype = "{dtype}"
shape = ["n"]
values = "{values}"
[[args]]
name = "s"
kind = "scalar"
dtype = "{dtype}"
value = 1
[[args]]
name = "n"
kind = "scalar"
dtype = "int32"
value = "n"
[launch]
grid = ["ceil_div(n, 64)"]
block = [64]
"""

SOURCE = """{include}
__global__ void select({type} *y, const {type} *x, {type} *z, {type} s, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {{
        {type} held = z[i];
        z[i] = i % 5 == 0 ? s : x[i];
        if ({written}) y[i] = held;
    }}
}}
"""


def verdict(dtype: str, written: str = "true") -> Verdict:
    kind = C_TYPES[dtype]
    include = next((f"#include <{h}>" for start, h in HEADERS.items() if kind.startswith(start)), "")
    values = "normal" if dtype in FLOAT_NAMES else "integers"
    before, after = (
        Program("cuda", SOURCE.format(include=include, type=kind, written=w), "select", name="select.cu")
        for w in ("true", written)
    )
    w = parse_workload(WORKLOAD.format(dtype=dtype, values=values))
    return judge(before, after, w, device="emulated", options=GateOptions(hidden=False))


@pytest.mark.parametrize("dtype", [*FLOAT_NAMES, *EXACT_NAMES])
def test_a_kernel_of_every_type_agrees_with_itself(dtype):
    v = verdict(dtype)
    assert v.stage("check").status is StageStatus.PASS, v.reason


@pytest.mark.parametrize("dtype", [*FLOAT_NAMES, *EXACT_NAMES])
def test_an_element_that_is_not_written_is_told_whatever_its_type(dtype):
    v = verdict(dtype, written="i != 69")
    assert v.stage("check").status is StageStatus.FAIL
    assert v.reason.startswith("Rejected by check: y[69] = ") and "(not written)" in v.reason
