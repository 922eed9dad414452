"""Examples of `exchange_thread_indices`: indices that run the wrong way, and kernels that it must leave alone."""

from __future__ import annotations

from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.assists.model import AssistExample, RefusalExample

_SCALE = """\
__global__ void scale_matrix(float* out, const float* x, float factor, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) {
        out[row * columns + column] = factor * x[row * columns + column];
    }
}

void launch(float* out, const float* x, float factor, int rows, int columns) {
    dim3 block(BLOCK);
    dim3 grid((rows + block.x - 1) / block.x, (columns + block.y - 1) / block.y);
    scale_matrix<<<grid, block>>>(out, x, factor, rows, columns);
}
"""

_PRODUCT = """\
__global__ void product(const float* a, const float* b, float* out, int rows, int columns, int inner) {
    const unsigned int r = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned int c = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < columns) {
        float sum = 0.0f;
        for (int k = 0; k < inner; ++k) {
            sum += a[r * inner + k] * b[k * columns + c];
        }
        out[r * columns + c] = sum;
    }
}
"""

_COUNTED = """\
    // Neighbouring threads take neighbours along y; each place of the block is taken once, as before.
    const unsigned int thread_rank = threadIdx.y * blockDim.x + threadIdx.x;
    const unsigned int thread_x = thread_rank / blockDim.y;
    const unsigned int thread_y = thread_rank % blockDim.y;
"""


def _exchanged(code: str) -> str:
    return (
        code.replace("threadIdx.x", "threadIdx.#")
        .replace("threadIdx.y", "threadIdx.x")
        .replace("threadIdx.#", "threadIdx.y")
    )


def _counted(code: str, first: str) -> str:
    named = code.replace("threadIdx.x", "thread_x").replace("threadIdx.y", "thread_y")
    return named.replace(first, _COUNTED + first, 1)


def _scale(block: str) -> str:
    return _SCALE.replace("BLOCK", block)


APPLIES = (
    AssistExample(Language.CUDA, "scale_matrix", _scale("16, 16"), _exchanged(_scale("16, 16"))),
    AssistExample(Language.CUDA, "scale_matrix", _scale("32, 8"), _counted(_scale("32, 8"), "    int row")),
    AssistExample(Language.CUDA, "product", _PRODUCT, _counted(_PRODUCT, "    const unsigned int r ")),
)

REFUSES = (
    RefusalExample(
        Language.CUDA,
        "scale_matrix",
        _scale("16, 16").replace("out[row * columns + column]", "out[column * rows + row]"),
        "a tile in shared memory serves both orders",
    ),
    RefusalExample(Language.CUDA, "scale_matrix", _scale("256"), "there is nothing to exchange"),
    RefusalExample(
        Language.CUDA,
        "scale_matrix",
        _scale("16, 16").replace("blockIdx.y * blockDim.y + threadIdx.y", "blockIdx.y"),
        "does not use both",
    ),
    RefusalExample(
        Language.CUDA,
        "scale_matrix",
        _scale("16, 16").replace("factor * x[", "factor * __shfl_sync(0xffffffffu, threadIdx.x, 0) * x["),
        "lanes of a warp",
    ),
    RefusalExample(
        Language.CUDA,
        "scale_matrix",
        _scale("16, 16").replace("    int row", "    __shared__ float kept[16][16];\n    int row", 1),
        "transposed as well",
    ),
    RefusalExample(
        Language.CUDA,
        "scale_matrix",
        "__device__ float weight() { return 1.0f / (1 + threadIdx.x); }\n\n"
        + _scale("16, 16").replace("factor * x[", "weight() * x["),
        "reads threadIdx",
    ),
    RefusalExample(
        Language.CUDA,
        "scale_matrix",
        _scale("16, 16").replace("factor * x[", "weight_of_thread() * x["),
        "weight_of_thread is not in this file",
    ),
    RefusalExample(
        Language.CUDA,
        "scale_matrix",
        "#define WEIGHT (1.0f / (1 + threadIdx.x))\n\n"
        + _scale("16, 16").replace("factor * x[", "WEIGHT * x["),
        "the macro WEIGHT reads threadIdx",
    ),
    RefusalExample(
        Language.CUDA,
        "scale_matrix",
        _scale("16, 16").replace("x[row * columns + column]", "x[row / 2 + column]"),
        "it cannot be told which elements",
    ),
)
