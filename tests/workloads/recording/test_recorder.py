"""Drafts from host code that is built and run against the recording runtime."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_gate.deadline import ends_within
from kernel_lineage.workloads.completing import tried_draft
from kernel_lineage.workloads.draft import draft_of, recorded_drafts
from kernel_lineage.workloads.files import kernel_of
from kernel_lineage.workloads.model import CONSTANT, Structure
from kernel_lineage.workloads.recording import build as builds
from kernel_lineage.workloads.recording import calls
from kernel_lineage.workloads.recording import recorder as recorders
from kernel_lineage.workloads.recording.build import RecordingError, library_of, refusal
from kernel_lineage.workloads.recording.includes import without_kernels
from kernel_lineage.workloads.recording.launches import template_arguments
from kernel_lineage.workloads.recording.recorder import Recorder
from kernel_lineage.workloads.state import State

needs_compilers = pytest.mark.skipif(bool(refusal()), reason=refusal() or "has nvcc and g++")

PROGRAM = """
#include <cstdio>
#include <vector>
#define SIDE 48
struct Image { float* pixels; int width; };
struct Sizes { int rows, columns; };
static Sizes sizes_from(int seed) { Sizes s; s.rows = seed * 3; s.columns = SIDE; return s; }
template <class T, int STEP> __global__ void brighten(T* out, Image in, const int* order, T by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in.pixels[order[i]] * by + STEP;
}
__global__ void never(float* x) { x[0] = 1; }
int main() {
  int seed = 20;
  Sizes s = sizes_from(seed);
  std::vector<int> order(s.rows * s.columns);
  for (size_t i = 0; i < order.size(); ++i) order[i] = int(order.size() - 1 - i);
  float* out; int* d_order; Image image; image.width = s.columns;
  cudaMalloc(&out, order.size() * sizeof(float));
  cudaMalloc(&image.pixels, order.size() * sizeof(float));
  cudaMalloc(&d_order, order.size() * sizeof(int));
  cudaMemcpy(d_order, order.data(), order.size() * sizeof(int), cudaMemcpyHostToDevice);
  brighten<float, 2><<<(s.rows * s.columns + 63) / 64, 64>>>(out, image, d_order, 1.5f);
  if (cudaDeviceSynchronize() != cudaSuccess) exit(1);
}
"""

CELLS = """
#include <cfloat>
#include <vector>
template <class T> struct Span { T* first; size_t length; };
template <class T> class Vector {
 public:
  explicit Vector(const std::vector<T>& host) : length_(host.size()) {
    cudaMalloc(&first_, length_ * sizeof(T));
    cudaMemcpy(first_, host.data(), length_ * sizeof(T), cudaMemcpyHostToDevice);
  }
  ~Vector() { cudaFree(first_); }
  Span<const T> view() const { return {first_, length_}; }
  Span<T> span() { return {first_, length_}; }
 private:
  T* first_ = nullptr;
  size_t length_ = 0;
};
struct Box { int3 cells; float4 low; };
__global__ void count(Box box, Span<const int> start, Span<const float> far, Span<float> out) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < box.cells.x * box.cells.y * box.cells.z) out.first[c] = box.low.x + far.first[c] + start.first[c + 1];
}
int integer(int argc, char** argv, int at, int otherwise) { return argc > at ? atoi(argv[at]) : otherwise; }
int main(int argc, char** argv) {
  const int side = integer(argc, argv, 1, 12);
  const int all = side * side * side;
  std::vector<int> start(all + 1);
  for (int c = 0; c <= all; ++c) start[c] = 2 * c;
  Vector<int> rows(start);
  Vector<float> far(std::vector<float>(all, FLT_MAX)), out(std::vector<float>(all, 0.f));
  Box box{make_int3(side, side, side), make_float4(1, 2, 3, 4)};
  count<<<(all + 63) / 64, 64>>>(box, rows.view(), far.view(), out.span());
}
"""

EXTENSION = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
namespace ours {
template <class T> __global__ void add_rows(T* out, const T* x, const T* bias, int rows, int columns) {
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i < rows * columns) out[i] = x[i] + bias[i % columns];
}
at::Tensor add(const at::Tensor& x, at::Tensor bias, std::optional<at::Tensor> scale) {
  TORCH_CHECK(x.dim() == 3, "three extents");
  TORCH_CHECK(bias.sizes() == at::IntArrayRef({x.size(2)}), "one for each column");
  TORCH_CHECK(x.size(2) % 8 == 0)
  const int rows = x.size(0) * x.size(1), columns = x.size(2);
  auto out = torch::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "add", [&] {
    add_rows<scalar_t><<<(rows * columns + 127) / 128, 128, 0, at::cuda::getCurrentCUDAStream()>>>(
        out.data_ptr<scalar_t>(), x.data_ptr<scalar_t>(), bias.data_ptr<scalar_t>(), rows, columns);
  });
  return out;
}
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("add", &ours::add, "rows"); }
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KLINEAGE_KEEP_IN", str(tmp_path_factory.getbasetemp() / "kept"))


def recorded(folder: Path, text: str, kernel: str):
    path = folder / "code.cu"
    path.write_text(text)
    state = State(folder)
    return recorded_drafts(kernel_of(path, kernel), path, state, Recorder(folder), measure=False)


@needs_compilers
def test_a_program_may_use_what_cuda_13_no_longer_has(tmp_path):
    older = """  struct cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, 0);
  printf("%d kHz, memory %d kHz\\n", prop.clockRate, prop.memoryClockRate);
  cudaMemPrefetchAsync(out, 4, 0, NULL);
  cudaThreadSynchronize();
}
"""
    (draft,), why = recorded(tmp_path, PROGRAM.rstrip()[:-1] + older, "brighten")
    assert why == ""
    assert draft.recorded


def test_what_is_kept_is_of_the_numbers_that_python_gives(tmp_path, monkeypatch):
    code, keys = EXTENSION.replace("at::Tensor bias,", "at::Tensor bias, double eps,"), []

    def run(*_):
        raise RecordingError("not run here")

    monkeypatch.setattr(recorders, "search_of", run)
    monkeypatch.setattr(recorders, "kept", keys.append)
    for number in ("1e-5", "1e-5", "1e-6"):
        (tmp_path / "use.py").write_text(f"add(x, bias, eps={number})")
        recorded(tmp_path, code, "add_rows")
    assert keys[0] == keys[1] != keys[2]


@needs_compilers
@pytest.mark.long
def test_objects_that_own_buffers_tell_types_places_and_where_rows_begin(tmp_path):
    (draft,), why = recorded(tmp_path, CELLS, "count")

    assert why == ""
    assert draft.dims == {"side": 12}
    assert draft.grid == ("ceil_div(side * side * side, 64)",)
    by_name = {a.name: a for a in draft.arguments}
    places = {n: a.place for n, a in by_name.items() if n.startswith("box_")}
    assert places == {
        "box_cells_x": (0, 0), "box_cells_y": (0, 4), "box_cells_z": (0, 8), "box_low_x": (0, 16),
        "box_low_y": (0, 20), "box_low_z": (0, 24), "box_low_w": (0, 28),
    }  # fmt: skip
    assert [by_name[f"box_low_{axis}"].value for axis in "xyzw"] == ["1.0", "2.0", "3.0", "4.0"]
    assert by_name["start_first"].dtype == "int32"
    assert by_name["start_first"].shape == ("side * side * side + 1",)
    assert by_name["start_first"].values == "offsets(side * side * side * 2)"
    assert by_name["far_first"].dtype == "float32"


@needs_compilers
@pytest.mark.long
def test_a_program_tells_sizes_that_its_functions_calculate(tmp_path):
    (draft,), why = recorded(tmp_path, PROGRAM, "brighten")

    assert why == ""
    assert draft.missing == ()
    assert draft.dims == {"seed": 20, "SIDE": 48}
    assert draft.template_arguments == ("float", "2")
    assert draft.grid == ("ceil_div(seed * SIDE * 3, 64)",)
    by_name = {a.name: a for a in draft.arguments}
    assert list(by_name) == ["out", "in_pixels", "in_width", "order", "by"]
    assert by_name["out"].shape == ("seed", "SIDE", "3")
    assert by_name["in_width"].value == "SIDE"
    assert [by_name[n].place for n in ("in_pixels", "in_width", "order")] == [(1, 0), (1, 8), None]
    assert draft.structures == {1: Structure(16, 8)}
    assert by_name["order"].values == "integers(0, seed * SIDE * 3)"
    assert by_name["by"].value == "1.5"


FROM_A_FILE = """
#include <cstdio>
#include <cstdlib>
#include <fstream>
__global__ void invert(unsigned char* out, const unsigned char* in, int width, int height, int level) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < width * height) out[i] = level - in[i];
}
int main(int argc, char** argv) {
  if (argc != 3) { fprintf(stderr, "usage: invert IN LEVEL\\n"); return 1; }
  int width, height, level = atoi(argv[2]);
  READ
  unsigned char *out, *in, *host = (unsigned char*)malloc(width * height);
  cudaMalloc(&out, width * height);
  cudaMalloc(&in, width * height);
  cudaMemcpy(in, host, width * height, cudaMemcpyHostToDevice);
  invert<<<(width * height + 63) / 64, 64>>>(out, in, width, height, level);
}
"""


@needs_compilers
@pytest.mark.long
@pytest.mark.parametrize(
    "read",
    [
        'FILE* f = std::fopen(argv[1], "rb"); if (!f || fscanf(f, "P5 %d %d", &width, &height) != 2) return 1;',
        "std::ifstream in_file(argv[1]); if (!in_file) return 1; in_file >> width >> height;",
    ],
)
def test_what_a_program_reads_from_a_file_or_its_arguments_are_sizes(tmp_path, read):
    (draft,), why = recorded(tmp_path, FROM_A_FILE.replace("READ", read), "invert")

    assert (why, draft.missing) == ("", ())
    assert draft.dims.keys() == {"read_0", "read_1", "level"}
    assert draft.grid == ("ceil_div(read_0 * read_1, 64)",)
    assert [a.shape for a in draft.arguments if a.is_buffer] == [("read_0", "read_1")] * 2


@needs_compilers
@pytest.mark.long
@pytest.mark.parametrize(("text", "kernel"), [(PROGRAM, "brighten"), (EXTENSION, "add_rows")])
def test_gxx_alone_records_what_nvcc_does(tmp_path, monkeypatch, text, kernel):
    compilers = []
    run = builds.run_contained

    def contained(command, *positional, **named):
        compilers.append(Path(command[0]).name)
        return run(command, *positional, **named)

    monkeypatch.setattr(builds, "run_contained", contained)
    plain, _ = recorded(tmp_path, text, kernel)
    assert plain and "nvcc" not in compilers
    monkeypatch.setattr(builds, "may_be_plain", lambda _: False)
    monkeypatch.setattr(recorders, "kept", lambda _: None)
    other, _ = recorded(tmp_path, text, kernel)

    assert "nvcc" in compilers
    assert plain == other


@needs_compilers
@pytest.mark.long
def test_a_number_that_kernels_would_have_computed_is_one(tmp_path):
    text = PROGRAM.replace("d_order, 1.5f)", "d_order, 1.5f / (*(float*)image.pixels))")
    (draft,), why = recorded(tmp_path, text, "brighten")

    assert why == ""
    assert next(a.value for a in draft.arguments if a.name == "by") == "1.0"
    assert any(s.startswith("by follows from what kernels compute") for s in draft.assumed)


SWITCHED = """
#include <torch/extension.h>
#include <stdexcept>
template <int D> __global__ void scale(float* out, const float* x, int rows) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < rows * D) out[i] = 2 * x[i];
}
torch::Tensor scaled(torch::Tensor x) {
  auto out = torch::empty_like(x);
  const int rows = x.size(0), head_dim = x.size(1);
  switch (head_dim) {
    case 40: scale<40><<<rows, 64>>>(out.data_ptr<float>(), x.data_ptr<float>(), rows); break;
    case 80: scale<80><<<2 * rows, 64>>>(out.data_ptr<float>(), x.data_ptr<float>(), rows); break;
    default: throw std::invalid_argument("unsupported head dim");
  }
  return out;
}
"""


@needs_compilers
@pytest.mark.long
def test_what_the_code_throws_itself_is_a_check_behind_its_branches(tmp_path):
    (draft, *_), why = recorded(tmp_path, SWITCHED, "scale")

    assert why == ""
    assert (draft.template_arguments, draft.grid) == (("40",), ("rows",))


@needs_compilers
@pytest.mark.long
def test_a_kernel_that_main_does_not_reach_is_told_with_those_that_it_does(tmp_path):
    drafts, why = recorded(tmp_path, PROGRAM, "never")

    assert drafts == []
    assert "launched brighten, but not never" in why


@needs_compilers
@pytest.mark.long
def test_the_second_time_nothing_is_built(tmp_path, monkeypatch):
    recorded(tmp_path, PROGRAM, "brighten")

    def fail(*_):
        raise AssertionError("it was built again")

    monkeypatch.setattr(recorders, "recorded_program", fail)
    (draft,), _ = recorded(tmp_path, PROGRAM, "brighten")

    assert draft.missing == ()


@needs_compilers
@pytest.mark.long
def test_an_extension_is_called_with_tensors_that_its_checks_accept(tmp_path):
    drafts, why = recorded(tmp_path, EXTENSION, "add_rows")

    assert why == ""
    draft = drafts[0]
    by_name = {a.name: a for a in draft.arguments}
    assert draft.template_arguments == ("float",)
    assert by_name["out"].shape is not None  # the function allocates it
    assert by_name["x"].shape == ("rows", "x_size_1", "columns")  # the code asks for each of its extents
    assert by_name["bias"].shape == ("columns",)  # a check compares it
    assert by_name["columns"].value in draft.dims
    assert draft.missing == ()


CHECKED_SHAPES = """
#include <ATen/Dispatch_v2.h>
#include <torch/extension.h>
template <class T> __global__ void turn(float* out, const T* points, const float* turns, int count, float scale) {
  int i = blockIdx.x * 64 + threadIdx.x;
  for (int k = 0; i < count && k < 3; ++k) out[i * 3 + k] = points[i * 3 + k] * turns[i * 4 + k] * scale;
}
__global__ void turn_back(float* v_points, const float* points, const float* turns, const float* v_out, int count) {
  int i = blockIdx.x * 64 + threadIdx.x;
  for (int k = 0; i < count && k < 3; ++k) v_points[i * 3 + k] = v_out[i * 3 + k] * turns[i * 4 + k];
}
template <auto F> struct offered;
template <class R, class... A, R (*F)(A...)> struct offered<F> {
  static R call(A... a) { return F(a...); }
};
at::Tensor turned(at::Tensor points, at::Tensor turns, double scale) {
  TORCH_CHECK(points.dim() >= 2 && points.size(-1) == 3, "points must be [..., N, 3]");
  at::DimVector shape(points.sizes().slice(0, points.dim() - 1));
  shape.append({4});
  TORCH_CHECK(turns.sizes() == shape, "turns must be [..., N, 4], got ", turns.sizes());
  auto out = at::empty_like(points, points.options().dtype(at::kFloat));
  out.index_put_({0}, at::floor_divide(points, 2));
  const int64_t count = points.numel() / 3;
  AT_DISPATCH_V2(points.scalar_type(), "turned", AT_WRAP([&] {
    turn<scalar_t><<<::cuda::ceil_div<int64_t>(count, 64), 64>>>(
        out.data_ptr<float>(), points.data_ptr<scalar_t>(), turns.data_ptr<float>(), int(count), float(scale));
  }), AT_EXPAND(AT_FLOATING_TYPES), at::kHalf);
  return out;
}
at::Tensor turned_back(at::Tensor points, at::Tensor turns, at::Tensor v_out) {
  auto v_points = at::zeros_like(points);
  const int count = points.size(-2);
  turn_back<<<(count + 63) / 64, 64>>>(v_points.data_ptr<float>(), points.data_ptr<float>(), turns.data_ptr<float>(),
                                       v_out.data_ptr<float>(), count);
  return v_points;
}
TORCH_LIBRARY(ours, m) {
  m.def("turned(Tensor points, Tensor turns, float scale) -> Tensor");
  m.def("turned_back(Tensor points, Tensor turns, Tensor v_out) -> Tensor");
}
TORCH_LIBRARY_IMPL(ours, CUDA, m) {
  m.impl("turned", &offered<&turned>::call);
  m.impl("turned_back", &offered<&turned_back>::call);
}
"""


@needs_compilers
@pytest.mark.long
def test_shapes_are_those_that_checks_compare_with_lists_and_the_same_for_functions_without_checks(tmp_path):
    (tmp_path / "ops.py").write_text("def turned(points, turns, scale: float = 0.25): ...\n")
    drafts, why = recorded(tmp_path, CHECKED_SHAPES, "turn")

    assert why == ""
    by_name = {a.name: a for a in drafts[0].arguments}
    assert (by_name["points"].shape, by_name["turns"].shape) == (
        ("points_size_0", "3"),
        ("points_size_0", "4"),
    )
    assert by_name["scale"].value == "0.25"  # as the repository's Python has it
    assert drafts[0].missing == ()

    (back,), _ = recorded(tmp_path, CHECKED_SHAPES, "turn_back")
    by_name = {a.name: a for a in back.arguments}
    assert (by_name["points"].shape, by_name["turns"].shape) == (
        ("points_size_0", "3"),
        ("points_size_0", "4"),
    )
    assert back.missing == ("the shape of v_out: it was made for the call that was recorded",)


LAST_EXTENT = """
#include <torch/extension.h>
template <typename T>
__global__ void sum_columns(float* out, const T* x, int rows, int columns) {
  int c = blockIdx.x * 32 + threadIdx.x;
  float sum = 0;
  for (int r = 0; r < rows; ++r) if (c < columns) sum += x[r * columns + c] + 0.f;
  if (c < columns) out[c] = sum;
}
torch::Tensor column_sums(torch::Tensor x) {
  TORCH_CHECK(x.scalar_type() == at::kHalf, "half");
  auto columns = x.size(x.dim() - 1);
  auto out = torch::empty({columns}, x.options().dtype(torch::kFloat));
  sum_columns<at::Half><<<(columns + 31) / 32, 32>>>(
      out.data_ptr<float>(), x.data_ptr<at::Half>(), x.numel() / columns, columns);
  return out;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("column_sums", &column_sums); }
