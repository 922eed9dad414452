"""Plain kernels, each with the one or two sizes that its workload names."""

from __future__ import annotations

from ..strangers.model import Ground, workload_of

FLAT = [("y", "output", "float32", "n"), ("x", "input", "float32", "n"), ("n", "scalar", "int32", "n")]
ROWS = [("y", "output", "float32", "N,C"), ("x", "input", "float32", "N,C"), ("C", "scalar", "int32", "C")]
SUMS = [("y", "output", "float32", "N"), *ROWS[1:]]
MAP_BODY = """__global__ void apply(float *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { float v = x[i]; y[i] = VALUE; }
}
"""


def apply(value: str = "2.0f * v + 1.0f", n: int = 99) -> Ground:
    """A map over n elements."""
    text = workload_of("apply", {"n": [n]}, FLAT, "ceil_div(n, 64)", 64, {"n": n})
    return Ground("apply", MAP_BODY.replace("VALUE", value), text)


def integers(value: str, values: str) -> Ground:
    """A map over n integers."""
    args = [
        ("y", "output", "int32", "n"), ("x", "input", "int32", "n", values), ("n", "scalar", "int32", "n")
    ]  # fmt: skip
    source = MAP_BODY.replace("VALUE", value).replace("float ", "int ")
    return Ground(
        "apply", source, workload_of("apply", {"n": [128]}, args, "ceil_div(n, 64)", 64, {"n": 128})
    )


def by_row(rows: int = 3, columns: int = 50, block: int = 32) -> Ground:
    """A map over rows, a block to each."""
    source = """__global__ void by_row(float *y, const float *x, int C) {
    int r = blockIdx.x;
    for (int c = threadIdx.x; c < C; c += blockDim.x) y[r * C + c] = 3.0f * x[r * C + c];
}
"""
    dims = {"N": [rows], "C": [columns]}
    return Ground("by_row", source, workload_of("by_row", dims, ROWS, "N", block, {"N": rows, "C": columns}))


def row_sum(columns: int = 50, block: int = 64) -> Ground:
    """Sums of rows, a block to each, in shared memory."""
    source = """__global__ void row_sum(float *y, const float *x, int C) {
    __shared__ float part[1024];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int c = t; c < C; c += blockDim.x) sum += x[blockIdx.x * C + c];
    part[t] = sum;
    __syncthreads();
    if (t == 0) {
        for (int k = 1; k < blockDim.x; k++) sum += part[k];
        y[blockIdx.x] = sum;
    }
}
"""
    dims = {"N": [3], "C": [columns]}
    return Ground("row_sum", source, workload_of("row_sum", dims, SUMS, "N", block, {"N": 3, "C": columns}))


def turned(m: int = 12, n: int = 20) -> Ground:
    """A transposition by one block."""
    source = """__global__ void turned(float *y, const float *x, int M, int N) {
    for (int i = threadIdx.x; i < M * N; i += blockDim.x) y[i % N * M + i / N] = x[i];
}
"""
    args = [
        ("y", "output", "float32", "N,M"), ("x", "input", "float32", "M,N"),
        ("M", "scalar", "int32", "M"), ("N", "scalar", "int32", "N")]  # fmt: skip
    return Ground(
        "turned", source, workload_of("turned", {"M": [m], "N": [n]}, args, "1", 64, {"M": m, "N": n})
    )


def grid_of(h: int = 9, w: int = 14) -> Ground:
    """Sums of horizontal neighbours in an image."""
    source = """__global__ void beside(float *y, const float *x, int H, int W) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= H * W) return;
    int h = i / W, w = i % W;
    float sum = x[h * W + w];
    if (w + 1 < W) sum += 2.0f * x[h * W + w + 1];
    if (h + 1 < H) sum += 3.0f * x[h * W + w + W];
    y[i] = sum;
}
"""
    args = [
        ("y", "output", "float32", "H,W"), ("x", "input", "float32", "H,W"),
        ("H", "scalar", "int32", "H"), ("W", "scalar", "int32", "W")]  # fmt: skip
    text = workload_of("beside", {"H": [h], "W": [w]}, args, "ceil_div(H * W, 64)", 64, {"H": h, "W": w})
    return Ground("beside", source, text)


