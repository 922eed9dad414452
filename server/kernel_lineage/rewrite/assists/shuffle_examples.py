"""Examples of `use_warp_shuffle_reduction`: trees before and after, and loops that it must leave alone."""

from __future__ import annotations

from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.assists.model import AssistExample, RefusalExample

_SUM = """\
__global__ void block_sum(float* out, const float* x, int n) {
    extern __shared__ float shared[];
    int tid = threadIdx.x;
    float sum = 0.0f;
    for (int i = blockIdx.x * n + tid; i < (blockIdx.x + 1) * n; i += blockDim.x) {
        sum += x[i];
    }
    shared[tid] = sum;
    __syncthreads();
    TREE
    if (tid == 0) {
        out[blockIdx.x] = shared[0];
    }
}
LAUNCH"""

_TREE = """for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            shared[tid] += shared[tid + s];
        }
        __syncthreads();
    }"""

_LAUNCH = """
void launch(float* out, const float* x, int rows, int n) {
    block_sum<<<rows, 256, 256 * sizeof(float)>>>(out, x, n);
}
"""

_NEW = """{
        __syncthreads();
        float value = shared[tid];
        for (int offset = 16; offset > 0; offset /= 2) {
            value = value + __shfl_down_sync(0xffffffffu, value, offset);
        }
        __syncthreads();
        if (tid % 32 == 0) {
            shared[tid / 32] = value;
        }
        __syncthreads();
        if (tid < 32) {
            value = tid < blockDim.x / 32 ? shared[tid] : 0;
            for (int offset = 16; offset > 0; offset /= 2) {
                value = value + __shfl_down_sync(0xffffffffu, value, offset);
            }
            __syncwarp();
            if (tid == 0) {
                shared[0] = value;
            }
        }
        __syncthreads();
    }"""

_MAX = """\
__global__ void row_max(float* out, const float* x, int c) {
  __shared__ float best[1024];
  float m = x[blockIdx.x * c];
  for (int i = threadIdx.x; i < c; i += blockDim.x)
    m = fmaxf(m, x[blockIdx.x * c + i]);
  best[threadIdx.x] = m;
  TREE
  __syncthreads();
  out[blockIdx.x] = best[0];
}
"""

_MAX_TREE = """for (int stride = blockDim.x / 2; stride >= 1; stride /= 2) {
    __syncthreads();
    if (threadIdx.x < stride) best[threadIdx.x] = fmaxf(best[threadIdx.x], best[threadIdx.x + stride]);
  }"""

_MAX_NEW = """if (blockDim.x % 32 == 0) {
    __syncthreads();
    float value = best[threadIdx.x];
    for (int offset = 16; offset > 0; offset /= 2) {
      value = fmaxf(value, __shfl_down_sync(0xffffffffu, value, offset));
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
      best[threadIdx.x / 32] = value;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
      value = threadIdx.x < blockDim.x / 32 ? best[threadIdx.x] : best[0];
      for (int offset = 16; offset > 0; offset /= 2) {
        value = fmaxf(value, __shfl_down_sync(0xffffffffu, value, offset));
      }
      __syncwarp();
      if (threadIdx.x == 0) {
        best[0] = value;
      }
    }
    __syncthreads();
  } else {
    for (int stride = blockDim.x / 2; stride >= 1; stride /= 2) {
      __syncthreads();
      if (threadIdx.x < stride) best[threadIdx.x] = fmaxf(best[threadIdx.x], best[threadIdx.x + stride]);
    }
  }"""


def _sum(tree: str, launch: str = _LAUNCH) -> str:
    return _SUM.replace("TREE", tree).replace("LAUNCH", launch)


APPLIES = (
    AssistExample(Language.CUDA, "block_sum", _sum(_TREE), _sum(_NEW)),
    AssistExample(Language.CUDA, "row_max", _MAX.replace("TREE", _MAX_TREE), _MAX.replace("TREE", _MAX_NEW)),
)

REFUSES = (
    RefusalExample(
        Language.CUDA,
        "block_sum",
        _sum(_TREE.replace("shared[tid + s];", "shared[tid + s] * 0.5f;")),
        "is not a sum, maximum or minimum",
    ),
    RefusalExample(
        Language.CUDA, "block_sum", _sum(_TREE.replace("s > 0", "s > 32")), "before the last pair"
    ),
    RefusalExample(
        Language.CUDA,
        "block_sum",
        _sum(_TREE).replace("int tid = threadIdx.x;", "int tid = threadIdx.y * blockDim.x + threadIdx.x;"),
        "more than one dimension",
    ),
    RefusalExample(
        Language.CUDA,
        "block_sum",
        _sum(_TREE.replace("blockDim.x / 2", "n / 2")),
        "not at half of the block",
    ),
    RefusalExample(
        Language.CUDA,
        "block_sum",
        _sum(_TREE).replace("= shared[0]", "= shared[0] - shared[1]"),
        "partial result",
    ),
)
