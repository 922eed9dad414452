"""Examples of `keep_row_in_registers`: rows that are walked again, and loops that it must leave alone."""

from __future__ import annotations

from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.assists.model import AssistExample, RefusalExample

_SPREAD = """\
__global__ void spread(float* out, const float* x, int C) {
    const float* row = x + blockIdx.x * C;
    float low = row[0];
    float high = row[0];
FIRST
    for (int offset = 16; offset > 0; offset /= 2) {
        low = fminf(low, __shfl_xor_sync(0xffffffffu, low, offset));
        high = fmaxf(high, __shfl_xor_sync(0xffffffffu, high, offset));
    }
SECOND
}
"""

_SPREAD_BEFORE = _SPREAD.replace(
    "FIRST",
    """\
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        low = fminf(low, row[i]);
        high = fmaxf(high, row[i]);
    }""",
).replace(
    "SECOND",
    """\
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        out[blockIdx.x * C + i] = (row[i] - low) / (high - low + 1.0f);
    }""",
)

_SPREAD_AFTER = _SPREAD.replace(
    "FIRST",
    """\
    float row_kept[8];
    #pragma unroll
    for (int kept_round = 0; kept_round < 8; kept_round++) {
        int i = threadIdx.x + kept_round * blockDim.x;
        if (i < C) {
            row_kept[kept_round] = row[i];
            low = fminf(low, row_kept[kept_round]);
            high = fmaxf(high, row_kept[kept_round]);
        }
    }
    // What the registers do not hold, as before.
    for (int i = threadIdx.x + 8 * blockDim.x; i < C; i += blockDim.x) {
        low = fminf(low, row[i]);
        high = fmaxf(high, row[i]);
    }""",
).replace(
    "SECOND",
    """\
    #pragma unroll
    for (int kept_round = 0; kept_round < 8; kept_round++) {
        int i = threadIdx.x + kept_round * blockDim.x;
        if (i < C) {
            out[blockIdx.x * C + i] = (row_kept[kept_round] - low) / (high - low + 1.0f);
        }
    }
    // What the registers do not hold, as before.
    for (int i = threadIdx.x + 8 * blockDim.x; i < C; i += blockDim.x) {
        out[blockIdx.x * C + i] = (row[i] - low) / (high - low + 1.0f);
    }""",
)

_LANES = """\
__global__ void centre_by_lanes(float* out, const float *__restrict__ x, int C) {
  int lane = threadIdx.x % 32;
  float s = 0.0f;
FIRST
  for (int o = 16; o > 0; o /= 2) s += __shfl_xor_sync(0xffffffffu, s, o);
SECOND
}
"""

_LANES_BEFORE = _LANES.replace(
    "FIRST", "  for (int i = lane; i < C; i += 32) s += x[blockIdx.x * C + i];"
).replace(
    "SECOND",
    "  for (int i = lane; i < C; i += 32) { out[blockIdx.x * C + i] = x[blockIdx.x * C + i] - s / C; }",
)

_LANES_AFTER = _LANES.replace(
    "FIRST",
    """\
  float x_kept[8];
  #pragma unroll
  for (int kept_round = 0; kept_round < 8; kept_round++) {
    int i = lane + kept_round * 32;
    if (i < C) {
      x_kept[kept_round] = x[blockIdx.x * C + i];
      s += x_kept[kept_round];
    }
  }
  // What the registers do not hold, as before.
  for (int i = lane + 8 * 32; i < C; i += 32) s += x[blockIdx.x * C + i];""",
).replace(
    "SECOND",
    """\
  #pragma unroll
  for (int kept_round = 0; kept_round < 8; kept_round++) {
    int i = lane + kept_round * 32;
    if (i < C) {
      out[blockIdx.x * C + i] = x_kept[kept_round] - s / C;
    }
  }
  // What the registers do not hold, as before.
  for (int i = lane + 8 * 32; i < C; i += 32) { out[blockIdx.x * C + i] = x[blockIdx.x * C + i] - s / C; }""",
)


def _refused(old: str, new: str, reason: str) -> RefusalExample:
    assert old in _SPREAD_BEFORE
    return RefusalExample(Language.CUDA, "spread", _SPREAD_BEFORE.replace(old, new), reason)


APPLIES = (
    AssistExample(Language.CUDA, "spread", _SPREAD_BEFORE, _SPREAD_AFTER),
    AssistExample(Language.CUDA, "centre_by_lanes", _LANES_BEFORE, _LANES_AFTER),
)

REFUSES = (
    _refused(
        "    for (int offset", "    row += 1;\n    for (int offset", "not read again at the same places"
    ),
    _refused("        high = fmaxf(high, row[i]);", "        if (row[i] < 0.0f) break;", "a way out"),
    _refused("i = threadIdx.x; i < C; i += blockDim.x", "i = 0; i < C; i++", "does not deal the row out"),
    _refused(
        "    for (int offset", "    atomicAdd((float*)row, 1.0f);\n    for (int offset", "may write the row"
    ),
    _refused("(row[i] - low)", "(__ldcs(&row[i]) - low)", "by its address or by reference"),
    _refused(
        "low = fminf(low, row[i]);\n        high = fmaxf(high, row[i]);",
        "if (i < 9) { low = row[i]; }",
        "only under",
    ),
    _refused("    for (int i = ", "    #pragma unroll 2\n    for (int i = ", "a pragma of its own"),
)
