"""Launches that several files of an extension make together, and those that a size chooses."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.workloads.completing import tried_draft
from kernel_lineage.workloads.draft import recorded_drafts
from kernel_lineage.workloads.files import kernel_of
from kernel_lineage.workloads.following.roles import handed_on, roles_of
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.recording import build
from kernel_lineage.workloads.recording.build import refusal
from kernel_lineage.workloads.recording.call import Call, Parameter
from kernel_lineage.workloads.recording.likeness import modes
from kernel_lineage.workloads.recording.recorder import Recorder
from kernel_lineage.workloads.state import State

needs_compilers = pytest.mark.skipif(bool(refusal()), reason=refusal() or "has nvcc and g++")

TABLE = """
#pragma once
#include <functional>
#include <map>
struct Params { const float* x; float* out; int n; };
using Launcher = std::function<void(Params&)>;
extern std::map<int, Launcher> table;
struct Registers { Registers(int width, Launcher f) { table.insert({width, f}); } };
"""
KERNEL = """
#pragma once
template <int WIDTH> __global__ void widen(Params p) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < p.n) p.out[i] = p.x[i] * WIDTH;
}
"""
LAUNCHING = """
#include "table.h"
#include "kernel.cuh"
template <int WIDTH> void launch(Params& p) { widen<WIDTH><<<(p.n + 63) / 64, 64>>>(p); }
static Registers two(2, [](Params& p) { launch<2>(p); });
static Registers three(3, [](Params& p) { launch<3>(p); });
int same_name(int a) { return a; }
"""
BOUND = """
#include <torch/extension.h>
#include "table.h"
std::map<int, Launcher> table;
int same_name(int a) { return a + 1; }
at::Tensor widened(at::Tensor x, int64_t width) {
  TORCH_CHECK(x.dim() == 1, "one extent");
  TORCH_CHECK(width == 2 || width == 3, "width");
  auto first = x.index({torch::indexing::Slice(), torch::indexing::None});
  auto out = torch::empty({first.size(0)}, x.options());
  Params p{x.data_ptr<float>(), out.data_ptr<float>(), int(x.size(0))};
  table.at(width)(p);
  return out;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("widened", &widened); }
"""
OTHER = """
#include <torch/extension.h>
#include "not_here.h"
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}
"""


def drafts_of(folder: Path, texts: dict[str, str], kernel: str, place: str) -> tuple[list[Draft], str]:
    (folder / "pyproject.toml").write_text("")
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    path = folder / place
    return recorded_drafts(kernel_of(path, kernel), path, State(folder), Recorder(folder), measure=False)


@needs_compilers
@pytest.mark.long
def test_a_kernel_of_a_header_is_launched_through_a_table_of_functions(tmp_path):
    texts = {
        "src/table.h": TABLE,
        "src/kernel.cuh": KERNEL,
        "src/launch.cu": LAUNCHING,
        "src/bound.cpp": BOUND,
    }
    drafts, why = drafts_of(tmp_path, {**texts, "other/bound.cpp": OTHER}, "widen", "src/kernel.cuh")

    assert why == ""
    assert {draft.template_arguments for draft in drafts} <= {("2",), ("3",)}
    assert drafts[0].grid[0] != "1" and drafts[0].block == ("64",)


CHOSEN = """
#include <torch/extension.h>
template <class T> __device__ void libraryAtomicAdd(T* at, T by);
__global__ void any_columns(float* sums, const float* x, int rows, int columns) {
  int r = blockIdx.x * 4 + threadIdx.y;
  if (r < rows) for (int c = threadIdx.x; c < columns; c += 32) gpuAtomicAdd(sums + c, x[r * columns + c]);
}
__global__ void columns_48(float* sums, const float* x, int rows) {
  int r = blockIdx.x * 4 + threadIdx.y;
  if (r < rows) for (int c = threadIdx.x; c < 48; c += 32) gpuAtomicAdd(sums + c, x[r * 48 + c]);
}
at::Tensor summed(at::Tensor x) {
  TORCH_CHECK(x.dim() == 2, "two extents");
  const int rows = x.size(0);
  const int columns = x.size(1);
  auto sums = at::zeros({columns}, x.options());
  dim3 block(32, 4);
  if (columns == 48) columns_48<<<(rows + 3) / 4, block>>>(sums.data_ptr<float>(), x.data_ptr<float>(), rows);
  else any_columns<<<(rows + 3) / 4, block>>>(sums.data_ptr<float>(), x.data_ptr<float>(), rows, columns);
  return sums;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("summed", &summed); }
