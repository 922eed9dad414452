"""Examples of `loop_over_grid`: kernels before and after, and what it must leave alone."""

from __future__ import annotations

from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.assists.model import AssistExample, RefusalExample

_SHIFT = """\
__global__ void shift(float* out, const float* x, float by, int n) {
    // One element for each thread.
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        // Only what is there.
        out[i] = x[i] + by;
    }
}
void shift_all(float* out, const float* x, float by, int n) {
    const int blocks = (n + 255) / 256;
    shift<<<blocks, 256>>>(out, x, by, n);
}
"""
_SHIFT_AFTER = """\
__global__ void shift(float* out, const float* x, float by, int n) {
    // One element for each thread.
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long element = blockIdx.x * blockDim.x + threadIdx.x; element < n; element += stride) {
        int i = (int)element;
        // Only what is there.
        out[i] = x[i] + by;
    }
}
void shift_all(float* out, const float* x, float by, int n) {
    const int blocks = (n + 255) / 256;
    shift<<<blocks < 1024 ? blocks : 1024, 256>>>(out, x, by, n);
}
"""
_CLAMP = """\
__global__ void clamp_columns(float* out, const float* x, float most, int rows, int columns) {
  unsigned int i = threadIdx.x + blockIdx.x * blockDim.x;
  const unsigned int all = rows * columns;
  const int column = i % columns;  // of its row
  if (i >= all) { return; }  // past the end

  if (column == 0) {
    out[i] = 0.0f;
    return;
  }
  // The first column stays.
  i = i + 0;
  for (int k = 0; k < 2; k++) {
    out[i] = fminf(x[i], most) * (k + 1);
  }
}
void clamp_all(float* out, const float* x, float most, int rows, int columns) {
  clamp_columns<<<rows * columns / 64 + 1, 64>>>(
      out, x, most, rows, columns);
}
"""
_CLAMP_AFTER = """\
__global__ void clamp_columns(float* out, const float* x, float most, int rows, int columns) {
  const unsigned int all = rows * columns;
  const unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;
  for (unsigned long long element = threadIdx.x + blockIdx.x * blockDim.x; element < all; element += stride) {
    unsigned int i = (unsigned int)element;
    const int column = i % columns;
    // past the end

    if (column == 0) {
      out[i] = 0.0f;
      continue;
    }
    // The first column stays.
    i = i + 0;
    for (int k = 0; k < 2; k++) {
      out[i] = fminf(x[i], most) * (k + 1);
    }
  }
}
void clamp_all(float* out, const float* x, float most, int rows, int columns) {
  clamp_columns<<<(rows * columns / 64 + 1) < 1024 ? (rows * columns / 64 + 1) : 1024, 64>>>(
      out, x, most, rows, columns);
}
"""
_PLANES = """\
__global__ void fill_planes(float* out, float value, size_t n)
{
    size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[blockIdx.y * n + i] = value;
}
void fill(float* out, float value, size_t n, int planes) {
    fill_planes<<<dim3((n + 127) / 128, planes), 128>>>(out, value, n);
}
"""
_PLANES_AFTER = """\
__global__ void fill_planes(float* out, float value, size_t n)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        out[blockIdx.y * n + i] = value;
    }
}
void fill(float* out, float value, size_t n, int planes) {
    fill_planes<<<dim3((n + 127) / 128, planes), 128>>>(out, value, n);
}
"""

APPLIES = (
    AssistExample(Language.CUDA, "shift", _SHIFT, _SHIFT_AFTER),
    AssistExample(Language.CUDA, "clamp_columns", _CLAMP, _CLAMP_AFTER),
    AssistExample(Language.CUDA, "fill_planes", _PLANES, _PLANES_AFTER),
)

_GIVEN = (
    "__global__ void walk(float* out, const float* x, int* seen, int n) {\nBODY\n}\n"
    "void run(float* out, const float* x, int* seen, int n) { walk<<<(n + 255) / 256, 256>>>(out, x, seen, n); }\n"
)
_INDEX = "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"


def _refused(reason: str, body: str, before: str = "") -> RefusalExample:
    return RefusalExample(Language.CUDA, "walk", before + _GIVEN.replace("BODY", body), reason)


REFUSES = (
    _refused(
        "work together",
        "    __shared__ float last;\n" + _INDEX + "    if (i < n) { last = x[i]; out[i] = last; }",
    ),
    _refused(
        "work together",
        _INDEX
        + "    if (i < n) { while (atomicCAS(seen, 0, 1) != 0) { } out[0] += x[i]; atomicExch(seen, 0); }",
    ),
    _refused("counts all threads", "    int i = threadIdx.x;\n    if (i < n) { out[i] = x[i]; }"),
    _refused(
        "has another meaning",
        _INDEX + "    if (i < n) { out[blockIdx.x * blockDim.x + threadIdx.x] = x[i]; }",
    ),
    _refused(
        "for one element and would be different",
        "    float sum = 0.0f;\n" + _INDEX + "    if (i < n) { sum += x[i]; out[i] = sum; }",
    ),
    _refused("for one element and would be different", _INDEX + "    if (i < n) { x += i; out[i] = x[0]; }"),
    _refused(
        "is shared by a thread's elements",
        "    float both[2] = {0.0f, 0.0f};\n"
        + _INDEX
        + "    if (i < n) { both[1] += x[i]; out[i] = both[1]; }",
    ),
    _refused("one check of its bound", _INDEX + "    if (i < n) { out[i] = x[i]; }\n    seen[0] = 1;"),
    _refused("one check of its bound", _INDEX + "    if (i < n) { out[i] = x[i]; } else { seen[0] = i; }"),
    _refused("stands before the check", _INDEX + "    float v = x[i];\n    if (i < n) { out[i] = v; }"),
    _refused("there are fewer", "    atomicAdd(seen, 1);\n" + _INDEX + "    if (i < n) { out[i] = x[i]; }"),
    _refused(
        "there are fewer", _INDEX + "    int k = atomicAdd(seen, 1);\n    if (i < n) { out[i] = x[i] + k; }"
    ),
    _refused("or behind it", _INDEX + "    int last = i + n;\n    if (i < last) { out[i] = x[i]; }"),
    _refused("read anew", _INDEX + "    if (i < seen[0]) { out[i] = x[i]; }"),
    _refused(
        "leaves a loop within the work",
        _INDEX
        + "    if (i < n) { for (int k = 0; k < n; k++) { if (x[k] > x[i]) { return; } } out[i] = 1.0f; }",
    ),
    _refused("no statement of its own", _INDEX + "    out[i] = i < n ? x[i] : 0.0f;"),
    _refused(
        "the macro HERE reads the grid",
        _INDEX + "    if (i < n) { out[HERE] = x[i]; }",
        "#define HERE (blockIdx.x * blockDim.x + threadIdx.x)\n",
    ),
    _refused(
        "place, which walk calls, reads the grid",
        _INDEX + "    if (i < n) { out[place()] = x[i]; }",
        "__device__ int place() { return blockIdx.x * blockDim.x + threadIdx.x; }\n",
    ),
    _refused("is not in this file", _INDEX + "    if (i < n) { out[i] = weighed(x[i]); }"),
    _refused(
        "goes through other variables",
        "    int b = blockIdx.x;\n    int i = b * blockDim.x + threadIdx.x;\n    if (i < n) { out[i] = b; }",
    ),
)
