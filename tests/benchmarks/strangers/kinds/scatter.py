# ruff: noqa: E501
"""Gathers and scatters: embeddings backwards, pages, segments, histograms."""

from ..model import Ground, Pair, workload_of

EMBED = Ground(
    "embed_grad",
    """__global__ void embed_grad(float *dw, const float *dy, const int *index, int T, int C) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < T * C) atomicAdd(&dw[index[i / C] * C + i % C], dy[i]);
}
""",
    workload_of("embed_grad", {"T": [6, 40], "C": [8, 20]}, [
        ("dw", "inout", "float32", "50,C"), ("dy", "input", "float32", "T,C"),
        ("index", "input", "int32", "T", "integers(0, 50)"),
        ("T", "scalar", "int32", "T"), ("C", "scalar", "int32", "C")],
        "ceil_div(T * C, 128)", 128, {"T": 2048, "C": 64}),
)  # fmt: skip
RUNS = """__global__ void embed_grad(float *dw, const float *dy, const int *index, int T, int C) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= T * C) return;
    int t = i / C, c = i % C;
    if (t > 0 && index[t] == index[t - 1]) return;
    float sum = 0.0f;
    for (int u = t; u < LIMIT && index[u] == index[t]; u++) sum += dy[u * C + c];
    atomicAdd(&dw[index[t] * C + c], sum);
}
"""
PAGES = Ground(
    "pages",
    """__global__ void pages(float *y, const float *pool, const int *page, int S, int D) {
    int s = blockIdx.x;
    int p = page[s / 16];
    for (int d = threadIdx.x; d < D; d += blockDim.x)
        y[s * D + d] = p < 0 ? 0.0f : pool[(p * 16 + s % 16) * D + d];
}
""",
    workload_of("pages", {"S": [5, 50], "D": [16, 40]}, [
        ("y", "output", "float32", "S,D"), ("pool", "input", "float32", "1024,D"),
        ("page", "input", "int32", "(S + 15) // 16", "integers(-1, 64)"),
        ("S", "scalar", "int32", "S"), ("D", "scalar", "int32", "D")],
        "S", 32, {"S": 1024, "D": 128}),
)  # fmt: skip
SEGMENTS = Ground(
    "segments",
    """__global__ void segments(float *y, const float *x, const int *start, const int *length, int S) {
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= S) return;
    float sum = 0.0f;
    for (int k = 0; k < length[s]; k++) sum += x[start[s] + k];
    y[s] = sum;
}
""",
    workload_of("segments", {"S": [4, 90], "E": [100, 300]}, [
        ("y", "output", "float32", "S"), ("x", "input", "float32", "E"),
        ("start", "input", "int32", "S", "integers(0, E - 60)"), ("length", "input", "int32", "S", "integers(0, 61)"),
        ("S", "scalar", "int32", "S")], "ceil_div(S, 64)", 64, {"S": 1024, "E": 8192}).replace("[dims]", 'promises = ["E > 60"]\n[dims]', 1),
)  # fmt: skip
WARP_SEGMENT = """__global__ void segments(float *y, const float *x, const int *start, const int *length, int S) {
    int lane = threadIdx.x % 32, most = S;
    for (int s = (blockIdx.x * blockDim.x + threadIdx.x) / 32; s < most; s += gridDim.x * blockDim.x / 32) {
        float sum = 0.0f;
        for (int k = lane; k < LENGTH; k += 32) sum += x[start[s] + k];
        for (int k = 16; k > 0; k /= 2) sum += __shfl_down_sync(0xffffffffu, sum, k);
        if (lane == 0 EMPTY) y[s] = sum;
    }
}
"""
HIST = Ground(
    "hist",
    """__global__ void hist(int *y, const int *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] >= 0 && x[i] < 200) atomicAdd(&y[x[i]], 1);
}
""",
    workload_of("hist", {"n": [100, 900]}, [
        ("y", "inout", "int32", "200", "integers(0, 9)"), ("x", "input", "int32", "n", "integers(-4, 204)"),
        ("n", "scalar", "int32", "n")], "ceil_div(n, 128)", 128, {"n": 1 << 18}),
)  # fmt: skip
PRIVATE = """__global__ void hist(int *y, const int *x, int n) {
    __shared__ COUNT bins[200];
    int t = threadIdx.x;
    for (int b = t; b < CLEARED; b += 128) bins[b] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + t;
    if (i < n && RANGE) atomicAdd(&bins[x[i]], 1);
    BARRIER
    for (int b = t; b < 200; b += 128) if (bins[b]) atomicAdd(&y[b], (int)bins[b]);
}
"""


def private(
    cleared: str = "200", within: str = "x[i] >= 0 && x[i] < 200", barrier: str = "__syncthreads();"
) -> str:
    text = PRIVATE.replace("COUNT", "unsigned").replace("CLEARED", cleared)
    return text.replace("RANGE", within).replace("BARRIER", barrier)


PAIRS = (
    Pair("gradients without atomics", "race", EMBED, (("atomicAdd(&dw[index[i / C] * C + i % C], dy[i]);", "dw[index[i / C] * C + i % C] += dy[i];"),), (("atomicAdd(&dw[index[i / C] * C + i % C], dy[i]);", "atomicAdd(dw + index[i / C] * C + i % C, dy[i]);"),)),
    Pair("a run of equal indices stops a token early", "tail", EMBED, RUNS.replace("LIMIT", "T - (T > 8)"), RUNS.replace("LIMIT", "T"), True),
    Pair("gradients that overwrite", "values", EMBED, RUNS.replace("LIMIT", "T").replace("atomicAdd(&dw[index[t] * C + c], sum)", "dw[index[t] * C + c] = sum"), RUNS.replace("LIMIT", "T").replace("u < T &&", "u < T and")),
    Pair("no page is page 0", "values", PAGES, (("p < 0 ? 0.0f : pool[(p * 16", "pool[(max(p, 0) * 16"),), (("p < 0 ? 0.0f : pool", "p == -1 ? 0.0f : pool"),)),
    Pair("the last page is read whole", "bounds", PAGES, (("int p = page[s / 16];", "int p = page[s / 16], next = page[s / 16 + 1];\n    if (next == 12345) return;"),), (("int p = page[s / 16];", "int p = page[s / 16], next = page[max(s / 16 - 1, 0)];\n    if (next == 12345) p = p;"),), True),
    Pair("a page that a short holds", "overflow", PAGES, (("(p * 16 + s % 16) * D + d", "(unsigned short)((p * 16 + s % 16) * D) + d"),), (("(p * 16 + s % 16) * D + d", "(size_t)(p * 16 + s % 16) * D + d"),)),
    Pair("an empty segment is not written", "uninitialised", SEGMENTS, WARP_SEGMENT.replace("LENGTH", "length[s]").replace("EMPTY", "&& length[s] > 0"), WARP_SEGMENT.replace("LENGTH", "length[s]").replace("EMPTY", "")),
    Pair("a segment is one warp long", "tail", SEGMENTS, WARP_SEGMENT.replace("LENGTH", "min(length[s], 32)").replace("EMPTY", ""), WARP_SEGMENT.replace("LENGTH", "min(length[s], 1 << 20)").replace("EMPTY", ""), True),
    Pair("the second half of the bins is not cleared", "uninitialised", HIST, private(cleared="128"), private(), True),
    Pair("bins are merged before all have counted", "race", HIST, private(barrier=""), private(barrier="__syncthreads(); ")),
    Pair("the range of values is not asked", "bounds", HIST, private(within="x[i] < 200"), private(within="(unsigned)x[i] < 200u"), True),
)  # fmt: skip