"""


@needs_compilers
@pytest.mark.long
def test_an_extent_that_chooses_the_kernel_is_tried_with_the_numbers_that_code_compares_it_with(tmp_path):
    (tmp_path / "pyproject.toml").write_text("")
    path = tmp_path / "code.cu"
    path.write_text(CHOSEN)
    kernel = kernel_of(path, "columns_48")
    (draft, *_), why = recorded_drafts(kernel, path, State(tmp_path), Recorder(tmp_path))

    assert why == "" and draft.missing == ()
    by_name = {a.name: a for a in draft.arguments}
    assert (by_name["sums"].kind, by_name["sums"].shape) == ("inout", ("48",))
    assert by_name["x"].shape == ("rows", "48")
    _, proof = tried_draft(kernel, path, kinds=(), draft=draft)
    assert proof is not None and proof.baseline == ""


def test_modes_are_numbers_that_a_text_compares_extents_with():
    call = Call(
        (Parameter("x", "T"), Parameter("y", "T")), {"x": 2, "y": 1}, {}, same={"y_size_0": "x_size_1"}
    )
    text = "const auto wide = (int)y.size(-1); if (wide == 96) a(); else if (wide == 128) b();"
    assert [one.fixed for one in modes(call, text)] == [{"x_size_1": 96}]


def test_pointers_for_functions_that_are_elsewhere_are_told_apart(tmp_path):
    path = tmp_path / "k.cu"
    path.write_text(
        "__device__ void here(float* p) { p[0] = 1; }\n"
        "__global__ void k(float* a, float* b, float* c, float* d, const float* e) {\n"
        "  elsewhere(a + 1); here(b); c[0] = rsqrtf(d[0]); elsewhere(e); libraryAtomicAdd(&c[2], d[1]);\n}\n"
    )
    kernel = kernel_of(path, "k")
    assert handed_on(kernel) == {"a", "c"}
    assert roles_of(kernel) == {"a": "input", "b": "output", "c": "inout", "d": "input", "e": "input"}


@needs_compilers
@pytest.mark.long
def test_the_other_sources_are_not_built_for_a_main_that_does_not_compile(tmp_path, monkeypatch):
    texts = {
        "twice.cu": """
__global__ void twice(float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] *= 2.0f; }
void launch_twice(float* y, int n) { twice<<<1, 64>>>(y, n); }
""",
        "main.cu": """
void launch_twice(float* y, int n);
int main() {
  float* y;
  cudaMalloc(&y, 4 * absent_count());
  launch_twice(y, 64);
}
""",
        **{f"other_{i}.cu": f"int other_{i}() {{ return {i}; }}\n" for i in range(8)},
    }
    begun: list[str] = []
    compiled = build._compiled

    def counted(text, path, *rest):
        begun.append(path.name)
        return compiled(text, path, *rest)

    monkeypatch.setattr(build, "_compiled", counted)
    drafts, why = drafts_of(tmp_path, texts, "twice", "twice.cu")

    assert not drafts
    assert "absent_count" in why
    assert begun.count("main.cu") >= 1
    assert len(begun) < 6


LIBRARY = {
    "lib/sampled.h": """
#pragma once
namespace lib {
struct Extent { int wide, high; };
template <typename Value, typename Place = long>
struct Sampled { Extent shape; int count; const Place* at; const Value* values; };
void gather(const Sampled<float>& sampled, float* sums);
}
""",
    "lib/sampled.cuh": """
#pragma once
#include "sampled.h"
namespace lib {
template <typename V, typename P> __global__ void gather_samples(Sampled<V, P> s, V* sums) {
  int i = blockIdx.x * 32 + threadIdx.x;
  if (i < s.count) atomicAdd(sums + s.at[i] % (s.shape.wide * s.shape.high), s.values[i]);
}
}
""",
    "src/sampled.cu": """
#include "../lib/sampled.cuh"
namespace lib {
void gather(const Sampled<float>& s, float* sums) { gather_samples<<<(s.count + 31) / 32, 32>>>(s, sums); }
}
""",
    "tests/gather.cu": """
