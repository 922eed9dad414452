"""Small steps that the axes show their findings on, each right as it is used, and the workloads that run them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kernel_gate.workload import parse_workload
from kernel_lineage.learning.steps import Step
from kernel_lineage.workloads.programs import program_from_file

_HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"


UNALIKE_TO_16 = 'promises = ["C % 16 != 0", "C > 1"]\n'
"""Sizes of one kind to Triton, which compiles multiples of 16, and 1, anew."""


def rows_workload(
    kernel: str,
    *,
    dims: str,
    language: str = "cuda",
    promises: str = "",
    out: str = '["N", "C"]',
    out_dtype: str = "float32",
    block: int = 32,
    constexpr: str = "{}",
    values: str = "normal",
) -> str:
    """The arguments of a kernel (out, x, C) over N rows of C floats, one block a row."""
    launch = f"constexpr = {constexpr}" if language == "triton" else f"block = [{block}]"
    return f"""kernel = "{kernel}"
language = "{language}"
{promises}
[dims]
{dims}
[[args]]
name = "out"
kind = "output"
dtype = "{out_dtype}"
shape = {out}
[[args]]
name = "x"
kind = "input"
dtype = "float32"
shape = ["N", "C"]
values = "{values}"
[[args]]
name = "C"
kind = "scalar"
dtype = "int32"
value = "C"
[launch]
grid = ["N"]
{launch}
"""


COPY = """__global__ void copy_rows(float* out, const float* x, int C) {
    for (int c = threadIdx.x; c < C; c += blockDim.x) { out[blockIdx.x * C + c] = x[blockIdx.x * C + c]; }
}
"""

COPY_BY_FOUR = """__global__ void copy_rows(float* out, const float* x, int C) {
    const float4* from = reinterpret_cast<const float4*>(x + blockIdx.x * C);
    float4* to = reinterpret_cast<float4*>(out + blockIdx.x * C);
    for (int i = threadIdx.x; i < C / 4; i += blockDim.x) { to[i] = from[i]; }
}
"""

SCALE = """__global__ void scale_rows(float* out, const float* x, int C) {
    const float* row = x + blockIdx.x * C;
    for (int c = threadIdx.x; c < C; c += blockDim.x) { out[blockIdx.x * C + c] = 2.0f * row[c]; }
}
"""

SCALE_BY_FOUR = """__global__ void scale_rows(float* out, const float* x, int C) {
    for (int i = threadIdx.x; i < C / 4; i += blockDim.x) {
        int c = blockIdx.x * C + 4 * i;
        out[c] = 2.0f * x[c];
        out[c + 1] = 2.0f * x[c + 1];
        out[c + 2] = 2.0f * x[c + 2];
        out[c + 3] = 2.0f * x[c + 3];
    }
}
"""

SCALE_WITH_TAIL = SCALE_BY_FOUR.replace(
    "    }\n}\n",
    """    }
    for (int c = C / 4 * 4 + threadIdx.x; c < C; c += blockDim.x) {
        out[blockIdx.x * C + c] = 2.0f * x[blockIdx.x * C + c];
    }
}
""",
)

ROW_SUMS_TWICE = """__global__ void centre_rows(float* out, const float* x, int C) {
    if (threadIdx.x == 0) {
        float mean = 0.0f;
        for (int c = 0; c < C; c++) { mean += x[blockIdx.x * C + c]; }
        mean /= C;
        for (int c = 0; c < C; c++) { out[blockIdx.x * C + c] = x[blockIdx.x * C + c] - mean; }
    }
}
"""

SHIFTED_IN_REGISTERS = """__global__ void centre_rows(float* out, const float* x, int C) {
    const float* row = x + blockIdx.x * C;
    if (threadIdx.x == 0) {
        float mean = 0.0f;
        for (int c = 0; c < C; c++) { out[blockIdx.x * C + c] = mean; mean += row[c]; }
        mean /= C;
        for (int c = 0; c < C; c++) { out[blockIdx.x * C + c] = row[c] - mean; }
    }
}
"""

BLOCK_SUM = """__global__ void sum_rows(float* out, const float* x, int C) {
    __shared__ float partial[1024];
    float sum = 0.0f;
    for (int c = threadIdx.x; c < C; c += blockDim.x) { sum += x[blockIdx.x * C + c]; }
    partial[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int t = 1; t < blockDim.x; t++) { sum += partial[t]; }
        out[blockIdx.x] = sum;
    }
}
"""

BLOCK_SUM_HALVING = """__global__ void sum_rows(float* out, const float* x, int C) {
    __shared__ float partial[1024];
    float sum = 0.0f;
    for (int c = threadIdx.x; c < C; c += blockDim.x) { sum += x[blockIdx.x * C + c]; }
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) { partial[threadIdx.x] += partial[threadIdx.x + half]; }
        __syncthreads();
    }
    if (threadIdx.x == 0) { out[blockIdx.x] = partial[0]; }
}
"""

TRITON_CENTRE = (
    _HEAD
    + """def centre(out, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < C
    values = tl.load(x + row * C + offsets, mask=mask, other=0.0)
    mean = tl.sum(values) / C
    tl.store(out + row * C + offsets, values - mean, mask=mask)
"""
)

TRITON_CENTRE_UNMASKED = (
    _HEAD
    + """def centre(out, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, C, BLOCK):
        total += tl.sum(tl.load(x + row * C + start + tl.arange(0, BLOCK)))
    for start in range(0, C, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        tl.store(out + row * C + offsets, tl.load(x + row * C + offsets) - total / C)
"""
)

TRITON_LOOP = (
    _HEAD
    + """def sum_rows(out, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, C, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x + row * C + offsets, mask=offsets < C, other=0.0))
    tl.store(out + row, total)
"""
)

TRITON_ONE_TILE = (
    _HEAD
    + """def sum_rows(out, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    tl.store(out + row, tl.sum(tl.load(x + row * C + offsets, mask=offsets < C, other=0.0)))
"""
)

SOFTMAX = """__global__ void softmax_rows(float* out, const float* x, int C) {
    const float* row = x + blockIdx.x * C;
    if (threadIdx.x == 0) {
        float top = -INFINITY;
        for (int c = 0; c < C; c++) { top = fmaxf(top, row[c]); }
        float sum = 0.0f;
        for (int c = 0; c < C; c++) { sum += expf(row[c] - top); }
        for (int c = 0; c < C; c++) {
            out[blockIdx.x * C + c] = top == -INFINITY ? 0.0f : expf(row[c] - top) / sum;
        }
    }
}
"""

SOFTMAX_ONLINE = """__global__ void softmax_rows(float* out, const float* x, int C) {
    const float* row = x + blockIdx.x * C;
    if (threadIdx.x == 0) {
        float top = -INFINITY, sum = 0.0f;
        for (int c = 0; c < C; c++) {
            float next = fmaxf(top, row[c]);
            sum *= top == -INFINITY ? 1.0f : expf(top - next);
            sum += row[c] == -INFINITY ? 0.0f : expf(row[c] - next);
            top = next;
        }
        for (int c = 0; c < C; c++) { out[blockIdx.x * C + c] = expf(row[c] - top) / sum; }
    }
}
"""

SOFTMAX_UNSHIFTED = """__global__ void softmax_rows(float* out, const float* x, int C) {
    const float* row = x + blockIdx.x * C;
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (int c = 0; c < C; c++) { sum += expf(row[c]); }
        for (int c = 0; c < C; c++) { out[blockIdx.x * C + c] = expf(row[c]) / sum; }
    }
}
"""

STRIDED = (
    _HEAD
    + """def double(out, x, x_stride, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + row * x_stride + offsets, mask=offsets < C)
    tl.store(out + row * C + offsets, 2.0 * values, mask=offsets < C)
"""
)

STRIDED_FLAT = STRIDED.replace("row * x_stride", "row * C")

STRIDED_WORKLOAD = rows_workload(
    "double",
    language="triton",
    dims="N = [3]\nC = [10]\n",
    constexpr='{ BLOCK = "16" }',
    promises=UNALIKE_TO_16,
).replace(
    '[[args]]\nname = "C"',
    '[[args]]\nname = "x_stride"\nkind = "scalar"\ndtype = "int32"\nvalue = "C"\n[[args]]\nname = "C"',
)

TRITON_COUNTED = (
    _HEAD
    + """def count_rows(out, x, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + row * C + offsets, mask=offsets < C, other=0.0).to(tl.float32)
    tl.store(out + row, tl.sum((values * 1000.0).to(tl.int32)))
"""
)

TRITON_COUNTED_AS_IT_IS = TRITON_COUNTED.replace(".to(tl.float32)", "")

WARP_SUM = """__global__ void count_rows(int* out, const float* x, int C) {
    int count = 0;
    for (int c = threadIdx.x; c < C; c += 32) { count += x[blockIdx.x * C + c] > 0.0f; }
    for (int lane = 16; lane > 0; lane /= 2) { count += __shfl_down_sync(0xffffffff, count, lane); }
    if (threadIdx.x == 0) { out[blockIdx.x] = count; }
}
"""

WARP_SUM_AT_ONCE = """__global__ void count_rows(int* out, const float* x, int C) {
    int count = 0;
    for (int c = threadIdx.x; c < C; c += 32) { count += x[blockIdx.x * C + c] > 0.0f; }
    count = __reduce_add_sync(0xffffffff, count);
    if (threadIdx.x == 0) { out[blockIdx.x] = count; }
}
"""


@dataclass(frozen=True, slots=True)
class Example:
    """A small step of our own, and the conditions that probing it along the axis finds."""

    before: str
    after: str
    workload: str
    """TOML; its `kernel` and `language` are the step's."""
    finds: tuple[str, ...]
    """Expressions; none for a step that is as good as it was."""
    mechanisms: tuple[str, ...] = ()

    def step(self) -> Step:
        """The step, as a transition of a lineage would give it."""
        workload = parse_workload(self.workload)
        suffix = "cu" if workload.language == "cuda" else "py"
        before, after = (
            program_from_file(Path(f"{name}.{suffix}"), workload.kernel, workload, data=text.encode())
            for name, text in (("before", self.before), ("after", self.after))
        )
        return Step("example", before, after, workload, self.mechanisms)


EXAMPLES: dict[str, tuple[Example, ...]] = {
    "aliasing": (
        Example(
            ROW_SUMS_TWICE,
            SHIFTED_IN_REGISTERS,
            rows_workload("centre_rows", dims="N = [3]\nC = [7]\n"),
            ("noalias(out, x)",),
        ),
    ),
    "alignment": (
        Example(
            COPY,
            COPY_BY_FOUR,
            rows_workload("copy_rows", dims="N = [3]\nC = [64]\n", promises='promises = ["C % 4 == 0"]\n'),
            ("align(out) >= 16", "align(x) >= 16"),
            ("vectorised_access",),
        ),
    ),
    "architecture": (
        Example(
            WARP_SUM,
            WARP_SUM_AT_ONCE,
            rows_workload("count_rows", dims="N = [3]\nC = [20]\n", out='["N"]', out_dtype="int32"),
            ("device.compute_capability >= (8, 0)",),
        ),
    ),
    "dtypes": (
        Example(
            TRITON_COUNTED,
            TRITON_COUNTED_AS_IT_IS,
            rows_workload(
                "count_rows",
                language="triton",
                dims="N = [4]\nC = [50]\n",
                promises=UNALIKE_TO_16,
                out='["N"]',
                out_dtype="int32",
                constexpr='{ BLOCK = "64" }',
            ),
            ("dtype(x) == float32",),
        ),
    ),
    "launch": (
        Example(
            BLOCK_SUM,
            BLOCK_SUM_HALVING,
            rows_workload("sum_rows", dims="N = [3]\nC = [100]\n", out='["N"]', block=64),
            ("is_power_of_2(launch.block.x)",),
        ),
        Example(
            TRITON_LOOP,
            TRITON_ONE_TILE,
            rows_workload(
                "sum_rows",
                language="triton",
                dims="N = [2]\nC = [50]\n",
                promises=UNALIKE_TO_16,
                out='["N"]',
                constexpr='{ BLOCK = "64" }',
            ),
            ("BLOCK >= C",),
        ),
    ),
    "masks": (
        Example(
            SOFTMAX,
            SOFTMAX_ONLINE,
            rows_workload("softmax_rows", dims="N = [6]\nC = [5]\n"),
            ("row_has_finite(x)",),
        ),
    ),
    "sizes": (
        Example(
            SCALE, SCALE_BY_FOUR, rows_workload("scale_rows", dims="N = [3]\nC = [64]\n"), ("C % 4 == 0",)
        ),
        Example(SCALE, SCALE_WITH_TAIL, rows_workload("scale_rows", dims="N = [3]\nC = [64]\n"), ()),
        Example(
            TRITON_CENTRE,
            TRITON_CENTRE_UNMASKED,
            rows_workload(
                "centre",
                language="triton",
                dims="N = [2]\nC = [16]\n",
                promises='promises = ["C >= 3", "C <= 20"]',
                constexpr='{ BLOCK = "next_power_of_2(C)" }',
            ),
            ("is_power_of_2(C)",),
        ),
    ),
    "strides": (Example(STRIDED, STRIDED_FLAT, STRIDED_WORKLOAD, ("contiguous(x)",)),),
    "values": (
        Example(
            SOFTMAX,
            SOFTMAX_UNSHIFTED,
            rows_workload("softmax_rows", dims="N = [4]\nC = [20]\n"),
            ("row_log_sum_exp(x) <= 88.7",),
        ),
    ),
}
"""By axis."""
