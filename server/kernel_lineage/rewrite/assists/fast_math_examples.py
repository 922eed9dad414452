"""Examples of `use_fast_math`: calls and divisions before and after, and what it must leave alone."""

from __future__ import annotations

from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.assists.model import AssistExample, RefusalExample

_SHARES = """\
__global__ void shares(float* out, const float* x, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) { return; }
    float sum = 0.0f;
    for (int i = 0; i < columns; i++) {
        sum += EXP(x[row * columns + i]);
    }
    float scale = INVERSE;
    for (int i = 0; i < columns; i++) {
        out[row * columns + i] = EXP(x[row * columns + i]) / sum * scale;
    }
}
"""
_LOSSES = """\
__global__ void losses(float* out, const float* p, const float* v, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = QUOTIENT + LOG;
    }
}
"""
_ONE = """\
__global__ void one(KIND* out, const KIND* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { out[i] = VALUE; }
}
"""


def _shares(exp: str, inverse: str) -> str:
    return _SHARES.replace("EXP", exp).replace("INVERSE", inverse)


def _losses(quotient: str, log: str) -> str:
    return _LOSSES.replace("QUOTIENT", quotient).replace("LOG", log)


def _one(value: str, kind: str = "float", before: str = "") -> str:
    return before + _ONE.replace("VALUE", value).replace("KIND", kind)


def _refused(reason: str, value: str, kind: str = "float", before: str = "") -> RefusalExample:
    return RefusalExample(Language.CUDA, "one", _one(value, kind, before), reason)


APPLIES = (
    AssistExample(
        Language.CUDA,
        "shares",
        _shares("expf", "1.0 / sqrtf(columns)"),
        _shares("__expf", "rsqrtf(columns)"),
    ),
    AssistExample(
        Language.CUDA,
        "losses",
        _losses("2.0f * p[i] / sqrtf(v[i] + 1.0f)", "log(p[i]) + logf(v[i])"),
        _losses("2.0f * p[i] * rsqrtf(v[i] + 1.0f)", "__logf(p[i]) + __logf(v[i])"),
    ),
    AssistExample(
        Language.CUDA,
        "losses",
        _losses("1 / (sqrt(v[i]))", "1.f / sqrtf((float)n)"),
        _losses("rsqrtf(v[i])", "rsqrtf((float)n)"),
    ),
)

REFUSES = (
    _refused("from -pi to pi", "sinf(x[i]) + cosf(x[i])"),
    _refused("keeps 11 bits", "tanhf(x[i])"),
    _refused("NaN for a negative", "powf(x[i], 2.5f)"),
    _refused("use log1pf", "logf(1.0f + x[i])"),
    _refused("double precision", "x[i] / sqrtf(2.0f) + 1.0", kind="double"),
    _refused("double precision", "1.0 / sqrtf(x[i]) * 0.1"),
    _refused("this file's own", "expf(x[i])", before="__device__ float expf(float v) { return 1.0f + v; }\n"),
    _refused("this file's own", "expf(x[i])", before="#define expf(v) (1.0f + (v))\n"),
    RefusalExample(
        Language.CUDA,
        "divide",
        "__global__ void divide(float* out, const float* x, float sum, int n) {\n"
        "    for (int i = threadIdx.x; i < n; i += blockDim.x) { out[i] = x[i] / sum; }\n}\n",
        "beyond 2**126",
    ),
)
