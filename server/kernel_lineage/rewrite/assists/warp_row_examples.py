"""Examples of `give_row_to_warp`: kernels before and after, and rows that it must leave to one thread."""

from __future__ import annotations

from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.assists.model import AssistExample, RefusalExample

_SCORES = """\
__global__ void row_scores(float* best, double* total, const float* x, const float* start, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N) {
        const float* here = x + row * C;
        float most = -1e30f;
        float least = 1e30f;
        double sum = start[row];
        for (int i = 0; i < C; i++) {
            if (here[i] > most) { most = here[i]; }
            least = fminf(least, here[i]);
            sum += here[i];
        }
        // Both are written once.
        best[row] = most - least;
        total[row] = sum;
    }
}
void score(float* best, double* total, const float* x, const float* start, int N, int C) {
    const int blocks = (N + 127) / 128;
    row_scores<<<blocks, 128>>>(best, total, x, start, N, C);
}
"""
_SCORES_AFTER = """\
__global__ void row_scores(float* best, double* total, const float* x, const float* start, int N, int C) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (row < N) {
        const float* here = x + row * C;
        float most = -1e30f;
        float least = 1e30f;
        double sum = start[row];
        const double sum_before = sum;
        sum = 0;
        for (int i = lane; i < C; i += 32) {
            if (here[i] > most) { most = here[i]; }
            least = fminf(least, here[i]);
            sum += here[i];
        }
        for (int offset = 16; offset > 0; offset /= 2) {
            least = fminf(least, __shfl_xor_sync(0xffffffffu, least, offset));
            const float other_most = __shfl_xor_sync(0xffffffffu, most, offset);
            if (other_most > most) { most = other_most; }
            sum += __shfl_xor_sync(0xffffffffu, sum, offset);
        }
        sum += sum_before;
        // Both are written once.
        __syncwarp();
        if (lane == 0) {
            best[row] = most - least;
            total[row] = sum;
        }
    }
}
void score(float* best, double* total, const float* x, const float* start, int N, int C) {
    const int blocks = (N + 127) / 128;
    row_scores<<<blocks * 32, 128>>>(best, total, x, start, N, C);
}
"""
_BLEND = """\
__global__ void blend_rows(float* out, float* size, const float* x, const float* share, int N, int C, int K) {
  const unsigned int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= N) { return; }
  float* own = out + (blockIdx.y * N + row) * C;
  for (int i = 0; i < C; i++) { own[i] = 0.0f; }
  for (int k = 0; k < K; k++) {
    const float by = share[row * K + k];
    if (by == 0.0f) { continue; }
    for (int i = 0; i < C; i++) { own[i] += by * x[k * C + i]; }
  }
  size[blockIdx.y * N + row] = own[C - 1];
  float norm = 0.0f;
  for (int i = 1; i < C; ++i) {
    norm += own[i] * own[i];
    own[i] *= 0.5f;
  }
  own[0] = norm;
}
void blend(float* out, float* size, const float* x, const float* share, int N, int C, int K, int planes) {
  blend_rows<<<dim3((N + 63) / 64, planes), 64>>>(out, size, x, share, N, C, K);
}
"""
_BLEND_AFTER = """\
__global__ void blend_rows(float* out, float* size, const float* x, const float* share, int N, int C, int K) {
  const unsigned int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (row >= N) { return; }
  float* own = out + (blockIdx.y * N + row) * C;
  for (int i = lane; i < C; i += 32) { own[i] = 0.0f; }
  __syncwarp();
  for (int k = 0; k < K; k++) {
    const float by = share[row * K + k];
    if (by == 0.0f) { continue; }
    __syncwarp();
    for (int i = lane; i < C; i += 32) { own[i] += by * x[k * C + i]; }
    __syncwarp();
  }
  __syncwarp();
  if (lane == 0) { size[blockIdx.y * N + row] = own[C - 1]; }
  __syncwarp();
  float norm = 0.0f;
  for (int i = 1 + lane; i < C; i += 32) {
    norm += own[i] * own[i];
    own[i] *= 0.5f;
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    norm += __shfl_xor_sync(0xffffffffu, norm, offset);
  }
  __syncwarp();
  if (lane == 0) { own[0] = norm; }
}
void blend(float* out, float* size, const float* x, const float* share, int N, int C, int K, int planes) {
  blend_rows<<<dim3(((N + 63) / 64) * 32, planes), 64>>>(out, size, x, share, N, C, K);
}
"""

