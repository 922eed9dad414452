"""What summing over the grid makes of an atomic addition by each thread, and where it must refuse."""

from __future__ import annotations

from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.assists.model import AssistExample, RefusalExample

_DOT = """\
__global__ void dot_product(const float* a, const float* b, float* result, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float p = a[i] * b[i];
    atomicAdd(&result[0], p);
}

void launch(const float* a, const float* b, float* result, int n) {
    dot_product<<<(n + 255) / 256, 256>>>(a, b, result, n);
}
"""

_AFTER = """\
__global__ void dot_product(const float* a, const float* b, float* result, int n) {
    float own_sum = 0.0f;
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long element = blockIdx.x * blockDim.x + threadIdx.x; element < n; element += stride) {
        int i = (int)element;
        float p = a[i] * b[i];
        own_sum += p;
    }
    __shared__ float warp_sums[32];
    for (int offset = 16; offset > 0; offset /= 2) {
        own_sum += __shfl_down_sync(0xffffffffu, own_sum, offset);
    }
    if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = own_sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        own_sum = threadIdx.x < blockDim.x / 32 ? warp_sums[threadIdx.x] : 0.0f;
        for (int offset = 16; offset > 0; offset /= 2) {
            own_sum += __shfl_down_sync(0xffffffffu, own_sum, offset);
        }
        if (threadIdx.x == 0) atomicAdd(&result[0], own_sum);
    }
}

void launch(const float* a, const float* b, float* result, int n) {
    dot_product<<<(((n + 255) / 256) + 15) / 16, 256>>>(a, b, result, n);
}
"""


def _refused(change: tuple[str, str], reason: str) -> RefusalExample:
    return RefusalExample(Language.CUDA, "dot_product", _DOT.replace(*change), reason)


APPLIES = (AssistExample(Language.CUDA, "dot_product", _DOT, _AFTER),)
REFUSES = (
    _refused(("&result[0]", "&result[i % 8]"), "one atomic addition"),
    _refused(("p);", "p + result[1]);"), "is used beside the addition"),
    _refused(("256>>>", "threads>>>"), "does not tell blocks of whole warps"),
    _refused(("256>>>", "48>>>"), "does not tell blocks of whole warps"),
    _refused(("const float* b, float* result", "const float* b, short* result"), "is not known to point to"),
    _refused(("    if (i >= n) return;\n", ""), "compares `i` to a bound"),
)
