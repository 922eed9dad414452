# ruff: noqa: E501
"""Selections and reductions over rows, forwards and backwards."""

from ..model import Ground, Pair, workload_of

TOP = Ground(
    "topk",
    """__global__ void topk(float *y, int *where, const float *x, int N, int C) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= N) return;
    const float *row = x + (size_t)r * C;
    for (int k = 0; k < 4; k++) {
        float most = -INFINITY;
        int at = 0;
        for (int c = 0; c < C; c++) {
            bool taken = false;
            for (int j = 0; j < k; j++) taken = taken || where[r * 4 + j] == c;
            if (!taken && row[c] > most) { most = row[c]; at = c; }
        }
        y[r * 4 + k] = most;
        where[r * 4 + k] = at;
    }
}
""",
    workload_of("topk", {"N": [1, 5], "C": [8, 40]}, [
        ("y", "output", "float32", "N,4"), ("where", "output", "int32", "N,4"), ("x", "input", "float32", "N,C"),
        ("N", "scalar", "int32", "N"), ("C", "scalar", "int32", "C")],
        "ceil_div(N, 32)", 32, {"N": 256, "C": 512}).replace("[dims]", 'promises = ["C >= 4"]\n[dims]', 1),
)  # fmt: skip
LNBWD = Ground(
    "lnbwd",
    """__global__ void lnbwd(float *dx, const float *dy, const float *x, const float *w, int C) {
    __shared__ float a[64], b[64];
    int t = threadIdx.x;
    size_t r = (size_t)blockIdx.x * C;
    float s = 0.0f, q = 0.0f;
    for (int c = t; c < C; c += 64) s += x[r + c];
    a[t] = s;
    __syncthreads();
    for (int k = 32; k > 0; k /= 2) { if (t < k) a[t] += a[t + k]; __syncthreads(); }
    float mean = a[0] / C;
    for (int c = t; c < C; c += 64) q += (x[r + c] - mean) * (x[r + c] - mean);
    b[t] = q;
    __syncthreads();
    for (int k = 32; k > 0; k /= 2) { if (t < k) b[t] += b[t + k]; __syncthreads(); }
    float scale = rsqrtf(b[0] / C + 1e-5f);
    __syncthreads();
    float g = 0.0f, h = 0.0f;
    for (int c = t; c < C; c += 64) {
        float d = dy[r + c] * w[c];
        g += d;
        h += d * (x[r + c] - mean) * scale;
    }
    a[t] = g;
    b[t] = h;
    __syncthreads();
    for (int k = 32; k > 0; k /= 2) { if (t < k) { a[t] += a[t + k]; b[t] += b[t + k]; } __syncthreads(); }
    g = a[0] / C;
    h = b[0] / C;
    for (int c = t; c < C; c += 64)
        dx[r + c] = (dy[r + c] * w[c] - g - (x[r + c] - mean) * scale * h) * scale;
}
""",
    workload_of("lnbwd", {"N": [1, 3], "C": [48, 200]}, [
        ("dx", "output", "float32", "N,C"), ("dy", "input", "float32", "N,C"), ("x", "input", "float32", "N,C"),
        ("w", "input", "float32", "C"), ("C", "scalar", "int32", "C")], "N", 64, {"N": 64, "C": 1536}),
)  # fmt: skip
CACHED = """    __shared__ float row[1024];
    for (int c = t; c < C && c < 1024; c += 64) row[c] = dy[r + c] * w[c];
    __syncthreads();
    for (int c = t; c < C; c += 64) {
        float d = READ;
        g += d;"""
