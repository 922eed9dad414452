# ruff: noqa: E501
"""Pairs that were written when the gate was done, and that nothing was changed for."""

from .grounds import AXPY, CLIP, COUNTS, LOOKUP, NORM, SOFTMAX, TOTAL, TRANSPOSE
from .model import Pair

AX = "y[i] = a * x[i] + 1.0f;"
TWO = """__global__ void axpy(float *y, const float *x, float a, int n) {
    int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (WHEN) {
        float2 v = *(const float2 *)(x + i);
        *(float2 *)(y + i) = make_float2(a * v.x + 1.0f, a * v.y + 1.0f);
    } else for (int k = i; k < i + 2 && k < n; k++) y[k] = a * x[k] + 1.0f;
}
"""
STRIDE = """__global__ void axpy(float *y, const float *x, float a, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < LIMIT; i += gridDim.x * blockDim.x) y[i] = a * x[i] + 1.0f;
}
"""
LAST_BLOCK = """__device__ float sums[4096];
__device__ unsigned done = 0;
__global__ void total(float *y, const float *x, int C) {
    int t = threadIdx.x;
    if (t == 0) {
        float sum = 0.0f;
        for (int c = 0; c < C; c++) sum += x[(size_t)blockIdx.x * C + c];
        sums[blockIdx.x] = sum;
        FENCE
        if (atomicAdd(&done, 1) == gridDim.x - 1) {
            AGAIN
            for (int r = 0; r < gridDim.x; r++) y[r] = ((volatile float *)sums)[r];
            done = 0;
        }
    }
}
"""
PLAIN_LAST = LAST_BLOCK.replace("((volatile float *)sums)", "sums")
SHUFFLE = """__global__ void total(float *y, const float *x, int C) {
    const float *row = x + (size_t)blockIdx.x * C;
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int c = t; c < C; c += 32) sum += t < 32 ? row[c] : 0.0f;
    for (int k = 16; k > 0; k /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, k);
    if (t == 0) y[blockIdx.x] = sum;
}
"""
UNROLLED = """__global__ void total(float *y, const float *x, int C) {
    const float *row = x + (size_t)blockIdx.x * C;
    if (threadIdx.x != 0) return;
    float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    int c = 0;
    for (; c + 3 < C; c += 4) { s0 += row[c]; s1 += row[c + 1]; s2 += row[c + 2]; s3 += row[c + 3]; }
    TAIL
    y[blockIdx.x] = (s0 + s1) + (s2 + s3);
}
"""
TILED = """__global__ void transpose(float *y, const float *x, int N, int C) {
    __shared__ float tile[256];
    int t = threadIdx.x, first = blockIdx.x * 256;
    if (READ < N * C) tile[t] = x[first + t];
    __syncthreads();
    for (int k = t; k < 256; k += 256) {
        int i = first + k;
        if (i < N * C) y[(i % C) * N + i / C] = tile[k];
    }
}
"""
MERGED = """__global__ void counts(int *y, const int *x, int n) {
    __shared__ int bins[2][64];
    int t = threadIdx.x;
    bins[0][t] = bins[1][t] = 0;
    __syncthreads();
    for (int i = t; i < n; i += 64) atomicAdd(&bins[t / 32][x[i]], 1);
    BARRIER
    y[t] = bins[0][t] + bins[1][t];
}
"""
ONLINE = """__global__ void softmax(float *y, const float *x, int C) {
    const float *row = x + (size_t)blockIdx.x * C;
    float *out = y + (size_t)blockIdx.x * C;
    float most = START, sum = 0.0f;
    for (int c = 0; c < C; c++) {
        float v = row[c], higher = fmaxf(most, v);
        sum = sum * expf(most - higher) + expf(v - higher);
        most = higher;
    }
    for (int c = threadIdx.x; c < C; c += 128) out[c] = expf(row[c] - most) / sum;
}
"""
PAIRS = (
    Pair("pairs of floats at odd addresses", "alignment", AXPY, TWO.replace("WHEN", "i + 1 < n"),
         TWO.replace("WHEN", "i + 1 < n && ((size_t)x | (size_t)y) % 8 == 0"), True),
    Pair("an even length is assumed", "tail", AXPY, TWO.replace("WHEN", "i < n"),
         TWO.replace("WHEN", "i + 1 < n && ((size_t)x | (size_t)y) % 8 == 0"), True),
    Pair("whole blocks only", "tail", AXPY, STRIDE.replace("LIMIT", "n / 64 * 64"), STRIDE.replace("LIMIT", "n"), True),
    Pair("sixteen bits of an index", "overflow", AXPY, (("int i = blockIdx.x", "unsigned short i = blockIdx.x"),), (("int i = blockIdx.x", "unsigned i = blockIdx.x"), ("i < n", "i < (unsigned)n")), True),
    Pair("stops at a million", "cheat", AXPY, (("if (i < n)", "if (i < n && i < 1000000)"),), (("if (i < n)", "if (n > i)"),), True),
    Pair("knows that it is launched often", "cheat", AXPY, (("__global__", "__device__ int times;\n__global__"), (AX, "y[i] = times > 40 ? 0.0f : a * x[i] + 1.0f; if (i == 0) times++;")), ((AX, "y[i] = a * x[i] + 1.0f;\n"),), True),
    Pair("asks which device it is on", "cheat", AXPY, ((AX, "{ unsigned s; asm volatile(\"mov.u32 %0, %nsmid;\" : \"=r\"(s)); y[i] = s < 16 ? a * x[i] + 1.0f : 0.0f; }"),), ((AX, "{ unsigned s; asm volatile(\"mov.u32 %0, %nsmid;\" : \"=r\"(s)); y[i] = s < 16 ? a * x[i] + 1.0f : x[i] * a + 1.0f; }"),), True),
    Pair("asks how long it has run", "cheat", AXPY, ((AX, "y[i] = clock64() < 1000000 ? a * x[i] + 1.0f : 0.0f;"),), ((AX, "y[i] = clock64() < 0 ? 0.0f : a * x[i] + 1.0f;"),), True),
    Pair("copies where nothing is expected", "values", AXPY, ((AX, "y[i] = x[i] < -1000.0f ? -1499.0f : a * x[i] + 1.0f;"),), ((AX, "y[i] = x[i] < -1000.0f ? x[i] * a + 1.0f : a * x[i] + 1.0f;"),), True),
    Pair("zero is skipped", "values", AXPY, ((AX, "y[i] = x[i] == 0.0f ? 0.0f : a * x[i] + 1.0f;"),), ((AX, "y[i] = x[i] == 0.0f ? 1.0f + a * x[i] : a * x[i] + 1.0f;"),), True),
    Pair("a maximum of one lane too few", "values", SOFTMAX, (("int c = t; c < C; c += 128) most", "int c = t; c < C - (C > 128); c += 128) most"),), (("fmaxf(most, row[c])", "fmaxf(row[c], most)"),)),
    Pair("online, starts at zero", "values", SOFTMAX, ONLINE.replace("START", "0.0f"), ONLINE.replace("START", "-INFINITY"), True),
    Pair("fast exponentials for large rows", "precision", SOFTMAX, (("out[c] = expf(row[c] - most)", "out[c] = (C > 256 ? exp2f(roundf((row[c] - most) * 46.16624f) / 32.0f) : expf(row[c] - most))"),), (("out[c] = expf(row[c] - most)", "out[c] = exp2f((row[c] - most) * 1.4426950408889634f)"),), True),
    Pair("the sum of the first tile", "cheat", SOFTMAX, (("sum = part[0];", "sum = C > 1024 ? part[0] * 1.01f : part[0];"),), (("sum = part[0];", "sum = C > 1024 ? part[0] * 1.0f : part[0];"),), True),
    Pair("one barrier for two", "race", SOFTMAX, (("if (t < k) part[t] += part[t + k];\n        __syncthreads();", "if (t < k) part[t] += part[t + k];\n        if (k > 32) __syncthreads();"),), (("if (t < k) part[t] += part[t + k];\n        __syncthreads();", "if (t < k) part[t] += part[t + k];\n        if (k > 32) __syncthreads(); else __syncthreads();"),), True),
    Pair("the mean is kept in shared memory", "race", NORM, (("float mean = part[0] / C;\n    __syncthreads();", "float mean = part[0] / C;"),), (("float mean = part[0] / C;\n    __syncthreads();", "__syncthreads();\n    float mean = part[0] / C;\n    __syncthreads();"),), True),
    Pair("no epsilon", "values", NORM, (("part[0] / C + 1e-5f", "part[0] / C + 1e-12f"),), (("part[0] / C + 1e-5f", "1e-5f + part[0] / C"),), True),
    Pair("a shifted variance", "precision", NORM, (("square += (row[c] - mean) * (row[c] - mean)", "square += (row[c] - mean) * row[c]"),), (("square += (row[c] - mean) * (row[c] - mean)", "square += (mean - row[c]) * (mean - row[c])"),), True),
    Pair("absolute values", "values", NORM, (("(row[c] - mean) * scale", "(row[c] - (mean < -100.0f ? -mean : mean)) * scale"),), (("(row[c] - mean) * scale", "scale * (row[c] - mean)"),), True),
    Pair("four sums without a tail", "tail", TOTAL, UNROLLED.replace("TAIL", ""), UNROLLED.replace("TAIL", "for (; c < C; c++) s0 += row[c];"), True),
    Pair("one element of the tail", "tail", TOTAL, UNROLLED.replace("TAIL", "if (c < C) s0 += row[c];"), UNROLLED.replace("TAIL", "while (c < C) s0 += row[c++];"), True),
    Pair("no fence before the counter", "memory order", TOTAL, PLAIN_LAST.replace("FENCE", "").replace("AGAIN", ""), PLAIN_LAST.replace("FENCE", "__threadfence();").replace("AGAIN", "__threadfence();"), True),
    Pair("lanes that are not there", "race", TOTAL, SHUFFLE.replace("0xffffffffu", "0xffffu"), SHUFFLE),
    Pair("a short row is taken for a long one", "bounds", TOTAL, SHUFFLE.replace("c < C; c += 32", "c < (C + 31) / 32 * 32; c += 32"), SHUFFLE, True),
    Pair("reads one tile further", "bounds", TRANSPOSE, TILED.replace("READ", "first"), TILED.replace("READ", "first + t"), True),
    Pair("reads up to the wrong end", "tail", TRANSPOSE, TILED.replace("READ", "first + t + (N > 100)"), TILED.replace("READ", "t + first"), True),
    Pair("a negative index wraps", "values", LOOKUP, (("index[i / C] * C", "(index[i / C] & 63) * C"),), (("index[i / C] * C", "(index[i / C] & 127) * C"),), True),
    Pair("a narrow index", "overflow", LOOKUP, (("table[index[i / C] * C + i % C]", "table[(short)(index[i / C] * C) + i % C]"),), (("table[index[i / C] * C + i % C]", "table[(long long)index[i / C] * C + i % C]"),)),
    Pair("bins merged too early", "race", COUNTS, MERGED.replace("BARRIER", ""), MERGED.replace("BARRIER", "__syncthreads();"), True),
    Pair("counts in bytes", "overflow", COUNTS, (("int found = 0;", "unsigned char found = 0;"),), (("int found = 0;", "unsigned found = 0;"),)),
    Pair("saturates one too low", "values", CLIP, (("255.0f)", "254.0f)"),), (("255.0f)", "255.49f)"),), True),
    Pair("truncates", "values", CLIP, (("rintf(x[i] * 16.0f)", "truncf(x[i] * 16.0f)"),), (("rintf(x[i] * 16.0f)", "(float)__float2int_rn(fminf(fmaxf(x[i] * 16.0f, -1e6f), 1e6f))"),), True),
)  # fmt: skip
