"""Drafts from host code that is built and run against the recording runtime."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.workloads.draft import draft_of, recorded_drafts
from kernel_lineage.workloads.files import kernel_of
from kernel_lineage.workloads.recording import recorder as recorders
from kernel_lineage.workloads.recording.build import refusal, without_kernels
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
def test_a_program_tells_sizes_that_its_functions_calculate(tmp_path):
    (draft,), why = recorded(tmp_path, PROGRAM, "brighten")

    assert why == ""
    assert draft.missing == ()
    assert draft.dims == {"seed": 20, "SIDE": 48}
    assert draft.template_arguments == ("float", "2")
    assert draft.grid == ("ceil_div(seed * SIDE * 3, 64)",)
    by_name = {a.name: a for a in draft.arguments}
    assert list(by_name) == ["out", "in_pixels", "in_width", "in_at_12", "order", "by"]
    assert by_name["out"].shape == ("seed", "SIDE", "3")
    assert by_name["in_width"].value == "SIDE"
    assert by_name["in_at_12"].value == "0"  # what aligns the next argument
    assert by_name["order"].values == "integers(0, seed * SIDE * 3)"
    assert by_name["by"].value == "1.5"


@needs_compilers
def test_a_kernel_that_main_does_not_reach_is_told_with_those_that_it_does(tmp_path):
    drafts, why = recorded(tmp_path, PROGRAM, "never")

    assert drafts == []
    assert "launched brighten, but not never" in why


@needs_compilers
def test_the_second_time_nothing_is_built(tmp_path, monkeypatch):
    recorded(tmp_path, PROGRAM, "brighten")

    def fail(*_):
        raise AssertionError("it was built again")

    monkeypatch.setattr(recorders, "recorded_program", fail)
    (draft,), _ = recorded(tmp_path, PROGRAM, "brighten")

    assert draft.missing == ()


@needs_compilers
def test_an_extension_is_called_with_tensors_that_its_checks_accept(tmp_path):
    drafts, why = recorded(tmp_path, EXTENSION, "add_rows")

    assert why == ""
    draft = drafts[0]
    by_name = {a.name: a for a in draft.arguments}
    assert draft.template_arguments == ("float",)
    assert by_name["out"].shape is not None  # the function allocates it
    assert by_name["x"].shape is None  # it was made for the call: the device tells what is needed
    assert by_name["columns"].value in draft.dims
    assert set(draft.missing) == {
        f"the shape of {name}: it was made for the call that was recorded" for name in ("x", "bias")
    }


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
        ("", "for (;;) {}"),
        ("", "((int*)1)[0] = 1;"),
        ("abort(); exit(3);", ""),
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


@needs_compilers
def test_a_header_that_is_not_there_is_named(tmp_path):
    drafts, why = recorded(
        tmp_path, "#include <glm/no_such.hpp>\nint main() {}\n__global__ void k(float* x) {}\n", "k"
    )

    assert drafts == []
    assert "asks for the header glm/no_such.hpp" in why


def test_a_file_without_an_entry_says_so(tmp_path):
    drafts, why = recorded(tmp_path, "__global__ void k(float* x) { x[0] = 1; }\n", "k")

    assert drafts == []
    assert "neither a main nor a function that takes tensors" in why


def test_bodies_of_kernels_are_left_out_and_lines_stay():
    text = "__global__ void k(int* x) {\n  x[0] = 1;\n}\nint main() { return 0; }\n"

    assert without_kernels(text) == "__global__ void k(int* x) {\n\n}\nint main() { return 0; }\n"


@pytest.mark.parametrize(
    ("kernel", "arguments"),
    [
        ("void ns::k<float, (int)4, (bool)1>(float*, int)", ("float", "4", "true")),
        ("void k<Traits<128, 4u>, c10::Half>(Params)", ("Traits<128, 4>", "c10::Half")),
        ("k(float*)", ()),
        ("void (anonymous namespace)::k<double>(double*)", ("double",)),
    ],
)
def test_template_arguments_of_a_demangled_name(kernel, arguments):
    assert template_arguments(kernel) == arguments