NLL = Ground(
    "nll",
    """__global__ void nll(float *y, const float *logits, const int *label, int N, int C) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= N) return;
    const float *row = logits + (size_t)r * C;
    int k = label[r];
    if (k < 0) { y[r] = 0.0f; return; }
    float most = -INFINITY, sum = 0.0f;
    for (int c = 0; c < C; c++) most = fmaxf(most, row[c]);
    for (int c = 0; c < C; c++) sum += expf(row[c] - most);
    y[r] = logf(sum) + most - row[k];
}
""",
    workload_of("nll", {"N": [3, 70], "C": [5, 33]}, [
        ("y", "output", "float32", "N"), ("logits", "input", "float32", "N,C"),
        ("label", "input", "int32", "N", "integers(-1, C)"),
        ("N", "scalar", "int32", "N"), ("C", "scalar", "int32", "C")],
        "ceil_div(N, 64)", 64, {"N": 1024, "C": 1024}),
)  # fmt: skip
POOL = Ground(
    "pool",
    """__global__ void pool(float *y, const float *x, int H, int W) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= H * W) return;
    int h = i / W, w = i % W;
    float most = -INFINITY;
    for (int a = -1; a <= 1; a++)
        for (int b = -1; b <= 1; b++) {
            int p = h + a, q = w + b;
            if (p >= 0 && p < H && q >= 0 && q < W) most = fmaxf(most, x[p * W + q]);
        }
    y[i] = most;
}
""",
    workload_of("pool", {"H": [5, 18], "W": [7, 18]}, [
        ("y", "output", "float32", "H,W"), ("x", "input", "float32", "H,W"),
        ("H", "scalar", "int32", "H"), ("W", "scalar", "int32", "W")],
        "ceil_div(H * W, 128)", 128, {"H": 512, "W": 512}),
)  # fmt: skip
SPARSE = Ground(
    "sparse",
    """__global__ void sparse(float *y, const float *a, const signed char *used, const float *x, int R, int B) {
    int r = blockIdx.x, t = threadIdx.x;
    __shared__ float part[32];
    float sum = 0.0f;
    for (int b = 0; b < B; b++)
        if (used[(r / 8) * B + b]) sum += a[((size_t)r * B + b) * 32 + t] * x[b * 32 + t];
    part[t] = sum;
    __syncthreads();
    if (t == 0) {
        float all = 0.0f;
        for (int k = 0; k < 32; k++) all += part[k];
        y[r] = all;
    }
}
""",
    workload_of("sparse", {"R": [8, 24], "B": [3, 6]}, [
        ("y", "output", "float32", "R"), ("a", "input", "float32", "R,B,32"),
        ("used", "input", "int8", "R,B", "integers(-1, 2)"),
        ("x", "input", "float32", "B,32"), ("R", "scalar", "int32", "R"), ("B", "scalar", "int32", "B")],
        "R", 32, {"R": 1024, "B": 32}),
)  # fmt: skip
PAIRS = (
    Pair("the last of equal values", "values", TOP, (("row[c] > most)", "row[c] >= most && row[c] > -INFINITY)"),), (("row[c] > most)", "most < row[c])"),)),
    Pair("nothing below minus 1e30 is chosen", "values", TOP, (("most = -INFINITY", "most = -1e30f"),), (("most = -INFINITY", "most = -__int_as_float(0x7f800000)"),), True),
    Pair("a cached row shorter than the row", "uninitialised", LNBWD, (("    for (int c = t; c < C; c += 64) {\n        float d = dy[r + c] * w[c];\n        g += d;", CACHED.replace("READ", "row[c & 1023]")),),
         (("    for (int c = t; c < C; c += 64) {\n        float d = dy[r + c] * w[c];\n        g += d;", CACHED.replace("READ", "c < 1024 ? row[c] : dy[r + c] * w[c]")),)),
    Pair("the mean over whole warps", "tail", LNBWD, (("h = b[0] / C;", "h = b[0] / (C > 1000 ? C & ~1023 : C);"),), (("h = b[0] / C;", "h = b[0] * (1.0f / C);"),), True),
    Pair("two sums and one barrier less", "race", LNBWD, (("float scale = rsqrtf(b[0] / C + 1e-5f);\n    __syncthreads();", "float scale = rsqrtf(b[0] / C + 1e-5f);"),), (("float scale = rsqrtf(b[0] / C + 1e-5f);\n    __syncthreads();", "float scale = 1.0f / sqrtf(b[0] / C + 1e-5f);\n    __syncthreads();"),)),
    Pair("the label is read before it is asked", "bounds", NLL, (("    if (k < 0) { y[r] = 0.0f; return; }", "    float right = row[k];\n    if (k < 0) { y[r] = 0.0f * right; return; }"),), (("    if (k < 0) { y[r] = 0.0f; return; }", "    if (k <= -1) { y[r] = 0.0f; return; }"),)),
    Pair("an ignored label counts as class 0", "values", NLL, (("    if (k < 0) { y[r] = 0.0f; return; }", "    k = max(k, 0);"),), (("logf(sum) + most - row[k]", "logf(sum) - (row[k] - most)"),), True),
    Pair("a maximum that starts at zero where padded", "values", POOL, (("float most = -INFINITY;", "float most = h == 0 || w == 0 ? -1e4f : -INFINITY;"),), (("fmaxf(most, x[p * W + q])", "fmaxf(x[p * W + q], most)"),)),
    Pair("height for width", "tail", POOL, (("q >= 0 && q < W", "q >= 0 && q < (H > 300 ? 300 : W)"),), (("q >= 0 && q < W", "(unsigned)q < (unsigned)W"),), True),
    Pair("negative marks are no marks", "values", SPARSE, (("if (used[(r / 8) * B + b])", "if (used[(r / 8) * B + b] > 0)"),), (("if (used[(r / 8) * B + b])", "if (used[(r / 8) * B + b] != 0)"),), True),
    Pair("a warp's sum without a barrier", "memory order", SPARSE, (("part[t] = sum;\n    __syncthreads();", "part[t] = sum;"),), (("part[t] = sum;\n    __syncthreads();", "part[t] = sum;\n    __syncwarp();"),), True),
)  # fmt: skip
