"""Examples of `share_column_out`: kernels before and after, and columns that it must leave to one thread."""

from __future__ import annotations

from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.assists.model import AssistExample, RefusalExample

_MEANS = """\
__global__ void column_means(float* means, float* most, const float* x, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col < cols) {
        const float* here = x + col;
        float sum = means[col];
        float best = -1e30f;
        #pragma unroll 2
        for (int r = 0; r < rows; r++) {
            float v = here[r * cols];
            sum += v;
            best = fmaxf(best, v);
        }
        // The mean of what was there already, too.
        means[col] = sum / (rows + 1);
        most[col] = best;
    }
}

void launch(float* means, float* most, const float* x, int rows, int cols) {
    const int blocks = (cols + 127) / 128;
    column_means<<<blocks, 128>>>(means, most, x, rows, cols);
}
"""

_MEANS_AFTER = """\
__global__ void __launch_bounds__(1024) column_means(float* means, float* most, const float* x, int rows, int cols) {
    int col = blockIdx.x * 16 + threadIdx.x % 16;
    const int lane = threadIdx.x % 16, group = threadIdx.x / 16;
    __shared__ float best_parts[64][16];
    __shared__ float sum_parts[64][16];
    if (col < cols) {
        const float* here = x + col;
        float sum = means[col];
        float best = -1e30f;
        sum = 0;
        #pragma unroll 8
        for (int r = group; r < rows; r += 64) {
            float v = here[r * cols];
            sum += v;
            best = fmaxf(best, v);
        }
        best_parts[group][lane] = best;
        sum_parts[group][lane] = sum;
    }
    __syncthreads();
    if (group == 0 && col < cols) {
        const float* here = x + col;
        float sum = means[col];
        float best = -1e30f;
        for (int part = 0; part < 64; part++) {
            best = fmaxf(best, best_parts[part][lane]);
            sum += sum_parts[part][lane];
        }
        // The mean of what was there already, too.
        means[col] = sum / (rows + 1);
        most[col] = best;
    }
}

void launch(float* means, float* most, const float* x, int rows, int cols) {
    const int blocks = (cols + 127) / 128;
    column_means<<<blocks * 8, 1024>>>(means, most, x, rows, cols);
}
"""


def _refused(change: tuple[str, str], reason: str) -> RefusalExample:
    return RefusalExample(Language.CUDA, "column_means", _MEANS.replace(*change), reason)


APPLIES = (AssistExample(Language.CUDA, "column_means", _MEANS, _MEANS_AFTER),)
REFUSES = (
    _refused(("sum += v;", "sum = 0.5f * sum + v;"), "that is no sum, maximum or minimum"),
    _refused(("best = fmaxf(best, v);", "most[col] = v;"), "it is not known that each round writes another"),
    _refused(("here[r * cols];", "here[r * cols]; if (v < 0) break;"), "ends the loop early"),
    _refused(("blocks, 128>>>", "blocks, threads>>>"), "does not tell blocks of whole warps"),
    _refused(
        ("float best = -1e30f;", "float best = -1e30f;\n        most[col] = 0.0f;"), "does more than declare"
    ),
    _refused(
        ("here = x + col;", "here = x + col * rows;"), "neighbouring threads do not read neighbouring columns"
    ),
)
