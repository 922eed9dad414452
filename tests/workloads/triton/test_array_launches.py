"""Kernels in strings of Python that CuPy or PyCUDA launches: the host code around them tells how they are run."""

from pathlib import Path

import pytest

from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import target_of

SAXPY = """
__global__ void saxpy(const float *x, float *y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
"""
CUPY = f"""
import cupy as cp
saxpy = cp.RawKernel(r'''extern "C" {SAXPY}''', 'saxpy')
def run(x, y, a):
    saxpy((-(-x.size // 128),), (128,), (x, y, cp.float32(a), x.size))
def test_run():
    run(cp.random.rand(5000).astype(cp.float32), cp.ones(5000, cp.float32), 1.5)
"""
MODULE = f"""
import cupy
class Axpy:
    def __init__(self):
        self.module = cupy.RawModule(code='''extern "C" {SAXPY}''')
        self.kernel = self.module.get_function("saxpy")
    def __call__(self, x, y):
        n = len(x)
        args = (x, y, 2.0, n)
        self.kernel(grid=((n + 127) // 128,), block=(128,), args=args, shared_mem=4 * 128)
def benchmark():
    rng = cupy.random.default_rng(3)
    Axpy()(rng.standard_normal(5000, dtype=cupy.float32), cupy.zeros(5000, dtype=cupy.float32))
"""
PYCUDA = f"""
import numpy as np
import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule
axpy = SourceModule(\"\"\"{SAXPY}\"\"\").get_function("saxpy")
n = 5000
x = np.random.randn(n).astype(np.float32)
"""
BY_BYTES = f"""{PYCUDA}
y = drv.mem_alloc(x.nbytes)
drv.memcpy_htod(y, np.zeros_like(x))
axpy(drv.In(x), y, np.float32(2), np.int32(n), block=(128, 1, 1), grid=((n + 127) // 128, 1))
"""
COUNTED = f"""{PYCUDA}
y = drv.mem_alloc(n * 4)
axpy(drv.In(x), y, np.float32(2), np.int32(n), block=(128, 1, 1), grid=((n + 127) // 128, 1))
"""
PREPARED = f"""{PYCUDA}
axpy.prepare("PPfi")
y = gpuarray.zeros(n, np.float32)
axpy.prepared_call(((n + 127) // 128, 1), (128, 1, 1), gpuarray.to_gpu(x).gpudata, y.gpudata, np.float32(2), n)
"""


def drafted(tmp_path: Path, text: str, kernel: str = "saxpy"):
    path = tmp_path / "axpy.py"
    path.write_text(text)
    return draft_of(target_of(path, kernel), path, measure=False)


@pytest.mark.parametrize(
    "text",
    [CUPY, MODULE, BY_BYTES, COUNTED, PREPARED],
    ids=["RawKernel", "RawModule in a class", "memory by bytes", "counted bytes", "prepared"],
)
def test_a_launch_is_read(tmp_path: Path, text: str):
    draft = drafted(tmp_path, text)
    assert not draft.missing, draft.text
    workload = draft.workload()
    [dims] = workload.profile_dims
    assert list(dims.values()) == [5000]
    x, y, a, n = workload.args
    assert [x.kind, y.kind, a.kind, n.kind] == ["input", "inout", "scalar", "scalar"]
    assert [x.dtype, y.dtype, a.dtype, n.dtype] == ["float32", "float32", "float32", "int32"]
    assert workload.extents(x, dims) == workload.extents(y, dims) == (5000,)
    assert workload.scalars(dims)["n"] == 5000
    bound = draft.block[:1], draft.grid[0]
    assert bound[0] == ("128",)
    assert [eval(bound[1], {}, {name: size}) for name in dims for size in (5000, 129)] == [40, 2]


def test_shared_bytes_and_values_are_those_of_the_launch(tmp_path: Path):
    draft = drafted(tmp_path, MODULE)
    assert draft.shared_bytes == "512"
    assert next(a for a in draft.arguments if a.name == "a").value == "2.0"


TWO = f"""
import cupy as cp
module = cp.RawModule(code=r'''extern "C" {SAXPY}
extern "C" __global__ void scale(float *y, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] *= 2.0f;
}}''')
def first(x, y):
    kernel = module.get_function("saxpy")
    kernel((x.size // 64,), (64,), (x, y, 1.0, x.size))
def second(y):
    kernel = module.get_function("scale")
    kernel((y.size // 32,), (32,), (y, y.size))
def test_both():
    x, y = cp.zeros(4096, "f"), cp.zeros(4096, "f")
    first(x, y)
    second(y)
"""


def test_one_name_in_two_functions_is_two_kernels(tmp_path: Path):
    assert drafted(tmp_path, TWO).block == ("64",)
    assert drafted(tmp_path, TWO, "scale").block == ("32",)


def test_a_kernel_whose_name_is_not_written_out_is_not_guessed(tmp_path: Path):
    text = CUPY.replace("'saxpy')", "NAME)")
    draft = drafted(tmp_path, text)
    assert draft.missing and not draft.grid


def test_a_test_in_another_file_tells_sizes(tmp_path: Path):
    kernel, _, test = CUPY.partition("def test_run")
    (tmp_path / "test_axpy.py").write_text(f"import cupy as cp\nfrom axpy import run\ndef test_run{test}")
    draft = drafted(tmp_path, kernel)
    assert not draft.missing, draft.text
    assert list(draft.dims.values()) == [5000]
    assert "test_run in test_axpy.py" in draft.way


CASES = """
import pytest
@pytest.mark.parametrize("rows", [3, 40, 7, 12])
@pytest.mark.parametrize("dtype", ["f", "d"])
@pytest.mark.parametrize("columns", [128])
def test_run(rows, columns, dtype):
    run(cp.ones((rows, columns), dtype), cp.ones((rows, columns), dtype), 1.5)
"""


def test_a_test_with_several_sizes_tells_several_that_are_timed(tmp_path: Path):
    draft = drafted(tmp_path, CUPY.partition("def test_run")[0] + CASES)
    assert not draft.missing, draft.text
    assert [d["rows"] for d in draft.workload().profile_dims] == [40, 3, 7]
    assert {d["columns"] for d in draft.workload().profile_dims} == {128}
