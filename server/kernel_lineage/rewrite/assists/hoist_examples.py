"""Examples of `hoist_index`: rows that are found anew in each round, and indices that it must leave alone."""

from __future__ import annotations

from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.assists.model import AssistExample, RefusalExample

_SUMS = """\
__global__ void row_sums(float* out, const float* __restrict__ x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    float sum = 0.0f;
HOISTED    for (int i = 0; i < C; i++) {
        sum += READ;
    }
    out[row] = sum;
}
"""

_PRODUCT = """\
__global__ void product(const float* a, const float* b, float* out, int rows, int columns, int inner) {
    const unsigned int r = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned int c = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < columns) {
        float sum = 0.0f;
HOISTED        #pragma unroll 4
        for (int k = 0; k < inner; ++k) {
            sum += READ * b[k * columns + c];
        }
        out[r * columns + c] = sum;
    }
}
"""

_BLUR = """\
__global__ void blur(float* out, const float* x, int rows, int columns) {
    int row = blockIdx.x;
HOISTED    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        float sum = 0.0f;
        for (int k = -1; k <= 1; k++) {
            int j = min(max(i + k, 0), columns - 1);
            sum += x[READ];
        }
        out[WRITE] = sum / 3.0f;
    }
}
"""


def _sums(read: str, hoisted: str = "") -> str:
    return _SUMS.replace("READ", read).replace("HOISTED", hoisted)


APPLIES = (
    AssistExample(
        Language.CUDA,
        "row_sums",
        _sums("x[row * C + i]"),
        _sums("x_row[i]", "    const float* x_row = x + row * C;\n"),
    ),
    AssistExample(
        Language.CUDA,
        "product",
        _PRODUCT.replace("HOISTED", "").replace("READ", "a[r * inner + k]"),
        _PRODUCT.replace("HOISTED", "        const float* a_row = a + r * inner;\n").replace(
            "READ", "a_row[k]"
        ),
    ),
    AssistExample(
        Language.CUDA,
        "blur",
        _BLUR.replace("HOISTED", "")
        .replace("READ", "row * columns + j")
        .replace("WRITE", "row * columns + i"),
        _BLUR.replace(
            "HOISTED",
            "    const float* x_row = x + row * columns;\n    float* out_row = out + row * columns;\n",
        )
        .replace("x[READ]", "x_row[j]")
        .replace("out[WRITE]", "out_row[i]"),
    ),
)

REFUSES = (
    RefusalExample(
        Language.CUDA,
        "row_sums",
        _sums("x[row * C + i]").replace("sum += ", "row += i == C / 2; sum += "),
        "has no index here",
    ),
    RefusalExample(
        Language.CUDA,
        "row_sums",
        _sums("x[row * C + i]").replace("sum += ", "x += 1; sum += "),
        "itself moves in the loop",
    ),
    RefusalExample(
        Language.CUDA,
        "row_sums",
        _sums("x[blockIdx.x * C + i - N]"),
        "nothing says that",
    ),
    RefusalExample(
        Language.CUDA,
        "row_sums",
        _sums("x[row * N + i]").replace("int row", "auto row", 1),
        "the type of `row`",
    ),
    RefusalExample(
        Language.CUDA,
        "row_sums",
        _sums("x[(int)out[row] * C + i]"),
        "does more than compute",
    ),
    RefusalExample(
        Language.CUDA,
        "row_sums",
        _sums("x[row * C + i]").replace("    for (", "    if (N > 1) for ("),
        "not a statement on a line of its own",
    ),
)
