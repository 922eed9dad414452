"""The baselines: plain kernels, right and slow."""

from .model import Ground, workload_of

AXPY = Ground(
    "axpy",
    """__global__ void axpy(float *y, const float *x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + 1.0f;
}
""",
    workload_of("axpy", {"n": [97, 1024]}, [
        ("y", "output", "float32", "n"), ("x", "input", "float32", "n"),
        ("a", "scalar", "float32", "1.5"), ("n", "scalar", "int32", "n")],
        "ceil_div(n, 128)", 128, {"n": 1 << 20}),
)  # fmt: skip
ROWS = [("y", "output", "float32", "N,C"), ("x", "input", "float32", "N,C"), ("C", "scalar", "int32", "C")]
SOFTMAX = Ground(
    "softmax",
    """__global__ void softmax(float *y, const float *x, int C) {
    __shared__ float part[128];
    const float *row = x + (size_t)blockIdx.x * C;
    float *out = y + (size_t)blockIdx.x * C;
    int t = threadIdx.x;
    float most = -INFINITY;
    for (int c = t; c < C; c += 128) most = fmaxf(most, row[c]);
    part[t] = most;
    __syncthreads();
    for (int k = 64; k > 0; k /= 2) {
        if (t < k) part[t] = fmaxf(part[t], part[t + k]);
        __syncthreads();
    }
    most = part[0];
    __syncthreads();
    float sum = 0.0f;
    for (int c = t; c < C; c += 128) sum += expf(row[c] - most);
    part[t] = sum;
    __syncthreads();
    for (int k = 64; k > 0; k /= 2) {
        if (t < k) part[t] += part[t + k];
        __syncthreads();
    }
    sum = part[0];
    for (int c = t; c < C; c += 128) out[c] = expf(row[c] - most) / sum;
}
""",
    workload_of("softmax", {"N": [1, 3], "C": [65, 300]}, ROWS, "N", 128, {"N": 64, "C": 2048}),
)
NORM = Ground(
    "normed",
    """__global__ void normed(float *y, const float *x, int C) {
    __shared__ float part[64];
    const float *row = x + (size_t)blockIdx.x * C;
    float *out = y + (size_t)blockIdx.x * C;
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int c = t; c < C; c += 64) sum += row[c];
    part[t] = sum;
    __syncthreads();
    for (int k = 32; k > 0; k /= 2) {
        if (t < k) part[t] += part[t + k];
        __syncthreads();
    }
    float mean = part[0] / C;
    __syncthreads();
    float square = 0.0f;
    for (int c = t; c < C; c += 64) square += (row[c] - mean) * (row[c] - mean);
    part[t] = square;
    __syncthreads();
    for (int k = 32; k > 0; k /= 2) {
        if (t < k) part[t] += part[t + k];
        __syncthreads();
    }
    float scale = rsqrtf(part[0] / C + 1e-5f);
    for (int c = t; c < C; c += 64) out[c] = (row[c] - mean) * scale;
}
""",
    workload_of("normed", {"N": [1, 4], "C": [70, 256]}, ROWS, "N", 64, {"N": 256, "C": 1024}),
)
TOTAL = Ground(
    "total",
    """__global__ void total(float *y, const float *x, int C) {
    int r = blockIdx.x;
    float sum = 0.0f;
    if (threadIdx.x == 0) {
        for (int c = 0; c < C; c++) sum += x[(size_t)r * C + c];
        y[r] = sum;
    }
}
""",
    workload_of("total", {"N": [1, 5], "C": [33, 512]}, [
        ("y", "output", "float32", "N"), ("x", "input", "float32", "N,C"), ("C", "scalar", "int32", "C")],
        "N", 128, {"N": 32, "C": 4096}),
)  # fmt: skip
TRANSPOSE = Ground(
    "transpose",
    """__global__ void transpose(float *y, const float *x, int N, int C) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N * C) y[(i % C) * N + i / C] = x[i];
}
""",
    workload_of("transpose", {"N": [16, 33], "C": [16, 50]}, [
        ("y", "output", "float32", "C,N"), ("x", "input", "float32", "N,C"),
        ("N", "scalar", "int32", "N"), ("C", "scalar", "int32", "C")],
        "ceil_div(N * C, 256)", 256, {"N": 512, "C": 512}),
)  # fmt: skip
LOOKUP = Ground(
    "lookup",
    """__global__ void lookup(float *y, const float *table, const int *index, int N, int C) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N * C) y[i] = table[index[i / C] * C + i % C];
}
""",
    workload_of("lookup", {"N": [7, 40], "C": [8, 33]}, [
        ("y", "output", "float32", "N,C"), ("table", "input", "float32", "100,C"),
        ("index", "input", "int32", "N", "integers(0, 100)"),
        ("N", "scalar", "int32", "N"), ("C", "scalar", "int32", "C")],
        "ceil_div(N * C, 128)", 128, {"N": 2048, "C": 128}),
)  # fmt: skip
COUNTS = Ground(
    "counts",
    """__global__ void counts(int *y, const int *x, int n) {
    int b = threadIdx.x;
    int found = 0;
    for (int i = 0; i < n; i++) found += x[i] == b;
    y[b] = found;
}
""",
    workload_of("counts", {"n": [100, 700]}, [
        ("y", "output", "int32", "64"), ("x", "input", "int32", "n", "integers(0, 64)"),
        ("n", "scalar", "int32", "n")], "1", 64, {"n": 4096}),
)  # fmt: skip
CLIP = Ground(
    "clip",
    """__global__ void clip(unsigned char *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = rintf(x[i] * 16.0f) + 128.0f;
        y[i] = (unsigned char)fminf(fmaxf(v, 0.0f), 255.0f);
    }
}
""",
    workload_of("clip", {"n": [130, 600]}, [
        ("y", "output", "uint8", "n"), ("x", "input", "float32", "n"), ("n", "scalar", "int32", "n")],
        "ceil_div(n, 128)", 128, {"n": 1 << 18}),
)  # fmt: skip
