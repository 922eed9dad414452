"""The other form of a kernel, which more assists can read, computes the same: the gate's check finds no difference."""

from __future__ import annotations

import pytest

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.verdict import StageStatus
from kernel_gate.workload import Workload
from kernel_lineage.rewrite.assists.readable_forms import readable_form
from kernel_lineage.rewrite.candidate import Candidate
from kernel_texts import kernel_in_text
from rewrite.assists.workloads import workload

_PAIRS = """
struct Found { float far; int at; };
__device__ Found nearer(const Found a, Found b) {
    if (a.far < b.far) { return a; } else if (b.far < a.far) return b;
    return a.at < b.at ? a : b;
}
__global__ void nearest_to(int* out, const float* x, const float* to, int n) {
    __shared__ Found all[64];
    Found own = {3e38f, n};
    for (int i = threadIdx.x; i < n; i += 64) {
        Found one;
        one.at = i;
        one.far = fabsf(x[blockIdx.x * n + i] - to[0]);
        own = nearer(own, one);
    }
    all[threadIdx.x] = own;
    __syncthreads();
    for (int s = 32; s > 0; s >>= 1) {
        if (threadIdx.x < s) all[threadIdx.x] = nearer(all[threadIdx.x], all[threadIdx.x + s]);
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = all[0].at;
}
"""
_EDGES = """
#define EDGE 1.5f
__device__ float at(const float* p, int row, int col, int rows, int cols) {
    if (row < 0 || row >= rows) return EDGE;
    if (col < 0) return 0;
    float v = p[row * cols + (col < cols ? col : cols - 1)];
    if (v < 0.0f) { v *= 0.5f; }
    return v;
}
__device__ void keep(float& least, float v) { if (v >= least) return; least = v; }
__global__ void eroded(float* out, const float* x, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (col >= cols) return;
    float least = at(x, row, col, rows, cols);
    for (int d = -1; d <= 1; d += 2)
        keep(least, at(x, row + d, col, rows, cols) + at(x, row, col + d, rows, cols));
    out[row * cols + col] = least;
}
"""
_BLOCKS = """
__device__ float total(float* room, float v) {
    room[threadIdx.x] = v;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) room[threadIdx.x] += room[threadIdx.x + s];
        __syncthreads();
    }
    v = room[0];
    __syncthreads();
    return v;
}
__global__ void spread(float* out, const float* x, int n) {
    __shared__ float room[64];
    const float* row = x + blockIdx.x * n;
    float v = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) v += row[i];
    const float mean = total(room, v) / n;
    v = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) v += (row[i] - mean) * (row[i] - mean);
    v = total(room, v);
    if (threadIdx.x == 0) out[blockIdx.x] = sqrtf(v / n);
}
"""
_VIEWS = """
#define HD __host__ __device__ inline
struct Extent { int rows, cols; HD size_t count() const { return (size_t)rows * cols; } };
struct Image {
    float gain;
    Extent extent;
    HD int line(size_t i) const { return i / extent.cols; }
    HD bool inside(int row, int col) const { return row >= 0 && row < this->extent.rows && col >= 0 && col < width(); }
    HD int width() const { return extent.cols; }
    HD float scaled(float v) const { return v * (gain + 1); }
};
__global__ void edges(float* out, const float* x, int rows, int cols) {
    const Image image = {0.5f, {rows, cols}};
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= image.extent.count()) return;
    const int row = image.line(i), col = i % image.width();
    float sum = 0.0f;
    for (int d = -1; d <= 1; d++)
        if (image.inside(row + d, col)) sum += image.scaled(x[i + d * image.width()]) - 2;
    out[i] = sum;
}
"""
_TOGETHER = """
__global__ void weighted(float* out, const float* x, int rows, int cols) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x, total = (long long)rows * cols;
    float *const to = out + i, sum = 0.0f, part[2] = {0.5f, 0.25f};
    if (i >= total) return;
    for (int k = 0, last = 2; k < last; k++) sum += part[k] * x[i];
    *to = sum;
}
"""
_NESTED = """
__global__ void blurred(float* out, const float* x, int rows, int cols) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows)
        for (int col = 0; col < cols; col++) for (int one = 0; one < 2; one++)
        {
            float sum = 0.0f;
            for (int d = -1; d <= 1; d++)  // over a window
                if (row + d >= 0 && row + d < rows)
                    for (int e = -1; e <= 1; e++)
                        if (col + e >= 0 && col + e < cols) sum += x[(row + d) * cols + col + e]; else sum += one;
            out[(one * rows + row) * cols + col] = sum;
        }
}
"""
_CASES = [
    pytest.param(
        _NESTED,
        workload("blurred", "H = [1, 7]\nW = [1, 20]", 'grid = ["ceil_div(H, 32)"]\nblock = [32]',
                 "out: output float32 [2, H, W]", "x: input float32 [H, W]", "rows: int32 = H", "cols: int32 = W"),
        ("col++) for", "< rows)\n"),
        id="braces",
    ),
    pytest.param(
        _TOGETHER,
        workload("weighted", "H = [1, 7]\nW = [1, 40]", 'grid = ["ceil_div(H * W, 32)"]\nblock = [32]',
                 "out: output float32 [H, W]", "x: input float32 [H, W]", "rows: int32 = H", "cols: int32 = W"),
        ("threadIdx.x, total", "i, sum", "sum = 0.0f, part"),
        id="declarations",
    ),
    pytest.param(
        _VIEWS,
        workload("edges", "H = [1, 7]\nW = [1, 40]", 'grid = ["ceil_div(H * W, 32)"]\nblock = [32]',
                 "out: output float32 [H, W]", "x: input float32 [H, W]", "rows: int32 = H", "cols: int32 = W"),
        ("count()", "width()", "line(", "inside(", "scaled("),
        id="views",
    ),
    pytest.param(
        _PAIRS,
        workload("nearest_to", "R = [1, 5]\nN = [1, 63, 200]", 'grid = ["R"]\nblock = [64]', "out: output int32 [R]",
                 "x: input float32 [R, N]", "to: input float32 [1]", "n: int32 = N"),
        ("nearer(all", "all["),
        id="pairs",
    ),
    pytest.param(
        _EDGES,
        workload("eroded", "H = [1, 7]\nW = [1, 40]", 'grid = ["ceil_div(W, 32)", "H"]\nblock = [32]',
                 "out: output float32 [H, W]", "x: input float32 [H, W]", "rows: int32 = H", "cols: int32 = W"),
        ("at(x", "keep("),
        id="edges",
    ),
    pytest.param(
        _BLOCKS,
        workload("spread", "R = [1, 5]\nN = [1, 63, 200]", 'grid = ["R"]\nblock = [64]', "out: output float32 [R]",
                 "x: input float32 [R, N]", "n: int32 = N"),
        ("total(room",),
        id="blocks",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("source", "load", "gone"), _CASES)
@pytest.mark.long
def test_it_computes_the_same(source: str, load: Workload, gone: tuple[str, ...]) -> None:
    kernel = kernel_in_text(source, load.kernel)
    form = readable_form(kernel)
    assert form is not None
    assert not [text for text in gone if text in form.kernel.text]
    after = form.candidate.apply(source.encode()).decode()
    options = GateOptions(check_seconds=3600.0)
    programs = [Program("cuda", text, load.kernel) for text in (source, after)]
    stage = judge(*programs, load, device="emulated", options=options).stage("check")
    assert stage is not None
    assert stage.status is StageStatus.PASS, stage.reason


def test_a_candidate_for_it_is_one_for_the_kernel() -> None:
    kernel = kernel_in_text(_BLOCKS, "spread")
    form = readable_form(kernel)
    assert form is not None
    assert form.kernel.source is not None
    nothing = Candidate("skill", "spread", (), "assist", "Nothing is changed.")
    both = form.of_both(nothing)
    assert both.apply(_BLOCKS.encode()) == form.kernel.source.data
    assert both.explanation == "Calls of the file's own functions are written out. Nothing is changed."


_BRACES = """__global__ void summed(float* out, const float* x, int n) {
    const int i = threadIdx.x;
    for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++) for (int l = 0; l < n; l++)
            out[i] += x[(k * n + j) * n + l];
    if (i == 0)
        while (out[n] < 1.0f) out[n] += 0.5f;
}
"""
_BETWEEN = """__global__ void summed(float* out, const float* x, int n) {
    const int i = threadIdx.x;
    for (int k = 0; k < n; k++) {
        for (int j = 0; j < n; j++) {
            for (int l = 0; l < n; l++)
            out[i] += x[(k * n + j) * n + l];
        }
    }
    if (i == 0) {
        while (out[n] < 1.0f) out[n] += 0.5f;
    }
}
"""


def test_loops_are_put_between_braces() -> None:
    form = readable_form(kernel_in_text(_BRACES, "summed"))
    assert form is not None
    assert form.kernel.source is not None
    assert form.kernel.source.data.decode() == _BETWEEN


def test_a_loop_that_holds_a_directive_stays_as_it_is() -> None:
    text = _BRACES.replace("while (out[n]", "\n#pragma unroll\nwhile (out[n]")
    text = text.replace("            out[i] +=", "#ifdef WHOLE\n            out[i] +=").replace(
        "+ l];", "+ l];\n#endif"
    )
    kernel = kernel_in_text(text, "summed")
    form = readable_form(kernel)
    assert form is None or form.kernel.text.count("{") == kernel.text.count("{")
