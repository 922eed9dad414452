"""Kernels from 5 µs to 5 ms on an H200, bound by different things; some can be lengthened by a known share."""

from __future__ import annotations

from dataclasses import dataclass

from kernel_gate.program import LaunchSpec, Program
from kernel_gate.workload import Workload, parse_workload

FMA = """
extern "C" __global__ void kernel(float *y, const float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a = x[i];
    #pragma unroll 1
    for (int k = 0; k < WORK; k++) a = fmaf(a, 0.999f, 0.5f);
    y[i] = a;
}
"""
STREAM = """
extern "C" __global__ void kernel(float4 *y, const float4 *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 v = x[i];
    y[i] = make_float4(2.0f * v.x, 2.0f * v.y, 2.0f * v.z, 2.0f * v.w);
}
"""
ROWS = """
extern "C" __global__ void kernel(float *y, const float *x) {
    __shared__ float partial[8];
    const float *row = x + (size_t)(blockIdx.x % ROWS) * WIDTH;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < WIDTH; i += 256) sum += row[i];
    for (int o = 16; o; o >>= 1) sum += __shfl_down_sync(~0u, sum, o);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        sum = 0.0f;
        for (int i = 0; i < 8; i++) sum += partial[i];
        y[blockIdx.x % ROWS] = sum;
    }
}
"""
TRANSPOSE = """
extern "C" __global__ void kernel(float *y, const float *x) {
    int c = blockIdx.x * 32 + threadIdx.x;
    for (int j = 0; j < 32; j += 8) {
        int r = blockIdx.y * 32 + threadIdx.y + j;
        y[(size_t)c * SIDE + r] = x[(size_t)r * SIDE + c];
    }
}
"""
MATMUL = """
extern "C" __global__ void kernel(float *c, const float *a, const float *b) {
    __shared__ float s[32][33], t[32][33];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 32 + y, col = blockIdx.x * 32 + x;
    float sum = 0.0f;
    for (int tile = 0; tile < WORK; tile++) {
        int k = tile % (DEPTH / 32) * 32;
        s[y][x] = a[(size_t)row * DEPTH + k + x];
        t[y][x] = b[(size_t)(k + y) * SIDE + col];
        __syncthreads();
        for (int j = 0; j < 32; j++) sum = fmaf(s[y][j], t[j][x], sum);
        __syncthreads();
    }
    c[(size_t)row * SIDE + col] = sum;
}
"""
HISTOGRAM = """
extern "C" __global__ void kernel(int *bins, const int *x, int n) {
    __shared__ int local[256];
    local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&local[x[i]], 1);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}
"""


@dataclass(frozen=True)
class TimedKernel:
    """A kernel at one size, and what lengthens it."""

    name: str
    source: str
    workload: str
    defines: dict[str, str]
    grid: tuple[str, ...]
    block: tuple[str, ...]
    work: int = 0
    """WORK in the source or the grid, 0 when it has none: time grows with it almost in proportion."""

    def program(self, work: int | None = None) -> Program:
        """The kernel with this much work."""
        amount = str(work or self.work)
        defines = {**self.defines, **({"WORK": amount} if self.work else {})}
        launch = LaunchSpec(tuple(amount if g == "WORK" else g for g in self.grid), self.block)
        return Program("cuda", self.source, "kernel", launch, defines=defines, name=f"{self.name}.cu")

    def judged_by(self) -> Workload:
        """Its workload."""
        return parse_workload(
            f'kernel = "kernel"\nlanguage = "cuda"\n{self.workload}[launch]\ngrid = ["1"]\n'
        )


def _argument(name: str, kind: str, shape: str, dtype: str = "float32", values: str = "uniform") -> str:
    drawn = f'values = "{values}"\n' if kind in {"input", "inout"} else ""
    return f'[[args]]\nname = "{name}"\nkind = "{kind}"\ndtype = "{dtype}"\nshape = {shape}\n{drawn}'


def _dims(n: int) -> str:
    return f"dims = {{ N = [{n}] }}\nprofile_dims = [{{ N = {n} }}]\n"


def fma(work: int, blocks: int = 1056) -> TimedKernel:
    """Bound by arithmetic."""
    text = _dims(blocks * 256) + _argument("y", "output", '["N"]') + _argument("x", "input", '["N"]')
    return TimedKernel(f"fma {work}", FMA, text, {}, ("N / 256",), ("256",), work)


def stream(mebibytes: int) -> TimedKernel:
    """Bound by memory; reads and writes so many MiB each."""
    n = mebibytes << 18
    text = _dims(n) + _argument("y", "output", '["N"]') + _argument("x", "input", '["N"]')
    return TimedKernel(f"stream {mebibytes} MiB", STREAM, text, {}, ("N / 1024",), ("256",))


def rows(count: int, width: int) -> TimedKernel:
    """Sums of rows, bound by memory; WORK is the number of blocks, of which the last repeat the first rows."""
    text = _dims(count) + _argument("y", "output", '["N"]') + _argument("x", "input", f'["N", {width}]')
    defines = {"ROWS": str(count), "WIDTH": str(width)}
    return TimedKernel(f"rows {count}×{width}", ROWS, text, defines, ("WORK",), ("256",), count)


def transpose(side: int) -> TimedKernel:
    """Bound by uncoalesced stores."""
    text = _dims(side) + _argument("y", "output", '["N", "N"]') + _argument("x", "input", '["N", "N"]')
    return TimedKernel(
        f"transpose {side}", TRANSPOSE, text, {"SIDE": str(side)}, ("N / 32", "N / 32"), ("32", "8")
    )


def matmul(side: int, depth: int) -> TimedKernel:
    """Bound by shared memory and latency; WORK is the number of tiles along the sum."""
    text = (
        _dims(side)
        + _argument("c", "output", '["N", "N"]')
        + _argument("a", "input", f'["N", {depth}]')
        + _argument("b", "input", f'[{depth}, "N"]')
    )
    defines = {"SIDE": str(side), "DEPTH": str(depth)}
    grid = ("N / 32", "N / 32")
    return TimedKernel(f"matmul {side}×{depth}", MATMUL, text, defines, grid, ("32", "32"), depth // 32)


def histogram(mebibytes: int) -> TimedKernel:
    """Bound by atomics, and in place."""
    n = mebibytes << 18
    text = (
        _dims(n)
        + _argument("bins", "inout", "[256]", "int32", "integers(0, 9)")
        + _argument("x", "input", '["N"]', "int32", "integers(0, 256)")
        + '[[args]]\nname = "n"\nkind = "scalar"\ndtype = "int32"\nvalue = "N"\n'
    )
    return TimedKernel(f"histogram {mebibytes} MiB", HISTOGRAM, text, {}, ("528",), ("256",))


IDENTICAL = (
    fma(60), fma(130), fma(500), fma(5000), fma(120000), stream(8), stream(32), stream(128), rows(4096, 1024),
    transpose(512), transpose(2048), matmul(256, 256), matmul(1024, 1024), matmul(2048, 4096), histogram(16),
)  # fmt: skip
"""Identical pairs are made of these."""
LENGTHENED = (fma(130), fma(500), fma(5000), fma(25000), rows(32768, 1024))
"""Pairs of known difference are made of these: their time is linear in WORK."""
