"""Examples of mutations: a kernel and one that the mutation makes of it, and kernels in which it finds no place."""

from dataclasses import dataclass

from kernel_lineage.kernels.source import Language


@dataclass(frozen=True, slots=True)
class MutationExample:
    """A whole small file, and one of the files that the mutation makes of it. Must be our own code."""

    language: Language
    kernel: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class UntouchedExample:
    """A whole small file in which the mutation finds no place."""

    language: Language
    kernel: str
    code: str


SCALE = """\
__global__ void scale(float* out, const float* x, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = factor * x[i];
    }
}
"""

ROW_SUMS = """\
__global__ void row_sums(float* out, const float* x, int C) {
    __shared__ float partial[256];
    const float* row = x + blockIdx.x * C;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        sum += row[i];
    }
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int width = 128; width > 0; width /= 2) {
        if (threadIdx.x < width) {
            partial[threadIdx.x] += partial[threadIdx.x + width];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        out[blockIdx.x] = partial[0];
    }
}
"""

WARP_SOFTMAX_SUM = """\
__device__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffff, value, offset);
    }
    return value;
}

__global__ void normalise(float* out, const float* x, int C) {
    const float* row = x + blockIdx.x * C;
    float biggest = -INFINITY;
    for (int i = threadIdx.x; i < C; i += 32) {
        biggest = fmaxf(biggest, row[i]);
    }
    float sum = 0.0f;
    for (int i = threadIdx.x; i < C; i += 32) {
        sum += expf(row[i] - biggest);
    }
    sum = warp_sum(sum);
    for (int i = threadIdx.x; i < C; i += 32) {
        out[blockIdx.x * C + i] = expf(row[i] - biggest) / (sum + 1e-6f);
    }
}
"""

TILED_MATMUL = """\
#define TILE 16

__global__ void matmul(float* c, const float* a, const float* b, int N, int K) {
    __shared__ float tile_a[TILE][TILE + 1];
    __shared__ float tile_b[TILE][TILE + 1];
    int x = threadIdx.x;
    int y = threadIdx.y;
    int row = blockIdx.y * TILE + y;
    int column = blockIdx.x * TILE + x;
    float sum = 0.0f;
    for (int t = 0; t < K / TILE; t++) {
        tile_a[y][x] = a[row * K + t * TILE + x];
        tile_b[y][x] = b[(t * TILE + y) * N + column];
        __syncthreads();
        for (int k = 0; k < TILE; k++) {
            sum += tile_a[y][k] * tile_b[k][x];
        }
        __syncthreads();
    }
    c[row * N + column] = sum;
}
"""

TRITON_ROWS = """\
import triton
import triton.language as tl


@triton.jit
def row_softmax(out_ptr, x_ptr, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < C
    x = tl.load(x_ptr + row * C + offsets, mask=mask, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * C + offsets, e / tl.sum(e, axis=0), mask=mask)
"""

TRITON_MATMUL = """\
import triton
import triton.language as tl


@triton.jit
def matmul(c_ptr, a_ptr, b_ptr, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptr + rows[:, None] * K + (k + depth)[None, :])
        b = tl.load(b_ptr + (k + depth)[:, None] * N + columns[None, :])
        total += tl.dot(a, b)
        tl.debug_barrier()
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total)
"""

_SUM = "out[i] = a[i] + b[i];"
_ADD = f"__global__ void add(float* out, const float* a, const float* b) {{\n    int i = threadIdx.x;\n    {_SUM}\n}}\n"

_SIGMOID = """\
__global__ void sigmoid(float* out, const float* x) {
    out[threadIdx.x] = 1.0f / (1.0f + expf(-x[threadIdx.x]));
}
"""

_RELU = """\
__global__ void relu(float* out, const float* x) {
    float v = x[threadIdx.x];
    out[threadIdx.x] = CHOICE;
}
"""

_SWIZZLED = """\
__global__ void turn(float* out, const float* x) {
    __shared__ float tile[256];
    tile[threadIdx.x ^ 3] = x[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x];
}
"""

_NAMES = {
    SCALE: "scale",
    ROW_SUMS: "row_sums",
    WARP_SOFTMAX_SUM: "normalise",
    TILED_MATMUL: "matmul",
    TRITON_ROWS: "row_softmax",
    TRITON_MATMUL: "matmul",
}


def _language(code: str) -> Language:
    return Language.TRITON if "@triton.jit" in code else Language.CUDA


def changed(code: str, before: str, after: str) -> MutationExample:
    """One of the kernels above, and the same with one piece of text, which it holds once, replaced."""
    if code.count(before) != 1:
        raise ValueError(f"{before!r} is {code.count(before)} times in the example")
    return MutationExample(_language(code), _NAMES[code], code, code.replace(before, after))


def untouched(code: str) -> UntouchedExample:
    """One of the kernels above, in which there is nothing to mutate."""
    return UntouchedExample(_language(code), _NAMES[code], code)


