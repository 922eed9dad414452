"""Examples of `reduce_block_before_atomic`: additions that a block can make as one, and others."""

from __future__ import annotations

from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.assists.model import AssistExample, RefusalExample

_TOTAL = """\
__global__ void grand_total(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(out, 2.0f * x[i]);
    }
}

void launch(float* out, const float* x, int n) {
    grand_total<<<(n + 95) / 96, 96>>>(out, x, n);
}
"""

_TOTAL_AFTER = """\
__global__ void grand_total(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float own_value = 0.0f;
    if (i < n) {
        own_value = 2.0f * x[i];
    }
    __shared__ float block_sums[1024];
    block_sums[threadIdx.x] = own_value;
    for (unsigned int stride = 512; stride > 0; stride /= 2) {
        __syncthreads();
        if (threadIdx.x < stride && threadIdx.x + stride < blockDim.x) {
            block_sums[threadIdx.x] += block_sums[threadIdx.x + stride];
        }
    }
    if (threadIdx.x == 0) {
        atomicAdd(out, block_sums[0]);
    }
}

void launch(float* out, const float* x, int n) {
    grand_total<<<(n + 95) / 96, 96>>>(out, x, n);
}
"""

_ROWS = """\
__global__ void row_totals(int* out, const int* x, int C) {
  int row = blockIdx.x;
BEFORE  for (int i = threadIdx.x; i < C; i += blockDim.x) { count += x[row * C + i]; }
ADDITION}
"""

_ROWS_BEFORE = _ROWS.replace("BEFORE", "  int count = 0;\n").replace(
    "ADDITION", "  atomicAdd(&out[row], count);\n"
)

_ROWS_AFTER = _ROWS.replace("BEFORE", "  int count = 0;\n").replace(
    "ADDITION",
    """\
  int own_value = 0;
  own_value = count;
  const unsigned int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  __shared__ int block_sums[1024];
  block_sums[thread] = own_value;
  for (unsigned int stride = 512; stride > 0; stride /= 2) {
    __syncthreads();
    if (thread < stride && thread + stride < blockDim.x * blockDim.y * blockDim.z) {
      block_sums[thread] += block_sums[thread + stride];
    }
  }
  if (thread == 0) {
    atomicAdd(&out[row], block_sums[0]);
  }
""",
)


def _refused(code: str, reason: str) -> RefusalExample:
    return RefusalExample(Language.CUDA, "grand_total", code, reason)


APPLIES = (
    AssistExample(Language.CUDA, "grand_total", _TOTAL, _TOTAL_AFTER),
    AssistExample(Language.CUDA, "row_totals", _ROWS_BEFORE, _ROWS_AFTER),
)

REFUSES = (
    _refused(
        _TOTAL.replace("    if (i < n) {", "    if (i > 2 * n) { return; }\n    if (i < n) {"),
        "may leave in line 3",
    ),
    _refused(_TOTAL.replace("        atomicAdd", "        float old = atomicAdd"), "no atomic addition here"),
    _refused(_TOTAL.replace("    if (i < n) {", "    for (; i < n; i += n) {"), "no atomic addition here"),
    _refused(_TOTAL.replace("2.0f * x[i]", "out[1] * x[i]"), "used at another place"),
    _refused(_TOTAL.replace("atomicAdd(out,", "atomicAdd(out + i % 2,"), "no atomic addition here"),
    _refused(
        _TOTAL.replace("(i < n) {", "(i < n) {\n        int k = blockIdx.x;").replace(
            "atomicAdd(out,", "atomicAdd(&out[k],"
        ),
        "may differ from thread to thread",
    ),
    _refused(_TOTAL.replace("float* out", "half* out"), "is not known to point to"),
)
