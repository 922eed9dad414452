"""Matrix products as people write them, and code that looks like one and is none that can be tiled."""

from __future__ import annotations

_HALF = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
_RUN = """
void run(const TYPE* A, const TYPE* B, OUT* C, int M, int N, int K) {
    LAUNCH
}
"""
_TWO = "dim3 block(16, 16);\n    dim3 grid((N + 15) / 16, (M + 15) / 16);\n    prod<<<grid, block>>>(A, B, C, M, N, K);"


def spelled(
    body: str, *, element: str = "float", out: str = "float", launch: str = _TWO, above: str = ""
) -> str:
    """A file with the kernel `prod`, whose body is given, and its launch."""
    text = f"{_HALF}{above}__global__ void prod(const TYPE* A, const TYPE* B, OUT* C, int M, int N, int K) {{{body}}}\n"
    return (text + _RUN.replace("LAUNCH", launch)).replace("TYPE", element).replace("OUT", out)


_PLACE = """
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
"""
_GUARDED = "\n    if (row >= M || col >= N) return;\n"

_FLAT = "prod<<<(M * N + 255) / 256, 256>>>(A, B, C, M, N, K);"
_LOOPED = """
    for (int k = 0; k < K; ++k) acc += A[row * K + k] * B[k * N + col];
"""