MUTATES: dict[str, tuple[MutationExample, ...]] = {
    "buffer_reused_early": (
        changed(TILED_MATMUL, "        }\n        __syncthreads();\n    }", "        }\n        ;\n    }"),
    ),
    "constant_output": (
        changed(SCALE, "= factor * x[i];", "= 1.0f;"),
        changed(TRITON_ROWS, "e / tl.sum(e, axis=0), mask", "(e / tl.sum(e, axis=0)) * 0 + 1, mask"),
    ),
    "dropped_accumulation": (
        changed(ROW_SUMS, "sum += row[i];", "sum = row[i];"),
        changed(WARP_SOFTMAX_SUM, "value += __shfl", "value = __shfl"),
        changed(TRITON_MATMUL, "total += tl.dot(a, b)", "total = tl.dot(a, b)"),
    ),
    "dropped_barrier": (
        changed(ROW_SUMS, "= sum;\n    __syncthreads();", "= sum;\n    ;"),
        changed(TRITON_MATMUL, "        tl.debug_barrier()", "        pass"),
    ),
    "dropped_guard": (
        changed(SCALE, "if (i < n)", "if (true)"),
        changed(TRITON_ROWS, ', mask=mask, other=-float("inf"))', ")"),
        changed(TRITON_ROWS, "tl.sum(e, axis=0), mask=mask)", "tl.sum(e, axis=0))"),
    ),
    "dropped_term": (
        MutationExample(Language.CUDA, "add", _ADD, _ADD.replace("a[i] + b[i]", "a[i]")),
        MutationExample(Language.CUDA, "add", _ADD, _ADD.replace("a[i] + b[i]", "b[i]")),
        changed(WARP_SOFTMAX_SUM, "(sum + 1e-6f)", "(sum)"),
    ),
    "lower_precision": (
        changed(
            ROW_SUMS, "sum += row[i];", "sum = __uint_as_float(__float_as_uint(sum + row[i]) & 0xffff0000u);"
        ),
        changed(
            TRITON_MATMUL,
            "total += tl.dot(a, b)",
            "total = (total + tl.dot(a, b)).to(tl.float16).to(tl.float32)",
        ),
    ),
    "missing_tail": (
        changed(ROW_SUMS, "i < C;", "i < C / blockDim.x * blockDim.x;"),
        changed(TRITON_MATMUL, "range(0, K, BK)", "range(0, K // BK * BK, BK)"),
    ),
    "off_by_one_bound": (
        changed(SCALE, "i < n", "i <= n"),
        changed(SCALE, "i < n", "i < n - 1"),
        changed(TRITON_ROWS, "offsets < C", "offsets <= C"),
    ),
    "sign_flip": (
        MutationExample(Language.CUDA, "sigmoid", _SIGMOID, _SIGMOID.replace("expf(-x[", "expf(x[")),
        changed(SCALE, "= factor * x[i];", "= -(factor * x[i]);"),
        changed(TRITON_ROWS, "e / tl.sum(e, axis=0), mask", "-(e / tl.sum(e, axis=0)), mask"),
    ),
    "swapped_arguments": (
        MutationExample(
            Language.CUDA,
            "relu",
            _RELU.replace("CHOICE", "v > 0.0f ? v : 0.0f"),
            _RELU.replace("CHOICE", "v > 0.0f ? 0.0f : v"),
        ),
        changed(WARP_SOFTMAX_SUM, "sum += expf(row[i] - biggest)", "sum += expf(biggest - row[i])"),
        changed(TRITON_ROWS, "e / tl.sum(e, axis=0), mask", "tl.sum(e, axis=0) / e, mask"),
    ),
    "swapped_index": (
        changed(TILED_MATMUL, "tile_b[k][x];", "tile_b[x][k];"),
        changed(TILED_MATMUL, "c[row * N + column]", "c[column * N + row]"),
        changed(TILED_MATMUL, "int y = threadIdx.y;", "int y = threadIdx.x;"),
        changed(TRITON_MATMUL, "tl.program_id(1)", "tl.program_id(0)"),
    ),
    "uninitialised_accumulator": (
        changed(ROW_SUMS, "float sum = 0.0f;", "float sum;"),
        changed(TILED_MATMUL, "float sum = 0.0f;", "float sum;"),
    ),
    "wrong_constant": (changed(WARP_SOFTMAX_SUM, "sum + 1e-6f", "sum + (1e-6f * 10)"),),
    "wrong_first_value": (
        changed(ROW_SUMS, "float sum = 0.0f;", "float sum = 1.0f;"),
        changed(WARP_SOFTMAX_SUM, "float biggest = -INFINITY;", "float biggest = 0.0f;"),
        changed(
            TRITON_MATMUL,
            "tl.zeros((BM, BN), dtype=tl.float32)",
            "(tl.zeros((BM, BN), dtype=tl.float32) + 1)",
        ),
    ),
    "wrong_k_slice": (
        changed(TILED_MATMUL, "a[row * K + t * TILE + x]", "a[row * K + 0 * TILE + x]"),
        changed(TRITON_MATMUL, "rows[:, None] * K + (k + depth)", "rows[:, None] * K + (0 + depth)"),
    ),
    "wrong_operator": (
        changed(SCALE, "factor * x[i]", "factor + x[i]"),
        changed(WARP_SOFTMAX_SUM, "fmaxf(biggest", "fminf(biggest"),
        changed(TRITON_ROWS, "tl.sum(e", "tl.max(e"),
    ),
    "wrong_reduction_width": (
        changed(WARP_SOFTMAX_SUM, "int offset = 16;", "int offset = 16 / 2;"),
        changed(WARP_SOFTMAX_SUM, "__shfl_xor_sync(0xffffffff", "__shfl_xor_sync(0x0000ffffu"),
        changed(ROW_SUMS, "int width = 128;", "int width = 128 / 2;"),
    ),
    "wrong_stride": (
        changed(ROW_SUMS, "blockIdx.x * C", "blockIdx.x * (C + 1)"),
        changed(TILED_MATMUL, "a[row * K", "a[row * (K + 1)"),
        changed(TRITON_ROWS, "x_ptr + row * C", "x_ptr + row * (C + 1)"),
    ),
    "wrong_swizzle": (
        MutationExample(
            Language.CUDA, "turn", _SWIZZLED, _SWIZZLED.replace("threadIdx.x ^ 3", "threadIdx.x")
        ),
        changed(TILED_MATMUL, "tile_b[k][x];", "tile_b[k][x ^ 1];"),
    ),
    "zero_output": (
        changed(SCALE, "= factor * x[i];", "= 0.0f;"),
        changed(ROW_SUMS, "out[blockIdx.x] = partial[0];", "out[blockIdx.x] = 0.0f;"),
        changed(TRITON_ROWS, "e / tl.sum(e, axis=0), mask", "(e / tl.sum(e, axis=0)) * 0, mask"),
    ),
}
"""By the id of the mutation."""

