"""Examples of `privatise_atomics`: kernels before and after, and additions that must stay where they are."""

from __future__ import annotations

from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.assists.model import AssistExample, RefusalExample

_HISTOGRAM = """\
__global__ void histogram(unsigned int* bins, const unsigned char* data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&bins[data[i]], 1);
    }
}

void launch(unsigned int* bins, const unsigned char* data, int n) {
    histogram<<<(n + 255) / 256, 256>>>(bins, data, n);
}
"""

_HISTOGRAM_AFTER = """\
__global__ void histogram(unsigned int* bins, const unsigned char* data, int n) {
    const long long stride = (long long)gridDim.x * blockDim.x;
    // A block adds to its own copy; what lies beyond the first 2048 goes to bins at once.
    __shared__ unsigned int own_bins[2048];
    for (int bin = threadIdx.x; bin < 2048; bin += blockDim.x) { own_bins[bin] = 0; }
    __syncthreads();
    for (long long element = blockIdx.x * blockDim.x + threadIdx.x; element < n; element += stride) {
        int i = (int)element;
        {
            const long long at = data[i];
            if (at >= 0 && at < 2048) {
                atomicAdd(&own_bins[at], 1);
            } else {
                atomicAdd(&bins[at], 1);
            }
        }
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < 2048; bin += blockDim.x) {
        if (own_bins[bin] != 0) { atomicAdd(&bins[bin], own_bins[bin]); }
    }
}

void launch(unsigned int* bins, const unsigned char* data, int n) {
    histogram<<<((n + 255) / 256) < 1024 ? ((n + 255) / 256) : 1024, 256>>>(bins, data, n);
}
"""

_WEIGHTED = """\
__global__ void weighted(float* sums, const int* group, const float* x, int n, int groups) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    if (group[i] < groups)
      atomicAdd(sums + group[i], x[i] * x[i]);
  }
}
"""

_WEIGHTED_AFTER = """\
__global__ void weighted(float* sums, const int* group, const float* x, int n, int groups) {
  // A block adds to its own copy; what lies beyond the first 2048 goes to sums at once.
  __shared__ float own_sums[2048];
  for (int bin = threadIdx.x; bin < 2048; bin += blockDim.x) { own_sums[bin] = 0; }
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    if (group[i] < groups)
      {
        const long long at = group[i];
        if (at >= 0 && at < 2048) {
          atomicAdd(&own_sums[at], x[i] * x[i]);
        } else {
          atomicAdd(&sums[at], x[i] * x[i]);
        }
      }
  }
  __syncthreads();
  for (int bin = threadIdx.x; bin < 2048; bin += blockDim.x) {
    if (own_sums[bin] != 0) { atomicAdd(&sums[bin], own_sums[bin]); }
  }
}
"""


def _refused(change: tuple[str, str], reason: str) -> RefusalExample:
    return RefusalExample(Language.CUDA, "weighted", _WEIGHTED.replace(*change), reason)


APPLIES = (
    AssistExample(Language.CUDA, "histogram", _HISTOGRAM, _HISTOGRAM_AFTER),
    AssistExample(Language.CUDA, "weighted", _WEIGHTED, _WEIGHTED_AFTER),
)
REFUSES = (
    _refused(("sums + group[i]", "sums"), "is not an element of a named pointer"),
    _refused(("x[i] * x[i])", "sums[0])"), "is used at another place as well"),
    _refused(("      atomicAdd", "      n += atomicAdd"), "returns is used"),
    _refused(
        ("if (group[i] < groups)", "if (group[i] < 0) return; else"), "would be missing at the barriers"
    ),
    _refused(("{\n  for", "{\n  __shared__ float own[32];\n  for"), "has shared memory of its own"),
    _refused(("float* sums", "unsigned short* sums"), "not known to point to a type"),
)