SPELLINGS = {
    "a flat index": spelled(
        """
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < M * N) {
        int row = idx / N, col = idx % N;
        float acc = 0.0f;"""
        + _LOOPED
        + """
        C[idx] = acc;
    }
""",
        launch=_FLAT,
    ),
    "a flat index by parts, its remainder by subtraction, both factors by rows": spelled(
        """
    const int tid = threadIdx.x;
    const int total = M * N;
    const int at = tid + blockIdx.x * blockDim.x;
    if (at >= total) return;
    const int row = at / N;
    const int col = at - row * N;
    const float* weights = B + col * K;
    float acc = C[at];
    for (int k = 0; k < K; k++) acc = fmaf(A[row * K + k], weights[k], acc);
    C[row * N + col] = fmaxf(acc, 0.0f);
""",
        launch=_FLAT,
    ),
    "half, a flat index": spelled(
        """
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (unsigned)(M * N)) return;
    unsigned row = i / N, col = i % N;
    float acc = 0.0f;
    for (int k = 0; k < K; ++k) acc += __half2float(A[row * K + k]) * __half2float(B[k * N + col]);
    C[i] = __float2half(acc);
""",
        element="half",
        out="half",
        launch=_FLAT,
    ),
    "scaled by groups of rounds and less an offset of its column": spelled(
        _PLACE
        + """
    if (row < M && col < N) {
        float acc = 0.0f;
        for (int k = 0; k < K; k++) {
            const float weight = (B[k * N + col] - B[col]) * B[(k / 4) * N + col];
            acc += A[row * K + k] * weight;
        }
        C[row * N + col] = acc;
    }
"""
    ),
    "bytes, scaled by row, by column and as a whole": spelled(
        _PLACE
        + _GUARDED
        + """
    float acc = 0.0f;
    for (int k = 0; k < K; k++) {
        acc += (float)A[row * K + k] * (float)B[k * N + col] * B[col]
            * (static_cast<float>(A[row * K]) + 1.0f) * A[0];
    }
    C[row * N + col] = acc;
""",
        element="signed char",
    ),
    "half by bytes in rows, scaled behind the loop": spelled(
        _PLACE
        + _GUARDED
        + """
    float acc = 0.0f;
    for (int k = 0; k < K; k++) acc += __half2float(A[row * K + k]) * (float)B[col * K + k];
    C[row * N + col] = acc * 0.125f;
""",
        element="half",
    ).replace("const half* B", "const signed char* B"),
    "early return, fmaf, unsigned": spelled("""
    const unsigned int c = threadIdx.x + blockDim.x * blockIdx.x, r = threadIdx.y + blockDim.y * blockIdx.y;
    if (r >= (unsigned)M) return;
    if (c >= (unsigned)N) return;
    float s = 0.f;
    #pragma unroll 4
    for (int k = 0; k < K; ++k) s = fmaf(A[r * K + k], B[k * N + c], s);
    C[r * N + c] = s;
"""),
    "pointers that are moved on": spelled(
        _PLACE
        + _GUARDED
        + """
    const float* a = A + (size_t)row * K;
    const float* b = &B[col];
    float total = 0;
    for (int left = K; left > 0; left--) {
        total += *a * *b;
        a++;
        b += N;
    }
    C[row * N + col] = total;
"""
    ),
    "macros, a tile's width by name, thread indices of their own": spelled(
        """
    int tx = threadIdx.x, ty = threadIdx.y;
    int bx = blockIdx.x, by = blockIdx.y;
    int x = bx * SIDE + tx;
    int y = by * SIDE + ty;
    if (y < M) {
        if (x < N) {
            float value = 0.0f;
            for (int i = 0; i < K; i += 1) {
                float left = A[AT(y, i, K)];
                float right = __ldg(&B[AT(i, x, N)]);
                value = value + left * right;
            }
            C[AT(y, x, N)] = value;
        }
    }
""",
        above="#define AT(r, c, width) ((r) * (width) + (c))\n#define SIDE 16\n",
    ),
    "macros that read": spelled(
        _PLACE
        + """
    if (row >= M) return;
    if (col < N) {
        float t = 0.0f;
        for (int k = 0; k < K; k++) t = t + LEFT(k) * ELEMENT(B, N, k, col);
        C[row * N + col] = t;
    }
""",
        above="#define ELEMENT(p, width, r, c) ((p)[(r) * (width) + (c)])\n#define LEFT(k) ELEMENT(A, K, row, k)\n",
    ),
    "rows along x": spelled(
        """
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < M && col < N) {
        float acc = 0.0f;
        for (int k = 0; k < K; k++) acc += A[row * K + k] * B[k * N + col];
        C[row * N + col] = acc;
    }
""",
        launch="dim3 threads(8, 32);\n    prod<<<dim3((M + threads.x - 1) / threads.x, "
        "(N + threads.y - 1) / threads.y), threads>>>(A, B, C, M, N, K);",
    ),
    "a while loop, what was there already": spelled(
        _PLACE
        + _GUARDED
        + """
    int k = 0;
    float sum = C[row * N + col];
    while (k < K) {
        sum += A[row * K + k] * B[k * N + col];
        k++;
    }
    C[row * N + col] = 0.25f * sum + 1.0f;
""",
        out="float",
    ),
    "both factors by rows": spelled(
        _PLACE
        + """
    if (row < M && col < N) {
        const float* q = A + row * K;
        const float* k = B + col * K;
        float dot = 0.0f;
        for (int d = 0; d < K; d++) dot += q[d] * k[d];
        C[row * N + col] = col <= row ? dot * 0.125f : -1e9f;
    }
"""
    ),
    "both factors by columns": spelled(
        _PLACE
        + _GUARDED
        + """
    float acc = 0.0f;
    for (int k = 0; k < K; ++k) { acc += A[k * M + row] * B[k * N + col]; }
    C[row * N + col] = fmaxf(acc, 0.0f);
"""
    ),
    "half, added up in float": spelled(
        _PLACE
        + _GUARDED
        + """
    float acc = 0.0f;
    for (int k = 0; k < K; ++k) {
        half x = A[row * K + k];
        half y = B[k * N + col];
        acc += __half2float(x) * __half2float(y);
    }
    C[row * N + col] = __float2half(acc);
""",
        element="half",
        out="half",
    ),
    "half, both factors by rows": spelled(
        _PLACE
        + _GUARDED
        + """
    float dot = 0.0f;
    for (int d = 0; d < K; d++) dot += __half2float(A[row * K + d]) * __half2float(B[(size_t)col * K + d]);
    C[row * N + col] = __float2half(dot * 0.5f);
""",
        element="half",
        out="half",
    ),
    "half, the first factor by columns": spelled(
        _PLACE
        + _GUARDED
        + """
    float acc = 0.0f;
    for (int k = 0; k < K; ++k) acc += __half2float(A[k * M + row] * B[k * N + col]);
    C[row * N + col] = acc;
""",
        element="half",
    ),
    "half, added up in half": spelled(
        _PLACE
        + _GUARDED
        + """
    half acc = __float2half(0.0f);
    for (int k = 0; k < K; ++k) acc = __hfma(A[row * K + k], B[k * N + col], acc);
    C[row * N + col] = acc;
""",
        element="half",
        out="half",
    ),
    "bf16 by casts": spelled(
        _PLACE
        + """
    if (row < M && col < N) {
        float acc{0.0f};
        for (int k = 0; k < K; ++k) acc += (float)A[row * K + k] * static_cast<float>(B[k * N + col]);
        C[row * N + col] = (__nv_bfloat16)acc;
    }
""",
        element="__nv_bfloat16",
        out="__nv_bfloat16",
    ),
    "double": spelled(
        _PLACE
        + _GUARDED
        + """
    double acc = 0.0;
    for (int k = 0; k < K; ++k) acc += A[row * K + k] * B[k * N + col];
    C[row * N + col] = acc;
""",
        element="double",
        out="double",
    ),
    "int8 into int32": spelled(
        _PLACE
        + _GUARDED
        + """
    int acc = 0;
    for (int k = 0; k < K; ++k) acc += (int)A[row * K + k] * (int)B[k * N + col];
    C[row * N + col] = acc;
""",
        element="signed char",
        out="int",
    ),
    "int8, both factors by rows, one without a sign": spelled(
        _PLACE
        + """
    if (row < M && col < N) {
        int acc = 0;
        for (int k = 0; k < K; k++) {
            const int a = A[row * K + k], b = B[col * K + k];
            acc += a * b;
        }
        C[row * N + col] = (float)acc * 0.25f;
    }
""",
        element="signed char",
    ).replace("const signed char* B", "const unsigned char* B"),
    "int8, the first factor by columns": spelled(
        _PLACE
        + _GUARDED
        + """
    int acc = 1;
    for (int k = 0; k < K; ++k) acc += static_cast<int>(A[k * M + row]) * static_cast<int>(B[k * N + col]);
    C[row * N + col] = acc;
""",
        element="signed char",
        out="int",
    ),
    "something is made of a factor": spelled(
        _PLACE
        + _GUARDED
        + """
    float acc = 0.0f;
    for (int k = 0; k < K; ++k) acc += 0.5f * fabsf(A[row * K + k]) * (B[k * N + col] - 1.0f);
    C[row * N + col] = acc;
"""
    ),
    "short names everywhere": spelled(
        """
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < M && j < N) {
        float p = 0.0f, n = 2.0f;
        for (int d = 0; d < K; d++) p += A[i * K + d] * B[d * N + j];
        for (int e = 0; e < 3; e++) p = p * n;
        C[i * N + j] = p;
    }
"""
    ),
}
"""By what is unusual in them."""