"""


@needs_compilers
@pytest.mark.long
def test_rows_that_are_summed_up_are_many_and_halves_are_those_of_pytorch(tmp_path):
    (draft,), why = recorded(tmp_path, LAST_EXTENT, "sum_columns")

    assert why == ""
    assert {a.name: a.value for a in draft.arguments if a.kind == "scalar"} == {
        "rows": "x_size_0",
        "columns": "x_size_1",
    }
    assert draft.template_arguments == ("c10::Half",)
    path = tmp_path / "code.cu"
    tried, proof = tried_draft(kernel_of(path, "sum_columns"), path, kinds=(), recorder=Recorder(tmp_path))
    assert tried.recorded
    assert proof is not None and proof.baseline == ""


@needs_compilers
@pytest.mark.long
def test_functions_of_pytorch_have_the_shapes_and_types_that_the_launch_depends_on(tmp_path):
    text = (Path(__file__).parent / "pytorch_calls.cu").read_text()
    (draft,), why = recorded(tmp_path, text, "copied")

    assert why == ""
    assert [a.value for a in draft.arguments if a.kind == "scalar"] == ["n * m"]


IN_PYTHON = """
import torch
from torch.utils.cpp_extension import load_inline
cuda = '''
#include "scale.h"
#include "kernels/half.cuh"
#ifndef WITH_SHIFT
#define WITH_SHIFT 0
#endif
#if WITH_SHIFT
struct Shift : torch::CustomClassHolder { int64_t by = 2; };
__global__ void shifted(float* out, const float* x, int n, int by) {
  int i = blockIdx.x * 64 + threadIdx.x; if (i < n) out[i] = x[i] + by;
}
__global__ void flipped(float* out, const float* x, int n) {
  int i = blockIdx.x * 64 + threadIdx.x; if (i < n) out[i] = -twice(x[i]);
}
torch::Tensor run(torch::Tensor x, int64_t mode) {
  auto by = c10::make_intrusive<Shift>();
  auto out = torch::empty_like(x);
  int n = 1;
  for (auto k : c10::irange(x.dim())) n *= x.size(k);
  int blocks = std::max(1, (n + 63) / 64);
  if (mode == 2) flipped<<<blocks, 64>>>(out.data_ptr<float>(), x.data_ptr<float>(), n);
  else shifted<<<blocks, 64>>>(out.data_ptr<float>(), x.data_ptr<float>(), n, by->by);
  return out;
}
#endif
'''
module = load_inline(name="m", cpp_sources="torch::Tensor run(torch::Tensor x, int64_t mode);", cuda_sources=cuda)
"""


@needs_compilers
@pytest.mark.long
def test_a_string_of_python_is_recorded_with_its_options_modes_and_headers(tmp_path):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "scale.h").write_text(
        "#pragma once\n__device__ inline float twice(float x) { return 2 * x; }\n"
    )
    half = (
        '#pragma once\n#include "../scale.h"\n__global__ void halved(float* x) { x[0] = twice(x[0]) / 4; }\n'
    )
    (tmp_path / "kernels" / "half.cuh").write_text(half)
    path = tmp_path / "model.py"
    path.write_text(IN_PYTHON)
    for name in ("shifted", "flipped"):
        drafts, why = recorded_drafts(
            kernel_of(path, name), path, State(tmp_path), Recorder(tmp_path), measure=False
        )
        assert why == ""
        assert {a.name: a.value for a in drafts[0].arguments if a.kind == "scalar" and a.name == "by"} == (
            {"by": "2"} if name == "shifted" else {}
        )


@needs_compilers
def test_host_code_that_reading_does_not_follow_is_answered_by_running_it(tmp_path):
    path = tmp_path / "code.cu"
    path.write_text(PROGRAM.replace("s.rows = seed * 3", "s.rows = int(std::vector<int>(seed * 3).size())"))
    kernel = kernel_of(path, "brighten")

    assert draft_of(kernel, path, State(tmp_path), measure=False).missing
    assert not draft_of(kernel, path, State(tmp_path), measure=False, recorder=Recorder(tmp_path)).missing


LAUNCHES = """
__global__ void k(float* x) { x[0] = 1; }
int main() { float* x; cudaMalloc(&x, 64); %s k<<<1, 16>>>(x); %s }
"""


@needs_compilers
@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("", "for (;;) {}", marks=pytest.mark.long),
        ("", "((int*)1)[0] = 1;"),
        pytest.param("abort(); exit(3);", "", marks=pytest.mark.long),
        ('int n = 0; if (scanf("%%d", &n) == 1) return 1;'.replace("%%", "%"), ""),
    ],
    ids=["it never ends", "it crashes", "it leaves", "it asks for input"],
)
def test_launches_before_a_bad_end_count(tmp_path, before, after):
    (draft,), why = recorded(tmp_path, "#include <cstdio>\n" + LAUNCHES % (before, after), "k")

    assert why == ""
    assert draft.arguments[0].shape == ("16",)


@needs_compilers
def test_the_program_can_neither_write_nor_leave_processes(tmp_path):
    mark = tmp_path / "mark"
    text = f'FILE* f = fopen("{mark}", "w"); if (f) fclose(f); if (system("touch {mark}")) {{}}'

    drafts, _ = recorded(tmp_path, "#include <cstdio>\n#include <cstdlib>\n" + LAUNCHES % (text, ""), "k")

    assert len(drafts) == 1
    assert not mark.exists()


PARTLY = """
#include <torch/extension.h>
#include <absent/rng.h>
__global__ void halve(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= 0.5f; }
__global__ void noise(float* x, rng_state seed) { x[0] = next(seed); }
void halved(at::Tensor x) { halve<<<1, 64>>>(x.data_ptr<float>(), x.size(0)); }
void noised(at::Tensor x) {
  rng_state seed = make_state(x.size(0));
  noise<<<1, 1>>>(x.data_ptr<float>(), seed);
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("halved", &halved); m.def("noised", &noised); }
"""


@needs_compilers
@pytest.mark.long
def test_what_a_header_is_missing_for_is_lost_alone(tmp_path):
    (draft, *_), why = recorded(tmp_path, PARTLY, "halve")
    none, absent = recorded(tmp_path, PARTLY, "noise")

    assert (why, draft.kernel, none) == ("", "halve", [])
    assert "asks for the header absent/rng.h" in absent


TABLES = """
#include <torch/extension.h>
template <int N> struct Table { void* places[N][8]; int sizes[8]; unsigned char tensor_of[256]; int part_of[256]; };
template <class T> __global__ void scale_all(int64_t part, Table<2> table, float by) {
  const int tensor = table.tensor_of[blockIdx.x];
  const int64_t start = table.part_of[blockIdx.x] * part, left = table.sizes[tensor] - start;
  for (int64_t i = threadIdx.x; i < left && i < part; i += 128)
    ((T*)table.places[1][tensor])[start + i] = ((const T*)table.places[0][tensor])[start + i] * by;
}
void scale_lists(int64_t part, std::vector<std::vector<at::Tensor>> lists, double by) {
  TORCH_CHECK(lists.size() == 2, "one list to read and one to write");
  Table<2> table;
  int blocks = 0;
  for (size_t t = 0; t < lists[0].size(); ++t) {
    TORCH_CHECK(lists[0][t].numel() == lists[1][t].numel());
    table.sizes[t] = lists[0][t].numel();
    for (int d = 0; d < 2; ++d) table.places[d][t] = lists[d][t].data_ptr();
    for (int64_t at = 0; at * part < lists[0][t].numel() && blocks < 256; ++at)
      table.tensor_of[blocks] = t, table.part_of[blocks++] = at;
  }
  AT_DISPATCH_FLOATING_TYPES(lists[0][0].scalar_type(), "scale", [&] {
    scale_all<scalar_t><<<blocks, 128>>>(part, table, by);
  });
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("scale_lists", &scale_lists); }
"""


@needs_compilers
@pytest.mark.long
def test_tables_of_tensors_are_given_by_their_places(tmp_path):
    path = tmp_path / "code.cu"
    path.write_text(TABLES)
    (draft, *_), why = recorded_drafts(
        kernel_of(path, "scale_all"), path, State(tmp_path), Recorder(tmp_path)
    )
    by_name = {a.name: a for a in draft.arguments}

    assert (why, draft.missing) == ("", ())
    assert (draft.grid, by_name["part"].value) == (("2",), "65536")  # large, so that the table is short
    assert draft.structures == {1: Structure(1440, 8)}
    assert [by_name[f"table_at_{at}"].kind for at in (0, 8, 64, 72)] == ["input", "input", "output", "output"]
    assert by_name["table_at_128"].value in draft.dims
    assert by_name["table_at_0"].shape == (by_name["table_at_128"].value,)
    # That the second block has the second tensor is a number that no size changes.
    assert (by_name["table_at_160"].kind, by_name["table_at_160"].value) == (CONSTANT, "256")


ACCESSORS = """
#include <torch/extension.h>
template <class T> __global__ void add_bias(at::PackedTensorAccessor32<T, 2, at::RestrictPtrTraits> out,
    const at::PackedTensorAccessor32<T, 2, at::RestrictPtrTraits> x,
    const at::PackedTensorAccessor32<T, 1, at::RestrictPtrTraits> bias,
    const at::PackedTensorAccessor32<T, 3, at::RestrictPtrTraits> shift) {
  const int row = blockIdx.y, column = blockIdx.x * 64 + threadIdx.x;
  if (column < x.size(1)) out[row][column] = x[row][column] + bias[column] * shift[row][0][0];
}
at::Tensor add(at::Tensor x, at::Tensor bias, at::Tensor shift) {
  TORCH_CHECK(x.size(1) == bias.size(0) && x.size(1) % 16 == 0, "whole vectors");
  TORCH_CHECK(x.size(0) == shift.size(0));
  auto out = torch::empty_like(x);
  const dim3 grid((x.size(1) + 63) / 64, x.size(0));
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "add", ([&] {
    add_bias<scalar_t><<<grid, 64>>>(out.packed_accessor32<scalar_t, 2, at::RestrictPtrTraits>(),
        x.packed_accessor32<scalar_t, 2, at::RestrictPtrTraits>(),
        bias.packed_accessor32<scalar_t, 1, at::RestrictPtrTraits>(),
        shift.packed_accessor32<scalar_t, 3, at::RestrictPtrTraits>());
  }));
  return out;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("add", &add); }