LEAVES: dict[str, tuple[UntouchedExample, ...]] = {
    "buffer_reused_early": (untouched(SCALE), untouched(WARP_SOFTMAX_SUM)),
    "constant_output": (
        UntouchedExample(Language.CUDA, "idle", "__global__ void idle(float* x) {\n    float y = x[0];\n}\n"),
    ),
    "dropped_accumulation": (untouched(SCALE), untouched(TRITON_ROWS)),
    "dropped_barrier": (untouched(SCALE), untouched(TRITON_ROWS)),
    "dropped_guard": (untouched(TILED_MATMUL), untouched(TRITON_MATMUL)),
    "dropped_term": (untouched(SCALE), untouched(TRITON_MATMUL)),
    "lower_precision": (untouched(SCALE), untouched(TRITON_ROWS)),
    "missing_tail": (untouched(SCALE), untouched(TRITON_ROWS)),
    "off_by_one_bound": (untouched(TRITON_MATMUL),),
    "sign_flip": (
        UntouchedExample(Language.CUDA, "idle", "__global__ void idle(float* x) {\n    float y = x[0];\n}\n"),
    ),
    "swapped_arguments": (untouched(SCALE), untouched(TRITON_MATMUL)),
    "swapped_index": (untouched(SCALE), untouched(TRITON_ROWS)),
    "uninitialised_accumulator": (untouched(SCALE), untouched(TRITON_MATMUL)),
    "wrong_constant": (untouched(SCALE), untouched(TRITON_MATMUL)),
    "wrong_first_value": (untouched(SCALE), untouched(TRITON_ROWS)),
    "wrong_k_slice": (untouched(SCALE), untouched(TRITON_ROWS)),
    "wrong_operator": (
        UntouchedExample(
            Language.CUDA,
            "copy",
            "__global__ void copy(float* out, const float* x) {\n"
            "    int i = blockIdx.x * 32 + threadIdx.x;\n    out[i] = x[i];\n}\n",
        ),
    ),
    "wrong_reduction_width": (untouched(SCALE), untouched(TRITON_MATMUL)),
    "wrong_stride": (
        UntouchedExample(
            Language.CUDA, "fill", "__global__ void fill(float* x) { x[threadIdx.x] = 1.0f; }\n"
        ),
    ),
    "wrong_swizzle": (untouched(SCALE),),
    "zero_output": (
        UntouchedExample(
            Language.CUDA,
            "idle",
            "__global__ void idle(float* x) {\n    __shared__ float s[32];\n    s[threadIdx.x] = 1.0f;\n}\n",
        ),
        UntouchedExample(
            Language.CUDA, "clear", "__global__ void clear(float* x) {\n    x[threadIdx.x] = 0.0f;\n}\n"
        ),
    ),
}
"""The same."""
