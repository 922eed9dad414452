"""Examples of `fuse_softmax_passes`: passes that become one, and loops that it must leave alone."""

from __future__ import annotations

import re

from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.assists.model import AssistExample, RefusalExample

_STATISTICS = """\
__global__ void softmax_statistics(float* maxima, float* sums, const float* x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
    const float* x_row = x + row * C;
    float m = -INFINITY;
    PASSES
    maxima[row] = m;
    sums[row] = s;
}
"""

_TWO = """for (int i = 0; i < C; i++) { m = fmaxf(m, x_row[i]); }
    float s = 0.0f;
    for (int i = 0; i < C; i++) { s += expf(x_row[i] - m); }"""

_ONE = """float sum_so_far = 0.0f;
    for (int i = 0; i < C; i++) {
        const float value = x_row[i];
        if (value > m) {
            sum_so_far = sum_so_far * expf(m - value) + 1.0f;
            m = value;
        } else {
            // Equal elements are not subtracted: both may be -infinity at the start of a row.
            sum_so_far += value == m ? 1.0f : expf(value - m);
        }
    }
    float s = 0.0f;
    // m - m is NaN where the maximum is infinite, as the exponentials were.
    if (sum_so_far != 0.0f) {
        s += sum_so_far + (m - m);
    }"""

_FIRST = """\
__global__ void log_sums(float* out, const float* x, int N, int C) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= N) return;
    float top = x[t * C];
    PASSES
    out[t] = top + logf(s);
}
"""

_FIRST_BEFORE = _FIRST.replace(
    "PASSES",
    """\
for (int i = 1; i < C; i++) {
        if (x[t * C + i] > top) top = x[t * C + i];
    }
    float s = 0.0f;
    for (int i = 0; i < C; i++) s += expf(x[t * C + i] - top);""",
)

_FIRST_AFTER = _FIRST.replace("PASSES", re.sub(r"\bm\b", "top", _ONE).replace("x_row[i]", "x[t * C + i]"))

_ROWS = """\
__global__ void softmax_rows(float* out, const float* x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N) {
        float top = -INFINITY;
FIRST
        double total = 0.0;
SECOND
        for (int i = 0; i < C; i++) {
            THIRD
        }
    }
}
"""

_ROWS_BEFORE = (
    _ROWS.replace(
        "FIRST",
        """\
        for (int i = 0; i < C; i++) {
            if (x[row * C + i] > top) {
                top = x[row * C + i];
            }
        }""",
    )
    .replace(
        "SECOND",
        """\
        for (int i = 0; i < C; i++) {
            out[row * C + i] = expf(x[row * C + i] - top);
            total += out[row * C + i];
        }""",
    )
    .replace("THIRD", "out[row * C + i] /= (float)total;")
)

_ROWS_AFTER = (
    _ROWS.replace(
        "FIRST",
        """\
        double sum_so_far = 0.0;
        for (int i = 0; i < C; i++) {
            const float value = x[row * C + i];
            if (value > top) {
                sum_so_far = sum_so_far * expf(top - value) + 1.0;
                top = value;
            } else {
                // Equal elements are not subtracted: both may be -infinity at the start of a row.
                sum_so_far += value == top ? 1.0 : expf(value - top);
            }
        }""",
    )
    .replace(
        "SECOND",
        """\
        // top - top is NaN where the maximum is infinite, as the exponentials were.
        if (sum_so_far != 0.0) {
            total += sum_so_far + (top - top);
        }""",
    )
    .replace("THIRD", "out[row * C + i] = expf(x[row * C + i] - top) / (float)total;")
)

_BLOCK = """\
__global__ void block_softmax(float* out, const float* x, int C) {
  __shared__ float best[64];
  __shared__ float all;
  const float* row = x + blockIdx.x * C;
  float m = -INFINITY;
FIRST
  best[threadIdx.x] = m;
  __syncthreads();
  float row_max = best[0];
  for (int t = 1; t < blockDim.x; t++) row_max = fmaxf(row_max, best[t]);
  if (threadIdx.x == 0) all = 0.0f;
  __syncthreads();
  float sum = 0.0f;
SECOND
  atomicAdd(&all, sum);
  __syncthreads();
  for (int i = threadIdx.x; i < C; i += blockDim.x) out[blockIdx.x * C + i] = expf(row[i] - row_max) / all;
}
"""