"""


@needs_compilers
@pytest.mark.long
def test_packed_accessors_are_given_with_their_extents(tmp_path):
    path = tmp_path / "code.cu"
    path.write_text(ACCESSORS)
    (draft, *_), why = recorded_drafts(kernel_of(path, "add_bias"), path, State(tmp_path), Recorder(tmp_path))
    by_name = {a.name: a for a in draft.arguments}

    assert (why, draft.missing) == ("", ())
    assert [by_name[n].kind for n in ("out", "x", "bias")] == ["output", "input", "input"]
    assert by_name["x"].shape == ("x_size_0", "x_size_1")
    # The kernel reads its corner, and gets all of its extents.
    assert by_name["shift"].shape == ("x_size_0", "shift_size_1", "shift_size_2")
    assert [by_name[f"shift_stride_{i}"].value for i in (0, 2)] == ["shift_size_1 * shift_size_2", "1"]
    assert (by_name["bias_size_0"].value, by_name["bias_size_0"].dtype) == ("x_size_1", "int32")


PICKED = """
#include <torch/extension.h>
template <class T, size_t N> using Rows = torch::PackedTensorAccessor<T, N, torch::RestrictPtrTraits, size_t>;
template <class T> __global__ void pick(Rows<T, 2> out, const Rows<T, 2> x, const Rows<int64_t, 1> where) {
  const size_t row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= where.size(0)) return;
  for (size_t i = 0; i < x.size(1); ++i) out[row][i] = x[where[row]][i];
}
at::Tensor picked(at::Tensor x, at::Tensor where) {
  auto out = torch::empty({where.size(0), x.size(1)}, x.options());
  AT_DISPATCH_FLOATING_TYPES(x.type(), "picked", ([&] {
    pick<scalar_t><<<(where.size(0) + 255) / 256, 256>>>(
        out.packed_accessor<scalar_t, 2, torch::RestrictPtrTraits, size_t>(),
        x.packed_accessor<scalar_t, 2, torch::RestrictPtrTraits, size_t>(),
        where.packed_accessor<int64_t, 1, torch::RestrictPtrTraits, size_t>());
  }));
  return out;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("picked", &picked); }
