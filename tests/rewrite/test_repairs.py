"""Candidates that may mend a kernel: what was taken out, put back; and barriers."""

from __future__ import annotations

from kernel_lineage.kernels.edits import edited
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.repairs import repairs

RIGHT = """\
__global__ void sum(float* out, const float* x, int n) {
    __shared__ float buf[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    buf[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) {
            buf[threadIdx.x] += buf[threadIdx.x + s];
        }
        __syncthreads();
    }
    if (i < n) out[i] = buf[0]; // é
}
"""


def mended(text, code, lines, earlier=()):
    """The texts that the candidates make of a text."""
    source = read(text.encode(), Language.CUDA)
    kernels = [read(t.encode(), Language.CUDA).kernels[0] for t in earlier]
    offers = repairs(source.kernels[0], code, lines, kernels)
    return {repair.title: edited(source.data, repair.edits).decode() for repair in offers}


def without(line):
    return "".join(one for one in RIGHT.splitlines(keepends=True) if one.strip() != line)


def same(text):
    return "".join(text.split())


def test_what_was_taken_out_is_put_back_the_nearest_first():
    broken = without("__syncthreads();").replace("if (i < n) ", "")
    titles = list(mended(broken, "out-of-bounds", [10], [RIGHT]))
    assert titles[0] == "`if (i < n) out[i] = buf[0]; // é` put back at line 10"
    texts = mended(broken, "out-of-bounds", [10], [RIGHT])
    assert texts[titles[0]].endswith("    if (i < n) out[i] = buf[0]; // é\n}\n")


def test_a_barrier_goes_between_the_accesses_of_a_race():
    broken = RIGHT.replace("    __syncthreads();\n    for", "    for")
    texts = mended(broken, "race", [7, 4])
    assert same(RIGHT) in map(same, texts.values())


def test_a_barrier_goes_to_the_end_of_a_loop_whose_rounds_race():
    broken = RIGHT.replace("        }\n        __syncthreads();\n", "        }\n")
    assert same(RIGHT) in map(same, mended(broken, "race", [7, 7]).values())


def test_nothing_is_made_up_where_nothing_is_known():
    assert mended(RIGHT, "out-of-bounds", [12]) == {}
    assert mended(RIGHT, "race", [99]) == {}


def test_a_text_that_is_the_same_gives_no_candidate():
    assert mended(RIGHT, "mismatch", [4], [RIGHT]) == {}


SAXPY = """\
__global__ void saxpy(float* out, const float* x, float a, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = a * x[i + m];
    if (m > 0) out[i] = a; else out[i] = 0.0f;
}
"""


def test_an_access_out_of_bounds_is_guarded_by_a_number_that_the_kernel_is_given():
    titles = list(mended(SAXPY, "out-of-bounds", [3]))
    assert titles == [
        "`if (i < n)` at line 3",
        "`if (i < m)` at line 3",
        "`if (i + m < n)` at line 3",
        "`if (i + m < m)` at line 3",
    ]
    text = mended(SAXPY, "out-of-bounds", [3])[titles[0]]
    assert text == SAXPY.replace("out[i] = a * x", "if (i < n) out[i] = a * x")


def test_no_guard_goes_where_it_takes_an_else_or_leaves_threads_behind():
    assert not mended(SAXPY, "out-of-bounds", [4])
    waits = SAXPY.replace("out[i] = a * x[i + m];", "out[i] = __shfl_sync(~0u, x[i], 0);")
    assert not mended(waits, "out-of-bounds", [3])
