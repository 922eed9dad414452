"""The sizes of a draft where callers come with several: the largest are timed, however they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import target_of
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.state import State

KERNEL = """\
#include "scale.h"
__global__ void scale(const float* x, float* y, int rows, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols) y[i] = 2.0f * x[i];
}
void scaled(const float* x, float* y, int rows, int cols) {
    scale<<<(rows * cols + 255) / 256, 256>>>(x, y, rows, cols);
}
"""
HEADER = "#pragma once\nvoid scaled(const float* x, float* y, int rows, int cols);\n"
RUN = """\
#include "scale.h"
#include <vector>
struct Case { int rows, cols; };
static bool run(int rows, int cols) {
    std::vector<float> h(rows * cols), want(rows * cols);
    for (int i = 0; i < rows * cols; i++) h[i] = i % 7;
    float *x, *y;
    cudaMalloc(&x, rows * cols * sizeof(float));
    cudaMalloc(&y, rows * cols * sizeof(float));
    cudaMemcpy(x, h.data(), rows * cols * 4, cudaMemcpyHostToDevice);
    scaled(x, y, rows, cols);
    std::vector<float> got(rows * cols);
    cudaMemcpy(got.data(), y, rows * cols * 4, cudaMemcpyDeviceToHost);
    bool bad = false;
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++) {
            if (got[r * cols + c] != 2 * h[r * cols + c]) return false;
            for (int k = 0; k < 64; k++) bad |= got[r * cols + c] == k;
        }
    return !bad;
}
"""


def drafted(folder: Path, target: str, *programs: str) -> Draft:
    (folder / "scale.cu").write_text(KERNEL)
    (folder / "scale.h").write_text(HEADER)
    for number, program in enumerate(programs):
        (folder / f"program{number}.cu").write_text(RUN + program)
    path = folder / "scale.cu"
    return draft_of(target_of(path, target), path, State(folder), measure=False)


@pytest.mark.parametrize("target", ["scale", "scaled"])
@pytest.mark.parametrize(
    "program",
    [
        "int main() { return run(1, 1) && run(33, 65) && run(2000, 700) && run(2, 9); }",
        "int main() { int bad = !run(1, 1) + !run(33, 65) + !run(2000, 700); return bad; }",
        "int main() { if (!run(1, 1)) return 1; if (!run(2000, 700)) return 1; return 0; }",
        "int main() { assert(run(1, 1)); assert(run(2000, 700)); }",
        (
            "#define CHECKED(r, c) do { if (!run(r, c)) exit(1); } while (0)\n"
            "int main() { CHECKED(1, 1); CHECKED(2000, 700); }"
        ),
        (
            "int main() { auto check = [](int rows, int cols) { return run(rows, cols); };\n"
            "check(1, 1); check(2000, 700); }"
        ),
        (
            "void one() { run(1, 1); } void many() { int rows = 2000, cols = 700; run(rows, cols); }\n"
            "int main() { one(); many(); }"
        ),
        (
            "int main() { Case cases[] = {{1, 1}, {33, 65}, {2000, 700}};\n"
            "for (const auto& c : cases) run(c.rows, c.cols); }"
        ),
        (
            "static const Case cases[] = {{1, 1}, {2000, 700}};\n"
            "int main() { for (int i = 0; i < 2; i++) run(cases[i].rows, cases[i].cols); }"
        ),
        (
            "int main() { std::vector<Case> cases{{1, 1}, {2000, 700}};\n"
            "for (auto [rows, cols] : cases) run(rows, cols); }"
        ),
        (
            "int main() { std::pair<int, int> cases[] = {{1, 1}, {2000, 700}};\n"
            "for (auto [rows, cols] : cases) run(rows, cols); }"
        ),
        (
            "#include <gtest/gtest.h>\nTEST(Scale, One) { EXPECT_TRUE(run(1, 1)); }\n"
            "TEST(Scale, Many) { EXPECT_TRUE(run(33, 65)); EXPECT_TRUE(run(2000, 700)); }\n"
            "TEST(Scale, Row) { EXPECT_TRUE(run(1, 70)); }"
        ),
    ],
)
def test_the_largest_of_the_sizes_that_a_test_in_another_file_calls_with_are_timed(
    tmp_path: Path, target: str, program: str
) -> None:
    draft = drafted(tmp_path, target, program)
    assert draft.missing == () and draft.chosen == ()
    assert draft.timed == ({"rows": 2000, "cols": 700},)
    assert draft.checked["rows"] < 200 and draft.checked["cols"] < 200
    assert {a.name: a.shape for a in draft.arguments if a.shape} == dict.fromkeys("xy", ("rows", "cols"))


@pytest.mark.parametrize("target", ["scale", "scaled"])
def test_a_size_that_a_loop_counts_up_stays_tied_to_what_is_computed_of_it(
    tmp_path: Path, target: str
) -> None:
    draft = drafted(tmp_path, target, "int main() { for (int n = 1; n <= 4096; n *= 4) run(n, n + 3); }")
    assert draft.timed == ({"n": 4096},)
    assert {a.name: a.value for a in draft.arguments if a.kind == "scalar"} == {"rows": "n", "cols": "n + 3"}
    assert {a.name: a.shape for a in draft.arguments if a.shape} == dict.fromkeys("xy", ("n", "n + 3"))


def test_of_a_test_and_a_benchmark_the_larger_sizes_are_timed(tmp_path: Path) -> None:
    small, large = "int main() { run(3, 5); }", "int main() { run(4096, 1024); }"
    assert drafted(tmp_path, "scaled", small, large).dims == {"rows": 4096, "cols": 1024}
    assert drafted(tmp_path, "scaled", large, small).dims == {"rows": 4096, "cols": 1024}


def test_a_launch_too_large_to_be_timed_is_none_of_them(tmp_path: Path) -> None:
    program = "int main() { run(2, 2); run(2000, 700); run(60000, 60000); }"
    assert drafted(tmp_path, "scale", program).dims == {"rows": 2000, "cols": 700}


COUNT = """\
__global__ void count(const unsigned char* data, int n, int* bins) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[data[i]], 1);
}
static void run(int n, int offset) {
    unsigned char* data;
    int* bins;
    cudaMalloc(&data, n + offset);
    cudaMalloc(&bins, 256 * sizeof *bins);
    count<<<(n + 255) / 256, 256>>>(data + offset, n, bins);
}
int main() {
    for (int n : {1, 15, 1000, 1000003, 50000000})
        for (int offset : {1, 7, 16})
            run(n, offset);
}
"""


def test_a_buffer_that_is_allocated_for_each_size_of_a_list_is_as_large_as_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "count.cu"
    path.write_text(COUNT)
    draft = draft_of(target_of(path, "count"), path, State(tmp_path))
    assert draft.missing == () and draft.way == "main"
    assert {a.name: a.shape for a in draft.arguments}["bins"] == ("256",)
    assert draft.dims == {"n": 1000003, "offset": 16}
    assert draft.checked["n"] > 1, "an edge of the list is no size to check a kernel with alone"


STEPS = """\
__global__ void steps(const float* x, float* y, int n, int taps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = taps * x[i];
}
static bool check(int taps, const std::vector<int>& chunks) {
    int total = 0;
    for (int c : chunks) total += c;
    float *x, *y;
    cudaMalloc(&x, total * sizeof(float));
    cudaMalloc(&y, total * sizeof(float));
    int at = 0;
    for (int c : chunks) {
        steps<<<(c + 255) / 256, 256>>>(x + at, y + at, c, taps);
        at += c;
    }
    return true;
}
int main() { return check(3, {100, 5}) && check(7, {1, 1, 3000}) && check(511, {90000, 100000}); }
"""


def test_a_list_of_sizes_is_that_of_the_call_whose_launch_is_drafted(tmp_path: Path) -> None:
    path = tmp_path / "steps.cu"
    path.write_text(STEPS)
    draft = draft_of(target_of(path, "steps"), path, State(tmp_path))
    assert draft.missing == () and draft.dims == {"c": 100000}
    assert {a.name: a.value for a in draft.arguments}["taps"] == "511"