"""


@needs_compilers
@pytest.mark.long
def test_accessors_of_wide_indices_have_whole_numbers_in_bounds_and_extents_in_order(tmp_path):
    path = tmp_path / "code.cu"
    path.write_text(PICKED)
    (draft, *_), why = recorded_drafts(kernel_of(path, "pick"), path, State(tmp_path), Recorder(tmp_path))
    by_name = {a.name: a for a in draft.arguments}

    assert (why, draft.missing) == ("", ())
    # One block takes the rows of the first call; more of them are tried.
    assert draft.grid == ("ceil_div(where_size_0, 256)",)
    assert by_name["out"].shape == ("where_size_0", "x_size_1")
    assert by_name["x_stride_0"].value == "x_size_1" and by_name["x_stride_0"].dtype == "uint64"
    assert by_name["where"].values == "integers(0, x_size_0)"


@needs_compilers
@pytest.mark.long
def test_a_header_that_is_not_there_is_named(tmp_path):
    drafts, why = recorded(
        tmp_path, "#include <glm/no_such.hpp>\nint main() {}\n__global__ void k(float* x) {}\n", "k"
    )

    assert drafts == []
    assert "asks for the header glm/no_such.hpp" in why


@pytest.mark.parametrize(
    ("header", "library"),
    [
        ("cufft.h", "cuFFT"),
        ("curand.h", "cuRAND"),
        ("cusolverDn.h", "cuSOLVER"),
        ("png.h", None),
        ("nccl/mine.h", None),
    ],
)
def test_libraries_of_nvidia_are_told_by_their_headers(header, library):
    assert library_of(header) == library


@needs_compilers
def test_a_library_that_the_toolkit_lacks_is_not_supported(tmp_path):
    main = "int main() { cutensorHandle plan; k<<<1, 1>>>(0); }"
    text = f"#include <cutensor.h>\n__global__ void k(float* x) {{}}\n{main}\n"
    drafts, why = recorded(tmp_path, text, "k")

    assert drafts == []
    assert "code.cu uses cuTENSOR (cutensor.h), which is not supported" in why


def test_a_file_without_an_entry_says_so(tmp_path):
    drafts, why = recorded(tmp_path, "__global__ void k(float* x) { x[0] = 1; }\n", "k")

    assert drafts == []
    assert "neither a main nor a function that takes tensors" in why


def test_bodies_of_device_code_are_left_out_and_lines_stay():
    device, host = (
        "__device__ int f() {{{}\n}}\n__global__ void k(int* x, int) {{{}\n}}\n",
        "int main() { return 0; }\n",
    )
    text = device.format("\n  return 1;", "\n  x[0] = f();") + host
    bare = device.format("\n", "KLINEAGE_KERNEL(x, unnamed)\n") + host

    assert without_kernels(text) == bare


def test_device_code_whose_result_the_compiler_knows_stays():
    text = "__device__ auto f() { return 1; }\n__host__ __device__ int g() { return 2; }\n"

    assert without_kernels(text) == text


@pytest.mark.parametrize(
    ("kernel", "arguments"),
    [
        ("void ns::k<float, (int)4, (bool)1>(float*, int)", ("float", "4", "true")),
        ("void k<Traits<128, 4u>, c10::Half>(Params)", ("Traits<128, 4>", "c10::Half")),
        ("void ns::k<float, &(float ns::f<float>(float const&))>(float*)", ("float", "&ns::f<float>")),
        ("void k<&(twice(int)), 2>(int*)", ("&twice", "2")),
        ("k(float*)", ()),
        ("void (anonymous namespace)::k<double>(double*)", ("double",)),
    ],
)
def test_template_arguments_of_a_demangled_name(kernel, arguments):
    assert template_arguments(kernel) == arguments


TWO = EXTENSION.replace(
    "PYBIND11_MODULE",
    """