def _changed(old: str, new: str) -> str:
    plain = spelled(
        _PLACE
        + _GUARDED
        + """
    float acc = 0.0f;
    for (int k = 0; k < K; ++k) { acc += A[row * K + k] * B[k * N + col]; }
    C[row * N + col] = acc;
"""
    )
    assert old in plain
    return plain.replace(old, new)


REFUSED = {
    "no one loop": (_changed("for (int k = 0; k < K; ++k) {", "{ int k = 0;"), "not one loop"),
    "no bounds": (_changed("if (row >= M || col >= N) return;", ""), "no check of its bounds"),
    "a triangle": (
        _changed("row >= M || col >= N", "row >= M || col >= N || col > row"),
        "both places of an output",
    ),
    "rounds by row": (_changed("k < K", "k < row"), "depends on"),
    "one factor only": (_changed("* B[k * N + col]", "* B[k * N + row]"), "same axis"),
    "in the same place": (_changed("B[k * N + col]; }", "B[k * N + col]; C[row] = acc; }"), "not one loop"),
    "scaled by row and column": (
        _changed("* B[k * N + col]", "* B[k * N + col] * B[(row + col) % N]"),
        "belongs to no one factor",
    ),
    "offset by the other place": (
        _changed("* B[k * N + col]", "* (B[k * N + col] - A[row * K])"),
        "is not read wherever",
    ),
    "scaled where another bound holds": (
        _changed("* B[k * N + col]", "* (col < K ? B[k * N + col] : 1.0f) * (k < N ? B[col] : 1.0f)"),
        "more than a factor",
    ),
    "a recurrence": (_changed("acc += A", "acc = 0.5f * acc + A"), "adds no product"),
    "a difference that is not zero for zeros": (
        _changed("acc += A[row * K + k] *", "acc += 1.0f + A[row * K + k] -"),
        "more than a factor",
    ),
    "ends early": (_changed("col]; }", "col]; if (acc > 9.0f) break; }"), "is no condition of all"),
    "the counter is used behind": (
        _changed(
            "float acc = 0.0f;\n    for (int k = 0;", "float acc = 0.0f;\n    int k;\n    for (k = 0;"
        ).replace("] = acc;", "] = acc / k;"),
        "behind the loop",
    ),
    "blocks work together": (_changed("C[row", "__syncthreads();\n    C[row"), "work together"),
    "a step of the data": (_changed("A[row * K + k]", "A[row * K + (int)B[k]]"), "one axis of the grid"),
    "told launch bounds": (
        _changed("__global__ void", "__global__ void __launch_bounds__(256)"),
        "launch bounds",
    ),
    "launched elsewhere": (
        _changed("prod<<<grid, block>>>(A, B, C, M, N, K);", ""),
        "not launched in this file",
    ),
    "which block it is": (_changed("] = acc;", "] = acc + threadIdx.x;"), "tells more than the place"),
    "the lane of a warp": (_changed("] = acc;", "] = acc + gridDim.x;"), "several outputs"),
    "a flat index with another end": (
        SPELLINGS["a flat index"].replace("idx < M * N", "idx < M * K"),
        "no check of its bounds",
    ),
    "a flat index taken apart twice": (
        SPELLINGS["a flat index"].replace("idx % N", "idx % M"),
        "does not move with one axis",
    ),
    "a flat index with rows of another length": (
        SPELLINGS["a flat index"].replace("idx / N, col = idx % N", "idx / (N + 1), col = idx % (N + 1)"),
        "no check of its bounds",
    ),
}
"""By what is wrong with it, with a part of the reason."""