def picked() -> Ground:
    """Rows of a table by index."""
    source = """__global__ void picked(float *y, const float *table, const int *index, int N, int C) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N * C) { int k = index[i / C]; y[i] = table[k * C + i % C]; }
}
"""
    args = [
        ("y", "output", "float32", "N,C"), ("table", "input", "float32", "200,C"),
        ("index", "input", "int32", "N", "integers(0, 200)"),
        ("N", "scalar", "int32", "N"), ("C", "scalar", "int32", "C")]  # fmt: skip
    text = workload_of("picked", {"N": [60], "C": [9]}, args, "ceil_div(N * C, 64)", 64, {"N": 60, "C": 9})
    return Ground("picked", source, text)


def grouped(channels: int = 16, groups: int = 3) -> Ground:
    """Channels scaled by the number of their group."""
    source = """__global__ void grouped(float *y, const float *x, const float *s, int C, int G) {
    for (int c = threadIdx.x; c < C; c += blockDim.x) y[c] = x[c] * s[c * G / C];
}
"""
    args = [
        ("y", "output", "float32", "C"), ("x", "input", "float32", "C"), ("s", "input", "float32", "G"),
        ("C", "scalar", "int32", "C"), ("G", "scalar", "int32", "G")]  # fmt: skip
    dims = {"C": [channels], "G": [groups]}
    text = workload_of("grouped", dims, args, "1", 32, {"C": channels, "G": groups})
    return Ground("grouped", source, text.replace("[dims]", 'promises = ["G <= C"]\n[dims]', 1))


def table_from(length: int = 30, start: int = 20, times: int = 15) -> Ground:
    """Positions from a start on, in a table of a length; none beyond it."""
    source = """__global__ void from_start(float *y, const float *x, const float *table, int T, int S, int L) {
    int t = threadIdx.x;
    if (t < T) y[t] = S + t < L ? x[t] * table[S + t] : 0.0f;
}
"""
    args = [
        ("y", "output", "float32", "T"), ("x", "input", "float32", "T"), ("table", "input", "float32", "L"),
        ("T", "scalar", "int32", "T"), ("S", "scalar", "int32", "S"), ("L", "scalar", "int32", "L")]  # fmt: skip
    dims = {"T": [times], "S": [start], "L": [length]}
    text = workload_of("from_start", dims, args, "1", 256, {"T": times, "S": start, "L": length})
    return Ground("from_start", source, text.replace("[dims]", 'promises = ["T <= 256"]\n[dims]', 1))


HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"


def triton_rows(columns: int = 100, stride: str = "C", block: str = "64") -> Ground:
    """Rows that lie apart by a stride, in Triton."""
    source = f"""{HEAD}def rows_of(y, x, sx, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for first in range(0, C, BLOCK):
        i = first + tl.arange(0, BLOCK)
        v = tl.load(x + row * sx + i, mask=i < C, other=0.0)
        tl.store(y + row * C + i, v * 2.0 + 1.0, mask=i < C)
"""
    args = [
        ("y", "output", "float32", "N,C"), ("x", "input", "float32", f"N,{stride}"),
        ("sx", "scalar", "int32", stride), ("C", "scalar", "int32", "C")]  # fmt: skip
    dims = {"N": [3], "C": [columns], **({"S": [columns + 7]} if stride == "S" else {})}
    text = workload_of("rows_of", dims, args, "N", 0, {name: extents[0] for name, extents in dims.items()})
    text = text.replace('"cuda"', '"triton"').replace(
        "block = [0]", f'constexpr = {{ BLOCK = "{block}" }}\nnum_warps = 1'
    )
    if stride == "S":
        text = text.replace("[dims]", 'promises = ["C <= S"]\n[dims]', 1)
    return Ground("rows_of", source, text, "triton")
