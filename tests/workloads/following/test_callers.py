"""Host code that a launch does not show: callers in other files, headers of include paths, checks of whole shapes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import target_of
from kernel_lineage.workloads.following.draft import followed_drafts
from kernel_lineage.workloads.following.roles import roles_of
from kernel_lineage.workloads.following.unit import unit_of
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.preprocessed import with_headers
from kernel_lineage.workloads.programs import program_from_file
from kernel_lineage.workloads.state import State

HEADER = """\
#pragma once
#define THREADS 64
enum Mode { KEEP, DOUBLE };
struct Params { const float* x; const float* w; float* y; int rows, cols; };
"""
KERNEL = """\
#include "common.h"
#include <vector>
__global__ void weigh(Params p) {
  for (int i = threadIdx.x; i < p.cols; i += THREADS) {
    const int at = blockIdx.x * p.cols + i; p.y[at] = p.x[at] * p.w[i];
  }
}
int last_power(unsigned int n) { n |= n >> 1; n |= n >> 2; n |= n >> 4; n |= n >> 8; return n - (n >> 1); }
void run_weigh(Params& p, cudaStream_t stream) {
  weigh<<<p.rows, std::min(last_power(p.cols), THREADS), 0, stream>>>(p);
}
"""
CALLER = """\
#include "common.h"
#define CHECK_SHAPE(x, ...) TORCH_CHECK(x.sizes() == torch::IntArrayRef({__VA_ARGS__}), #x " has a wrong shape")
void run_weigh(Params& p, cudaStream_t stream);
at::Tensor weigh_forward(const at::Tensor& x, const at::Tensor& w, at::optional<at::Tensor> out) {
  const int rows = x.size(0), cols = x.size(1);
  CHECK_SHAPE(w, cols);
  auto y = out.has_value() ? out.value() : at::empty_like(x);
  CHECK_SHAPE(y, rows, cols);
  Params p;
  p.x = x.data_ptr<float>(); p.w = w.data_ptr<float>(); p.y = y.data_ptr<float>(); p.rows = rows; p.cols = cols;
  run_weigh(p, at::cuda::getCurrentCUDAStream());
  return y;
}
"""


def _draft(folder: Path) -> Draft:
    for name, text in (
        ("include/common.h", HEADER),
        ("csrc/weigh.cu", KERNEL),
        ("csrc/weigh.cpp", CALLER),
    ):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    path = folder / "csrc" / "weigh.cu"
    return draft_of(target_of(path, "weigh"), path, State(folder), measure=False)


def test_a_structure_is_filled_by_a_caller_in_another_file(tmp_path: Path) -> None:
    draft = _draft(tmp_path)
    assert draft.missing == ()
    assert draft.way == "weigh_forward"
    arguments = [(a.name, a.shape if a.kind != "scalar" else a.value) for a in draft.arguments]
    assert arguments == [
        ("p_x", ("rows", "cols")),
        ("p_w", ("cols",)),
        ("p_y", ("rows", "cols")),
        ("p_rows", "rows"),
        ("p_cols", "cols"),
    ]


def test_a_function_that_rounds_down_to_a_power_of_2_is_told_by_what_it_gives(tmp_path: Path) -> None:
    assert _draft(tmp_path).block == ("min(next_power_of_2(cols + 1) // 2, 64)",)


def test_a_header_is_found_in_a_folder_beside_one_above(tmp_path: Path) -> None:
    _draft(tmp_path)
    assert "#define THREADS 64" in with_headers(tmp_path / "csrc" / "weigh.cu", tmp_path)
    assert "#define THREADS 64" not in with_headers(tmp_path / "csrc" / "weigh.cu", tmp_path / "csrc")


def test_a_block_behind_a_macro_is_called_by_nobody():
    bound = """
    __global__ void scale(float* x) { x[threadIdx.x] *= 2; }
    void run(float* x) { scale<<<1, 32>>>(x); }
    """
    assert unit_of(bound).outermost("scale") == {"run"}
    offered = 'PYBIND11_MODULE(name, m) { m.def("run", &run); }'
    assert unit_of(bound + offered).outermost("scale") == frozenset()


def test_a_parameter_without_a_name_tells_nothing(tmp_path):
    (tmp_path / "k.cu").write_text(
        "__global__ void fill(float* out, int n) { if (threadIdx.x < n) out[threadIdx.x] = 1; }\n"
        "void run(float* out, int, int n) { if (n) fill<<<(n + 31) / 32, 32>>>(out, n); }\n"
    )
    draft = draft_of(target_of(tmp_path / "k.cu", "fill"), tmp_path / "k.cu", State(tmp_path), measure=False)
    assert draft.block == ("32",) and "n" in draft.dims


SCALE = """\
template <int kTimes> __global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) y[i] = kTimes * x[i];
}
template <typename F> bool choose(int value, F f) { return select_one(value, f); }
"""


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("timed([&] { LAUNCH(3); });", ["3"]),
        ("auto t = lib::timed(n, [=]() { LAUNCH(3); });", ["3"]),
        ("bool ok = choose(n, [&]() { LAUNCH(3); return true; });", ["3"]),
        ("choose(n, [&](auto times) { constexpr int T = decltype(times)::value; LAUNCH(T); });", None),
    ],
    ids=["of a library", "with a value", "of a template here", "with a number that it is given"],
)
def test_a_lambda_that_leads_to_the_launch_is_called_by_who_is_handed_it(
    tmp_path: Path, call: str, arguments: list[str] | None
) -> None:
    path = tmp_path / "scale.cu"
    call = re.sub(r"LAUNCH\((\w+)\)", r"scale<\1><<<(n + 63) / 64, 64>>>(x, y, n)", call)
    path.write_text(f"{SCALE}void run(const float* x, float* y, int n) {{ {call} }}\n")
    kernel = target_of(path, "scale")
    draft = next(followed_drafts(kernel, unit_of(path.read_text()), path.name, kernel))
    assert draft.grid == ("ceil_div(n, 64)",)
    about_template = [m for m in draft.missing if "template" in m]
    if arguments is not None:
        assert list(draft.template_arguments) == arguments and not about_template
    else:
        assert about_template == ["the template argument kTimes: nothing tells `T`"]


def test_what_goes_to_functions_that_are_not_here_may_be_written(tmp_path: Path) -> None:
    path = tmp_path / "scale.cu"
    path.write_text(
        "__global__ void scale(const float* x, float* y, float* z, int n) { body(threadIdx.x, x, y, n); z[0] = 1.f; }\n"
        "void run(const float* x, float* y, float* z, int n) { scale<<<1, n>>>(x, y, z, n); }\n"
    )
    kernel = target_of(path, "scale")
    draft = next(followed_drafts(kernel, unit_of(path.read_text()), path.name, kernel))
    assert [a.kind for a in draft.arguments] == ["input", "inout", "output", "scalar"]
    assert draft.unread_roles == {"y"}


def test_a_parameter_whose_name_ends_like_another_is_another(tmp_path: Path) -> None:
    path = tmp_path / "move.cu"
    path.write_text(
        "__device__ void body(int i, const float* point, float* result_point, float buffer_point[8]) {\n"
        "  result_point[i] = point[i]; buffer_point[i] += 1.f; }\n"
        "__global__ void move(const float* point, float* result_point, float* buffer) {\n"
        "  body(threadIdx.x, point, result_point, buffer); }\n"
        "void run(const float* x, float* y, float* z, int n) { move<<<1, n>>>(x, y, z); }\n"
    )
    assert roles_of(target_of(path, "move")) == {
        "point": "input",
        "result_point": "output",
        "buffer": "inout",
    }


def test_what_is_written_through_a_reference_is_written(tmp_path: Path) -> None:
    path = tmp_path / "push.cu"
    path.write_text(
        "struct Body { float at, speed; };\n"
        "__global__ void push(Body* bodies, const Body* forces, float* energy) {\n"
        "  Body& own = bodies[threadIdx.x]; const Body& force = forces[threadIdx.x];\n"
        "  own.speed += force.speed; energy[threadIdx.x] = own.speed; }\n"
    )
    assert roles_of(target_of(path, "push")) == {"bodies": "inout", "forces": "input", "energy": "output"}


LISTED = """\
#include <cuda_runtime.h>
template <int N> __global__ void sum_row(const float* x, float* y) {
  float s = 0; for (int i = 0; i < N; ++i) y[blockIdx.x * N + i] = s += x[blockIdx.x * N + i];
}
void sum_rows(const float* x, float* y, int rows, int n) {
  switch (n) { case 256: sum_row<256><<<rows, 1>>>(x, y); break; case 512: sum_row<512><<<rows, 1>>>(x, y); break; }
}
void tried(int rows, int n) {
  float *x, *y;
  cudaMalloc(&x, rows * n * sizeof(float));
  cudaMalloc(&y, rows * n * sizeof(float));
  sum_rows(x, y, rows, n);
}
int main() { for (int n : {256, 512}) tried(ROWS, n); }
"""


def test_a_number_that_is_written_at_a_call_is_a_dim_where_all_other_sizes_leave_a_draft_large(
    tmp_path: Path,
) -> None:
    path = tmp_path / "sums.cu"
    for rows, expected in (("3000", ("rows",)), ("20", ("20",))):
        path.write_text(LISTED.replace("ROWS", rows))
        draft = draft_of(target_of(path, "sum_row"), path, State(tmp_path), measure=False)
        assert draft.grid == expected and draft.dims.get("rows", 3000) == 3000


NAMED = """\
#include <cuda_runtime.h>
#define CHECK(x) if (cudaError_t error = (x)) { exit(2); }
__global__ void twice(float* x, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) x[i] *= 2;
}
void run(float* x, int n) {
  if (int blocks = (n + 63) / 64; blocks < 65536) {
    CHECK(cudaDeviceSynchronize());
    twice<<<blocks, 64>>>(x, n);
  }
}
int main() { int n = 3000; float* x; cudaMalloc(&x, n * sizeof(float)); run(x, n); }
"""


def test_a_condition_may_name_what_it_asks(tmp_path: Path) -> None:
    path = tmp_path / "twice.cu"
    path.write_text(NAMED)
    draft = draft_of(target_of(path, "twice"), path, State(tmp_path), measure=False)
    assert draft.grid == ("ceil_div(n, 64)",) and not draft.missing
    changed = NAMED.replace(
        "twice<<<blocks", "if (cudaError_t e = cudaGetLastError()) return;\n    twice<<<blocks + 1"
    )
    after = program_from_file(
        path, "twice", draft.workload(), data=changed.encode(), changed_from=NAMED.encode()
    )
    assert after.launch is not None and after.launch.grid == ("(n + 63) // 64 + 1",)