#include <cstdlib>
#include <vector>
#include "../lib/sampled.h"
#define SAME(a, b) if ((a) != (b)) std::exit(3)
int main() {
  lib::Sampled<float> s;
  s.shape = {60, 44};
  s.count = 900;
  std::vector<long> at(s.count);
  for (int i = 0; i < s.count; ++i) at[i] = (i * 7) % (s.shape.wide * s.shape.high);
  long* places;
  float *values, *sums;
  cudaMalloc(&places, s.count * sizeof(long));
  cudaMalloc(&values, s.count * sizeof(float));
  cudaMalloc(&sums, s.shape.wide * s.shape.high * sizeof(float));
  cudaMemcpy(places, at.data(), s.count * sizeof(long), cudaMemcpyHostToDevice);
  s.at = places, s.values = values;
  std::vector<float> host(5000, 1.f);
  for (float one : host) SAME(one, 2.f);
  lib::gather(s, sums);
}
""",
}


@needs_compilers
@pytest.mark.long
@pytest.mark.parametrize("place", ["lib/sampled.cuh", "src/sampled.cu"])
def test_a_library_is_run_by_a_program_in_another_folder(tmp_path, place):
    texts = LIBRARY
    if place == "src/sampled.cu":
        kernels = texts["lib/sampled.cuh"].partition("namespace")
        own = texts[place].replace(
            '#include "../lib/sampled.cuh"', '#include "../lib/sampled.h"\nnamespace' + kernels[2]
        )
        texts = {**texts, place: own}
    drafts, why = drafts_of(tmp_path, texts, "gather_samples", place)

    assert why == ""
    (draft,) = drafts
    assert (draft.missing, dict(draft.dims)) == ((), {"wide": 60, "high": 44, "count": 900})
    arguments = {a.name: a for a in draft.arguments}
    assert arguments["s_at"].dtype == "int64", "by the default of the structure's template"
    assert arguments["s_at"].shape == ("count",)
    assert arguments["s_values"].dtype == "float32"
    assert arguments["sums"].shape == ("wide", "high")
    assert arguments["s_shape_wide"].value == "wide", "a field that is filled by braces"


TABLED = """
struct Many { float* const* rows; int count; };
__global__ void halve(Many m, float** others) {
  for (int i = threadIdx.x; i < m.count; i += 32) m.rows[blockIdx.x][i] = 0.5f * others[blockIdx.x][i];
}
int main() {
  int count = 48, rows = 20;
  float **device, **more;
  cudaMalloc(&device, rows * sizeof(float*));
  cudaMalloc(&more, rows * sizeof(float*));
  Many m{device, count};
  halve<<<rows, 32>>>(m, more);
}
"""


@needs_compilers
@pytest.mark.long
def test_addresses_in_a_buffer_are_no_elements(tmp_path):
    drafts, why = drafts_of(tmp_path, {"halve.cu": TABLED}, "halve", "halve.cu")
    assert why == ""
    tables = {m.partition(" is a table of addresses")[0] for m in drafts[0].missing}
    assert tables == {"m_rows", "others"}


DOUBLED = """
#include "doubled.h"
__global__ void doubled_kernel(float* y, const float* x, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}
void doubled(float* y, const float* x, int n) { doubled_kernel<<<(n + 63) / 64, 64>>>(y, x, n); }
"""
WITH_GOOGLETEST = """
#include <vector>
#include <gtest/gtest.h>
#include "../src/doubled.h"
class Doubled : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(cudaMalloc(&x, 4096), cudaSuccess) << "no memory"; }
  float* x = nullptr;
};
TEST(Sum, NeedsNoKernel) { EXPECT_EQ(1 + 1, 2); }
TEST_F(Doubled, IsTwice) {
  const int n = 700;
  float* y;
  ASSERT_NE(x, nullptr);
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&y, n * sizeof(float));
  doubled(y, x, n);
  std::vector<float> host(n);
  cudaMemcpy(host.data(), y, n * sizeof(float), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i) ASSERT_NEAR(host[i], 2.f, 1e-6f) << i;
  EXPECT_THROW(host.at(n), std::out_of_range);
}
"""
WITH_PARAMETERS = """
#include <gtest/gtest.h>
#include "../src/doubled.h"
class Of : public testing::TestWithParam<std::tuple<int, bool, bool>> {};
TEST_P(Of, Size) {
  const int n = std::get<0>(GetParam());
  float *x, *y;
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&y, n * sizeof(float));
  doubled(y, x, n);
}
INSTANTIATE_TEST_SUITE_P(All, Of, testing::Combine(testing::Values(1, 700), testing::Bool(), testing::Bool()));
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
"""
WITH_CATCH2 = """
#include <catch2/catch_test_macros.hpp>
#include "../src/doubled.h"
TEST_CASE("twice", "[doubled]") {
  const auto n = GENERATE(64, 700);
  float *x, *y;
  REQUIRE(cudaMalloc(&x, n * sizeof(float)) == cudaSuccess);
  cudaMalloc(&y, n * sizeof(float));
  SECTION("in order") { doubled(y, x, n); CHECK(n > 0); }
}
"""


@needs_compilers
@pytest.mark.long
@pytest.mark.parametrize("tests", [WITH_GOOGLETEST, WITH_PARAMETERS, WITH_CATCH2])
def test_a_library_is_run_by_the_tests_of_a_framework_that_is_not_installed(tmp_path, tests):
    header = "#pragma once\nvoid doubled(float* y, const float* x, int n);\n"
    texts = {"src/doubled.cu": DOUBLED, "src/doubled.h": header, "tests/doubled.cpp": tests}
    drafts, why = drafts_of(tmp_path, texts, "doubled_kernel", "src/doubled.cu")
    assert why == ""
    (draft,) = drafts
    assert (draft.missing, draft.grid) == ((), ("ceil_div(n, 64)",))
    assert {a.name: a.shape for a in draft.arguments if a.is_buffer} == {"y": ("n",), "x": ("n",)}
    assert dict(draft.dims) == {"n": 700}