_BLOCK_BEFORE = _BLOCK.replace(
    "FIRST", "  for (int i = threadIdx.x; i < C; i += blockDim.x) m = fmaxf(m, row[i]);"
).replace("SECOND", "  for (int i = threadIdx.x; i < C; i += blockDim.x) sum += expf(row[i] - row_max);")

_BLOCK_AFTER = _BLOCK.replace(
    "FIRST",
    """\
  float sum_so_far = 0.0f;
  for (int i = threadIdx.x; i < C; i += blockDim.x) {
    const float value = row[i];
    if (value > m) {
      sum_so_far = sum_so_far * expf(m - value) + 1.0f;
      m = value;
    } else {
      // Equal elements are not subtracted: both may be -infinity at the start of a row.
      sum_so_far += value == m ? 1.0f : expf(value - m);
    }
  }
  const float own_m = m;""",
).replace(
    "SECOND",
    """\
  // From this thread's maximum to the row's.
  if (sum_so_far != 0.0f) {
    sum += sum_so_far * expf(own_m - row_max);
  }""",
)


def _statistics(passes: str = _TWO) -> str:
    return _STATISTICS.replace("PASSES", passes)


def _refused(code: str, reason: str, kernel: str = "softmax_statistics") -> RefusalExample:
    return RefusalExample(Language.CUDA, kernel, code, reason)


APPLIES = (
    AssistExample(Language.CUDA, "softmax_statistics", _statistics(), _statistics(_ONE)),
    AssistExample(Language.CUDA, "log_sums", _FIRST_BEFORE, _FIRST_AFTER),
    AssistExample(Language.CUDA, "softmax_rows", _ROWS_BEFORE, _ROWS_AFTER),
    AssistExample(Language.CUDA, "block_softmax", _BLOCK_BEFORE, _BLOCK_AFTER),
)

REFUSES = (
    _refused(
        _statistics(_TWO.replace("i < C; i++) { s", "i < C - 1; i++) { s")),
        "do not run over the same elements",
    ),
    # Each lane of a warp would sum with the maximum of other elements than it did.
    _refused(
        _FIRST_BEFORE.replace("i = 1", "i = 1 + t")
        .replace("int i = 0", "int i = t")
        .replace("i++", "i += 32"),
        "do not run over the same elements",
        "log_sums",
    ),
    _refused(_FIRST_BEFORE.replace("= x[t * C]", "= x[t]"), "do not run over the same elements", "log_sums"),
    _refused(_statistics(_TWO.replace("expf(x_row[i] - m)", "x_row[i] * x_row[i]")), "not exp of an element"),
    _refused(
        _statistics(_TWO.replace("float s", "x_row += C;\n    float s")), "`x_row` changes between the passes"
    ),
    _refused(_statistics(_TWO.replace("float s", "sums[row] = 0.0f;\n    float s")), "it may lie in the row"),
    _refused(_statistics(_TWO.replace("float s", "scaled(x_row + 1);\n    float s")), "may write the row"),
    _refused(_statistics(_TWO.replace("{ s +=", "{ m += 1.0f; s +=")), "no part of a sum of exponentials"),
    _refused(_statistics().replace("const float* x", "const int* x"), "is not known to hold float or double"),
    _refused(
        _ROWS_BEFORE.replace("out[row * C + i] /= (float)total;", "out[row * C + i] /= out[row * C];"),
        "is used besides the three passes",
        "softmax_rows",
    ),
    _refused(
        _ROWS_BEFORE.replace("            total += out[row * C + i];\n", ""),
        "a sum in a later loop is not followed",
        "softmax_rows",
    ),
)
