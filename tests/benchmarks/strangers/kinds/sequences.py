# ruff: noqa: E501
"""Scans, sorts, convolutions along a row and rotations of pairs."""

from ..model import Ground, Pair, workload_of

ROWS = [("y", "output", "float32", "N,C"), ("x", "input", "float32", "N,C"), ("C", "scalar", "int32", "C")]
SCAN = Ground(
    "scan",
    """__global__ void scan(float *y, const float *x, int C) {
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (int c = 0; c < C; c++) {
            sum += x[(size_t)blockIdx.x * C + c];
            y[(size_t)blockIdx.x * C + c] = sum;
        }
    }
}
""",
    workload_of("scan", {"N": [1, 3], "C": [50, 300]}, ROWS, "N", 128, {"N": 16, "C": 2048}),
)
TILED_SCAN = """__global__ void scan(float *y, const float *x, int C) {
    __shared__ float part[2][128];
    int t = threadIdx.x;
    float carry = 0.0f;
    for (int base = 0; base < C; base += 128) {
        int c = base + t;
        int now = 0;
        part[0][t] = c < C ? x[(size_t)blockIdx.x * C + c] : 0.0f;
        __syncthreads();
        for (int k = 1; k < 128; k *= 2) {
            part[!now][t] = part[now][t] + (t >= k ? part[now][t - k] : 0.0f);
            now = !now;
            STEP
        }
        if (c < C) y[(size_t)blockIdx.x * C + c] = carry + part[now][t];
        CARRY
        __syncthreads();
    }
}
"""


def tiled_scan(step: str = "__syncthreads();", carry: str = "carry += part[now][127];") -> str:
    return TILED_SCAN.replace("STEP", step).replace("CARRY", carry)


SORT = Ground(
    "sorted",
    """__global__ void sorted(int *y, const int *x, int C) {
    const int *row = x + (size_t)blockIdx.x * C;
    int t = threadIdx.x;
    if (t < C) {
        int place = 0;
        for (int c = 0; c < C; c++) place += row[c] < row[t] || (row[c] == row[t] && c < t);
        y[(size_t)blockIdx.x * C + place] = row[t];
    }
}
""",
    workload_of("sorted", {"N": [1, 4], "C": [17, 64]}, [
        ("y", "output", "int32", "N,C"), ("x", "input", "int32", "N,C", "integers"), ("C", "scalar", "int32", "C")],
        "N", 64, {"N": 512, "C": 64}).replace("[dims]", 'promises = ["C <= 64"]\n[dims]', 1),
)  # fmt: skip
BITONIC = """__global__ void sorted(int *y, const int *x, int C) {
    __shared__ int held[64];
    int t = threadIdx.x;
    held[t] = t < C ? x[(size_t)blockIdx.x * C + t] : LAST;
    __syncthreads();
    for (int k = 2; k <= 64; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            int other = t ^ j;
            int mine = held[t], theirs = held[other];
            bool low = (t < other) == ((t & k) == 0);
            READ
            held[t] = low ? min(mine, theirs) : max(mine, theirs);
            WRITTEN
        }
    if (t < C) y[(size_t)blockIdx.x * C + t] = held[t];
}
"""


def bitonic(
    last: str = "2147483647", read: str = "__syncthreads();", written: str = "__syncthreads();"
) -> str:
    return BITONIC.replace("LAST", last).replace("READ", read).replace("WRITTEN", written)


CAUSAL = Ground(
    "causal",
    """__global__ void causal(float *y, const float *x, const float *w, int N, int T) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N * T) return;
    int t = i % T;
    float sum = 0.0f;
    for (int k = 0; k < 4; k++)
        if (t - k >= 0) sum += w[k] * x[i - k];
    y[i] = sum;
}
""",
    workload_of("causal", {"N": [1, 3], "T": [20, 130]}, [
        ("y", "output", "float32", "N,T"), ("x", "input", "float32", "N,T"), ("w", "input", "float32", "4"),
        ("N", "scalar", "int32", "N"), ("T", "scalar", "int32", "T")],
        "ceil_div(N * T, 128)", 128, {"N": 64, "T": 2048}),
)  # fmt: skip
ROPE = Ground(
    "rope",
    """__global__ void rope(float *x, const float *table, int T, int D) {
    int t = blockIdx.x;
    int half = D / 2;
    for (int i = threadIdx.x; i < half; i += blockDim.x) {
        float c = table[t * D + i], s = table[t * D + half + i];
        float a = x[t * D + i], b = x[t * D + half + i];
        x[t * D + i] = a * c - b * s;
        x[t * D + half + i] = b * c + a * s;
    }
}
""",
    workload_of("rope", {"T": [1, 9], "D": [8, 64]}, [
        ("x", "inout", "float32", "T,D"), ("table", "input", "float32", "T,D"),
        ("T", "scalar", "int32", "T"), ("D", "scalar", "int32", "D")],
        "T", 32, {"T": 2048, "D": 128}).replace("[dims]", 'promises = ["D % 2 == 0"]\n[dims]', 1),
)  # fmt: skip
ROPE_BY_ELEMENT = """__global__ void rope(float *x, const float *table, int T, int D) {
    int t = blockIdx.x, half = D / 2;
    for (int base = 0; base < D; base += blockDim.x) {
        int d = base + threadIdx.x;
        float v = 0.0f;
        if (d < D) {
            int i = d % half;
            float c = table[t * D + i], s = table[t * D + half + i];
            v = d < half ? x[t * D + d] * c - x[t * D + d + half] * s : x[t * D + d] * c + x[t * D + d - half] * s;
        }
        __syncthreads();
        if (d < D) x[t * D + d] = v;
        __syncthreads();
    }
}
"""
PAIRS = (
    Pair("a scan's step without a barrier", "race", SCAN, tiled_scan(step="if (k > 16) __syncthreads();"), tiled_scan()),
    Pair("the carry is lost after eight tiles", "cheat", SCAN, tiled_scan(carry="carry = base == 896 ? 0.0f : carry + part[now][127];"), tiled_scan(carry="carry = carry + part[now][127];")),
    Pair("padding that values can exceed", "values", SORT, bitonic(last="1 << 30"), bitonic()),
    Pair("in-warp exchanges without a barrier", "memory order", SORT, bitonic(read="if (j >= 32) __syncthreads();", written="if (j >= 32) __syncthreads();"), bitonic(read="__syncthreads(); ")),
    Pair("the row before leaks in", "values", CAUSAL, (("if (t - k >= 0)", "if (i - k >= 0)"),), (("if (t - k >= 0)", "if (t >= k)"),)),
    Pair("a halo that is one too short", "tail", CAUSAL, (("if (t - k >= 0)", "if (t - k >= 0 && !(k == 3 && t % 512 < 1))"),), (("if (t - k >= 0)", "if (t - k >= 0 && !(k == 4 && t % 512 < 1))"),)),
    Pair("a rotation that reads what it wrote", "race", ROPE, (("x[t * D + half + i] = b * c + a * s", "x[t * D + half + i] = b * c + x[t * D + i] * s"),), (("x[t * D + half + i] = b * c + a * s", "x[t * D + half + i] = a * s + b * c"),)),
    Pair("a rotation by element across warps' turns", "race", ROPE, ROPE_BY_ELEMENT, (("float a = x[t * D + i], b = x[t * D + half + i];", "float b = x[t * D + half + i], a = x[t * D + i];"),)),
)  # fmt: skip