APPLIES = (
    AssistExample(Language.CUDA, "row_scores", _SCORES, _SCORES_AFTER),
    AssistExample(Language.CUDA, "blend_rows", _BLEND, _BLEND_AFTER),
)

_HEAD = """\
__global__ void along(float* out, const float* x, int* seen, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) { return; }
"""
_LAUNCH = """\
void run(float* out, const float* x, int* seen, int N, int C) { along<<<(N + 127) / 128, 128>>>(out, x, seen, N, C); }
"""


def _refused(reason: str, body: str, launch: str = _LAUNCH, before: str = "") -> RefusalExample:
    return RefusalExample(Language.CUDA, "along", f"{before}{_HEAD}{body}\n}}\n{launch}", reason)


_SUM = (
    "    float sum = 0.0f;\n    for (int i = 0; i < C; i++) { sum += x[row * C + i]; }\n    out[row] = sum;"
)

REFUSES = (
    _refused(
        "carried from round to round",
        "    float v = 0.0f;\n    for (int i = 0; i < C; i++) { v = 0.5f * v + x[row * C + i]; }\n    out[row] = v;",
    ),
    _refused(
        "carried from round to round",
        "    float sum = 0.0f;\n"
        "    for (int i = 0; i < C; i++) { sum += x[row * C + i]; out[row * C + i] = sum; }",
    ),
    _refused(
        "may be rounded in each round",
        "    int sum = 0;\n    for (int i = 0; i < C; i++) { sum += 0.5f * x[row * C + i]; }\n    out[row] = sum;",
    ),
    _refused(
        "may write what it is handed",
        "    for (int i = 0; i < C; i++) { put(&out[row * C + i], x[row * C + i]); }",
        before="__device__ void put(float* at, float v) { at[1] = v; }\n",
    ),
    _refused("writes memory on the way", _SUM + "\n    float v = out[row] += 1.0f;\n    out[row] = v;"),
    _refused(
        "both may lie in one buffer",
        "    for (int i = 0; i < C; i++) { out[row * C + i] = x[row * C + i] - x[row * C + C - 1 - i]; }",
    ),
    _refused(
        "another element",
        "    for (int i = 0; i < C; i++) { out[row * C + i / 2] = x[row * C + i]; }",
    ),
    _refused(
        "ends the loop early",
        "    for (int i = 0; i < C; i++) { if (x[row * C + i] > 1.0f) { break; } out[row * C + i] = 0.0f; }",
    ),
    _refused(
        "may change on the way",
        "    for (int i = 0; i < seen[row]; i++) { out[row * C + i] = x[row * C + i]; }\n"
        "    for (int i = 0; i < C; i++) { out[row * C + i] += x[row * C + i]; }",
    ),
    _refused(
        "does not count upwards",
        _SUM.replace("i++", "i += 2")
        + "\n    for (int i = 0; i < C; i++) { out[row * C + i] = 0.0f + x[row * C + i]; }",
    ),
    _refused(
        "tells a thread what others did", _SUM + "\n    int k = atomicAdd(seen, 1);\n    out[row] += k;"
    ),
    _refused("beside `row`", _SUM + "\n    out[row] += threadIdx.x;"),
    _refused(
        "not known to be the same", _SUM + "\n    int k = C;\n    while (k > 0) { out[row] += k; k /= 2; }"
    ),
    _refused("is not launched in this file", _SUM, launch=""),
    _refused("no whole warps", _SUM, launch=_LAUNCH.replace("128>>>", "100>>>")),
    _refused(
        "not written at the launch",
        _SUM,
        launch="void run(float* out, const float* x, int* seen, int N, int C) {\n"
        "    dim3 grid = dim3((N + 127) / 128);\n    along<<<grid, 128>>>(out, x, seen, N, C);\n}\n",
    ),
    _refused(
        "not written at the launch",
        _SUM,
        launch="void run(float* out, const float* x, int* seen, int N, int C, dim3 grid) {\n"
        "    along<<<grid, 128>>>(out, x, seen, N, C);\n}\n",
    ),
    _refused(
        "work together",
        "    float sum = 0.0f;\n    for (int i = 0; i < C; i++) { sum += x[row * C + i]; }\n"
        "    sum += __shfl_xor_sync(0xffffffffu, sum, 1);\n    out[row] = sum;",
    ),
)