__global__ void negate(float* out, const float* x, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) out[i] = -x[i];
}
at::Tensor negative(const at::Tensor& signal) {
  auto out = torch::empty_like(signal);
  negate<<<(signal.numel() + 63) / 64, 64>>>(out.data_ptr<float>(), signal.data_ptr<float>(), signal.numel());
  return out;
}
PYBIND11_MODULE""",
).replace('"rows");', '"rows"); m.def("negative", &negative, "");')


@needs_compilers
@pytest.mark.long
def test_under_a_deadline_functions_are_called_until_the_kernel_is_launched(tmp_path, monkeypatch):
    called, kept = [], {}

    class Search(recorders.Search):
        def _call(self, entry, end):
            called.append(entry.name)
            super()._call(entry, end)

    monkeypatch.setattr(calls, "Search", Search)
    monkeypatch.setattr(recorders, "kept", kept.get)
    monkeypatch.setattr(recorders, "keep", kept.__setitem__)
    path = tmp_path / "code.cu"
    path.write_text(TWO)
    state, recorder = State(tmp_path), Recorder(tmp_path)
    with ends_within(300):
        for kernel, functions in (("negate", 1), ("negate", 1), ("add_rows", 2)):
            (draft, *_), why = recorded_drafts(kernel_of(path, kernel), path, state, recorder, measure=False)
            assert why == "" and draft.recorded
            assert len(called) == functions
    assert called == ["negative", "add"]
    (program,) = kept.values()
    assert program.is_finished and program.launches("negate") and program.launches("add_rows")


@needs_compilers
@pytest.mark.long
def test_what_is_kept_of_some_kernels_is_added_to(tmp_path, monkeypatch):
    path = tmp_path / "code.cu"
    path.write_text(TWO)
    state = State(tmp_path)
    for kernel in ("negate", "add_rows"):
        with ends_within(300):
            recorded_drafts(kernel_of(path, kernel), path, state, Recorder(tmp_path), measure=False)
    monkeypatch.setattr(recorders, "search_of", None)
    for kernel in ("negate", "add_rows"):
        (draft, *_), why = recorded_drafts(
            kernel_of(path, kernel), path, state, Recorder(tmp_path), measure=False
        )
        assert why == "" and draft.recorded


@needs_compilers
@pytest.mark.long
def test_a_header_that_is_missing_is_seen_without_nvcc(tmp_path, monkeypatch):
    compilers = []
    run = builds.run_contained

    def contained(command, *positional, **named):
        compilers.append(Path(command[0]).name)
        return run(command, *positional, **named)

    monkeypatch.setattr(builds, "run_contained", contained)
    lost = "#include <none/such.h>\n#include <none/other.h>\n"
    (draft,), why = recorded(tmp_path, lost + PROGRAM, "brighten")
    assert why == "" and draft.recorded
    assert compilers.count("nvcc") == 1


@needs_compilers
@pytest.mark.long
def test_what_includes_blocks_of_cub_is_built_without_nvcc(tmp_path, monkeypatch):
    def contained(command, *positional, **named):
        assert Path(command[0]).name != "nvcc"
        return run(command, *positional, **named)

    run = builds.run_contained
    monkeypatch.setattr(builds, "run_contained", contained)
    (draft,), why = recorded(tmp_path, "#include <cub/block/block_scan.cuh>\n" + PROGRAM, "brighten")
    assert why == "" and draft.recorded


ROWS = """
#include <vector>
__global__ void row_sums(const float* values, const int* begin, float* out, int rows) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float sum = 0;
  for (int i = begin[r]; i < begin[r + 1]; i++) sum += values[i];
  out[r] = sum;
}
int main() {
  const int rows = 512, each = 24;
  std::vector<int> begin(rows + 1);
  for (int r = 0; r <= rows; r++) begin[r] = r * each;
  float *values, *out; int* d_begin;
  cudaMalloc(&values, rows * each * sizeof(float));
  cudaMalloc(&out, rows * sizeof(float));
  cudaMalloc(&d_begin, (rows + 1) * sizeof(int));
  cudaMemcpy(d_begin, begin.data(), (rows + 1) * sizeof(int), cudaMemcpyHostToDevice);
  row_sums<<<(rows + 127) / 128, 128>>>(values, d_begin, out, rows);
}
"""


@needs_compilers
@pytest.mark.long
def test_where_rows_begin_ascends_to_what_the_program_put_there(tmp_path):
    (draft,), why = recorded(tmp_path, ROWS, "row_sums")

    assert why == ""
    assert draft.missing == ()
    assert {a.name: a.values for a in draft.arguments}["begin"] == "offsets(rows * each)"


STATE = """
#include <vector>
__global__ void momentum(float* w, const float* g, float* m, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { m[i] = 0.9f * m[i] + g[i]; w[i] -= 0.01f * m[i]; }
}
int main() {
  int n = 700;
  std::vector<float> h(n, 1.f);
  float *w, *g, *m;
  cudaMalloc(&w, n * sizeof(float)); cudaMalloc(&g, n * sizeof(float)); cudaMalloc(&m, n * sizeof(float));
  cudaMemcpy(w, h.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(g, h.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  BEFORE
  for (int t = 0; t < 5; ++t) { EACH momentum<<<(n + 63) / 64, 64>>>(w, g, m, n); }
}
"""


@needs_compilers
@pytest.mark.parametrize(
    ("before", "each", "values"),
    [
        ("cudaMemset(m, 0, n * sizeof(float));", "", ""),
        ("", "cudaMemset(m, 0, n * sizeof(float));", "integers(0, 1)"),
        (
            "cudaMemset(m, 0, n * sizeof(float)); momentum<<<(n + 63) / 64, 64>>>(w, g, m, n);",
            "",
            "integers(0, 1)",
        ),
    ],
)
def test_a_state_that_is_zero_before_a_loop_goes_on_in_it(
    tmp_path: Path, before: str, each: str, values: str
) -> None:
    path = tmp_path / "momentum.cu"
    path.write_text(STATE.replace("BEFORE", before).replace("EACH", each))
    drafts, why = recorded_drafts(
        kernel_of(path, "momentum"), path, State(tmp_path), Recorder(tmp_path), measure=False
    )
    assert drafts, why
    assert next(a.values for a in drafts[0].arguments if a.name == "m") == values


ROWS = """
#include <cstdlib>
#include <vector>
struct Item { float price, weight, rate; };
__global__ void value(const Item* __restrict__ items, float* rows, float* out, int n, int steps) {
  const int i = blockIdx.x;
  if (i >= n) return;
  float* row = rows + (size_t)i * (steps + 1);
  for (int k = threadIdx.x; k <= steps; k += blockDim.x) row[k] = items[i].price * k + items[i].rate;
  __syncthreads();
  if (threadIdx.x == 0) out[i] = row[steps] * items[i].weight;
}
static void run(const Item* items, float* work, float* out, int n, int steps) {
  value<<<n, 64>>>(items, work, out, n, steps);
}
int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 48, steps = argc > 2 ? atoi(argv[2]) : 40;
  std::vector<Item> host(n);
  for (auto& one : host) one = {rand() / 1e9f, 1.f, 2.f};
  Item* items; float *work, *out;
  cudaMalloc(&items, n * sizeof(Item));
  cudaMalloc(&work, (size_t)n * (steps + 1) * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  cudaMemcpy(items, host.data(), n * sizeof(Item), cudaMemcpyHostToDevice);
  run(items, work, out, n, steps);
  std::vector<float> got(n);
  cudaMemcpy(got.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost);
  AFTER
}
"""


@needs_compilers
@pytest.mark.parametrize(
    ("after", "kind"),
    [
        ("cudaFree(work);", "scratch"),
        ("cudaMemcpy(got.data(), work, n * sizeof(float), cudaMemcpyDeviceToHost);", "inout"),
    ],
)
def test_a_buffer_of_main_that_nobody_else_reads_is_a_workspace(
    tmp_path: Path, after: str, kind: str
) -> None:
    (draft,), _ = recorded(tmp_path, ROWS.replace("AFTER", after), "value")
    arguments = {a.name: a for a in draft.arguments}
    assert (arguments["rows"].kind, arguments["out"].kind) == (kind, "output")
    assert arguments["items"].values == "positive", "the numbers of main's structures are"
