"""Structures that kernels take by value: their fields are drafted one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import target_of
from kernel_lineage.workloads.following.draft import followed_drafts
from kernel_lineage.workloads.following.unit import unit_of
from kernel_lineage.workloads.model import Structure
from kernel_lineage.workloads.state import State
from workloads.following.first_drafts import first_draft

SOURCE = """\
struct Common { using index_t = int64_t; int rows, cols; index_t stride; };
struct Params : public Common { const float* __restrict__ x; void* y; float* bias; float factor; };
template <int kThreads> __global__ void scale(const Params p) {
  const float* x = p.x + blockIdx.x * p.stride; float* y = (float*)p.y + blockIdx.x * p.stride;
  for (int i = threadIdx.x; i < p.cols; i += kThreads) y[i] = x[i] * p.factor + (p.bias ? p.bias[i] : 0.f);
}
void set(Params& p, const at::Tensor x, at::Tensor y, float factor) {
  memset(&p, 0, sizeof(p));
  p.rows = x.size(0); p.cols = x.size(1) * x.size(2); p.stride = x.stride(0); p.factor = factor;
  p.x = x.data_ptr<float>(); p.y = y.data_ptr();
}
at::Tensor forward(at::Tensor x, double factor) {
  at::Tensor y = at::empty_like(x);
  Params params;
  set(params, x, y, factor);
  scale<64><<<params.rows, 64>>>(params);
  return y;
}
"""


def test_a_structure_by_value_is_given_by_its_fields(tmp_path: Path) -> None:
    draft = first_draft(tmp_path, SOURCE)
    assert draft.missing == ()
    extents = ("x_size_0", "x_size_1", "x_size_2")
    arguments = [
        (a.name, a.kind, a.dtype, a.shape if a.kind != "scalar" else a.value) for a in draft.arguments
    ]
    assert arguments == [
        ("p_rows", "scalar", "int32", "x_size_0"),
        ("p_cols", "scalar", "int32", "x_size_1 * x_size_2"),
        ("p_stride", "scalar", "int64", "x_size_1 * x_size_2"),
        ("p_x", "input", "float32", extents),
        ("p_y", "inout", "float32", extents),
        ("p_bias", "null", "float32", None),
        ("p_factor", "scalar", "float32", "0.5"),
    ]
    (step,) = draft.workload().steps
    assert len(step.arguments) == len(arguments)  # type: ignore[union-attr]


def test_a_structure_with_an_array_is_not_taken_apart(tmp_path: Path) -> None:
    draft = first_draft(tmp_path, SOURCE.replace("float factor;", "float factor; int extents[3];"))
    assert any(why.startswith("the object p, ") for why in draft.missing)


def test_a_template_that_other_files_call_is_followed_with_the_usual_type(tmp_path: Path) -> None:
    source = (
        "template <typename T> __global__ void scale(const T* x, T* y, int n) { if (threadIdx.x < n) y[0] = x[0]; }\n"
        "template <typename T> void launch(const T* x, T* y, int n) { scale<T><<<(n + 31) / 32, 32>>>(x, y, n); }\n"
    )
    draft = first_draft(tmp_path, source)
    assert [a.dtype for a in draft.arguments] == ["float32", "float32", "int32"]
    assert draft.template_arguments == ("float",)
    assert any("taken to be float" in note for note in draft.assumed)


def test_types_to_compute_in_are_wider(tmp_path: Path) -> None:
    source = (
        "template <typename T, typename A> __global__ void scale(const T* x, A* y) { y[0] = x[0]; }\n"
        "void f(at::Tensor x, at::Tensor y) {\n"
        '  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "f", ([&] {\n'
        "    using acc_t = at::acc_type<scalar_t, true>;\n"
        "    scale<scalar_t, acc_t><<<1, 32>>>(x.data_ptr<scalar_t>(), y.data_ptr<acc_t>()); }));\n}\n"
    )
    assert [a.dtype for a in first_draft(tmp_path, source).arguments] == ["float32", "float32"]


def test_an_enumerator_is_no_number_where_a_template_asks_for_it(tmp_path: Path) -> None:
    source = (
        "namespace ops { enum class Mode { Sum, Mean = 4, Max };\n"
        "template <Mode M> __global__ void scale(const float* x, float* y) { y[0] = x[0]; }\n"
        "}\n"
        "void launch(const float* x, float* y) { ops::scale<ops::Mode::Max><<<1, 32>>>(x, y); }\n"
    )
    assert first_draft(tmp_path, source).template_arguments == ("(ops::Mode)5",)


VECTORS = """__global__ void scale(uchar4* y, const float3 colour, uchar4 edge, int2 size) {
  if (threadIdx.x < size.x) y[threadIdx.x].x = edge.w * colour.y;
}
"""


def test_vectors_by_value_are_given_by_their_axes(tmp_path: Path) -> None:
    host = (
        "void launch(uchar4* y, uchar4 edge, int w, int h) {\n"
        "  const float3 c = make_float3(0.25f, 0.5f, 1.f);\n"
        "  scale<<<h, 32>>>(y, c, edge, make_int2(w, h));\n}\n"
    )
    draft = first_draft(tmp_path, VECTORS + host)
    scalars = {a.name: (a.dtype, a.value) for a in draft.arguments if a.kind == "scalar"}
    assert scalars == {
        **{
            f"colour_{axis}": ("float32", value)
            for axis, value in zip("xyz", ("0.25", "0.5", "1.0"), strict=True)
        },
        **{f"edge_{axis}": ("uint8", "3") for axis in "xyzw"},
        "size_x": ("int32", "w"),
        "size_y": ("int32", "h"),
    }


def test_a_vector_that_a_caller_gives_names_its_axes(tmp_path: Path) -> None:
    host = "void launch(uchar4* y, float3 c, uchar4 e, int2 size) { scale<<<size.y, 32>>>(y, c, e, size); }\n"
    draft = first_draft(tmp_path, VECTORS + host)
    assert draft.grid == ("size_y",)
    assert next(a.value for a in draft.arguments if a.name == "size_x") == "size_x"


EXTENTS = """\
struct Extents { int64_t rows, cols; };
__global__ void scale(float* y, const float* x, int64_t rows, int64_t cols) {
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < rows * cols) y[i] = 2.f * x[i];
}
RETURNED
void launch(at::Tensor y, const at::Tensor& x, Extents e) {
  scale<<<(e.rows * e.cols + 127) / 128, 128>>>(y.data_ptr<float>(), x.data_ptr<float>(), e.rows, e.cols);
}
at::Tensor forward(at::Tensor x) {
  auto y = at::empty_like(x);
  launch(y, x, GIVEN);
  return y;
}
"""


@pytest.mark.parametrize(
    ("returned", "argument"),
    [
        ("Extents of(const at::Tensor& t) { return {t.size(0), t.size(1)}; }", "of(x)"),
        (
            "static const Extents of(at::Tensor t) { const auto n = t.size(0); return { n, t.size(1) }; }",
            "of(x)",
        ),
        ("", "{x.size(0), x.size(1)}"),
    ],
)
def test_a_list_in_braces_is_the_structure_that_is_asked_for(
    tmp_path: Path, returned: str, argument: str
) -> None:
    draft = first_draft(tmp_path, EXTENTS.replace("RETURNED", returned).replace("GIVEN", argument))
    assert draft.missing == ()
    assert [a.value for a in draft.arguments if a.kind == "scalar"] == [*draft.dims]
    assert draft.block == ("128",)


VIEWS = """\
template <typename T> struct view { T* data; int rows; int cols; };
#define EXPECTS(c) do { if (!(c)) abort(); } while (0)
__global__ void scale(const float* x, float* y, int rows, int cols) {
  for (int i = threadIdx.x; i < cols; i += 64) y[blockIdx.x * cols + i] = 2.0f * x[blockIdx.x * cols + i];
}
template <typename T> void run(view<const T> in, lib::view<T> out) {
  EXPECTS(in.rows == out.rows && in.cols == out.cols);
  scale<<<in.rows, 64>>>(in.data, out.data, out.rows, in.cols);
}
"""
CALLER = """\
TEST_P(Scale, Rows) {
  auto [rows, cols] = GetParam();
  run<float>({in.data(), rows, cols}, {out.data(), rows, cols});
}
"""


@pytest.mark.parametrize("caller", ["", CALLER], ids=["alone", "called where sizes are not told"])
def test_views_of_a_template_have_sizes_that_checks_tie(tmp_path: Path, caller: str) -> None:
    path = tmp_path / "scale.cu"
    path.write_text(VIEWS + caller)
    kernel = target_of(path, "scale")
    *_, draft = followed_drafts(kernel, unit_of(path.read_text()), path.name, kernel)
    assert draft.grid == ("in_rows",)
    assert [a.value for a in draft.arguments if a.kind == "scalar"] == ["in_rows", "in_cols"]
    assert not draft.promises and set(draft.dims) == {"in_rows", "in_cols"}
    assert all(m.startswith("the shape of ") for m in draft.missing)


METHODS = """\
using u32 = unsigned int;
template <typename T> struct Image {
  T* p; int rows, cols;
  __host__ __device__ size_t size() const { return (size_t)rows * this->cols; }
  __host__ __device__ int padded(int by) const { return (cols + by - 1) / by * by; }
  u32 blocks(u32 threads) const { return (u32)((size() + threads - 1) / threads); }
  __device__ T& operator[](size_t i) { return p[i]; }
};
__global__ void twice(Image<float> image, int wide) {
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < image.size()) image[i] *= wide;
}
void run(float* data, int rows, int cols) {
  Image<float> image{data, rows, cols};
  twice<<<image.blocks(128), 128>>>(image, image.padded(4));
}
"""


def test_functions_of_structures_are_followed_with_the_fields(tmp_path: Path) -> None:
    path = tmp_path / "twice.cu"
    path.write_text(METHODS)
    kernel = target_of(path, "twice")
    draft = next(followed_drafts(kernel, unit_of(METHODS), path.name, kernel))
    assert draft.grid == ("ceil_div(rows * cols, 128)",)
    assert next(a.value for a in draft.arguments if a.name == "wide") == "ceil_div(cols, 4) * 4"


def test_addresses_in_a_buffer_are_asked_for(tmp_path: Path) -> None:
    text = """
struct Many { float* const* rows; int count; };
__global__ void scale(Many m, float** others) { m.rows[blockIdx.x][threadIdx.x] = others[0][threadIdx.x] * m.count; }
void launch(Many m, float** others, int rows) { scale<<<rows, 32>>>(m, others); }
"""
    missing = first_draft(tmp_path, text).missing
    tables = [m.partition(" is a table of addresses")[0] for m in missing if "table of addresses" in m]
    assert tables == ["m_rows", "others"]


def test_whether_a_field_that_is_not_const_is_written_is_seen_when_it_runs(tmp_path: Path) -> None:
    text = """
struct Rows { int n; float* data; };
__global__ void scale(Rows x, Rows y) { if (threadIdx.x < x.n) y.data[threadIdx.x] = 2.f * x.data[threadIdx.x]; }
int main() {
  Rows x, y;
  x.n = 50; y.n = x.n;
  cudaMalloc(&x.data, x.n * sizeof(float));
  cudaMalloc(&y.data, y.n * sizeof(float));
  scale<<<1, 64>>>(x, y);
}
"""
    assert first_draft(tmp_path, text).unread_roles == {"x_data", "y_data"}
    path = tmp_path / "scale.cu"
    draft = draft_of(target_of(path, "scale"), path)
    assert {a.name: a.kind for a in draft.arguments if a.is_buffer} == {"x_data": "input", "y_data": "output"}


ACCESSORS = """\
#include <torch/extension.h>
template <class T, int N> using Rows = torch::PackedTensorAccessor32<T, N, torch::RestrictPtrTraits>;
template <class T> __global__ void pick(Rows<T, 2> out, const Rows<T, 2> x, const Rows<int64_t, 1> where, int n) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  for (int i = 0; i < x.size(1); ++i) out[row][i] = x[where[row]][i];
}
at::Tensor picked(at::Tensor x, at::Tensor where) {
  int n = where.size(0);
  auto out = torch::empty({n, x.size(1)}, x.options());
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "picked", ([&] {
    auto by = x.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>();
    pick<scalar_t><<<(n + 255) / 256, 256>>>(
        out.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(), by,
        where.packed_accessor32<int64_t, 1, torch::RestrictPtrTraits>(), n);
  }));
  return out;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("picked", &picked); }
"""


@pytest.mark.parametrize("called", [False, True])
def test_packed_accessors_are_followed_to_their_tensors(tmp_path: Path, called: bool) -> None:
    path = tmp_path / "pick.cu"
    path.write_text(ACCESSORS)
    if called:
        test = "import torch, picking\nx = torch.randn(50, 24, device='cuda').half()\n"
        (tmp_path / "bench.py").write_text(
            f"{test}picking.picked(x, torch.randint(50, (70,), device='cuda'))\n"
        )
    draft = draft_of(target_of(path, "pick"), path, State(tmp_path))
    by_name = {a.name: a for a in draft.arguments}
    rows, cols, count = ("d50", "d24", "d70") if called else ("x_size_0", "x_size_1", "n")
    assert draft.missing == () and draft.grid == (f"ceil_div({count}, 256)",)
    assert [by_name[n].kind for n in ("out", "x", "where")] == ["output", "input", "input"]
    assert (by_name["out"].shape, by_name["x"].shape) == ((count, cols), (rows, cols))
    assert {by_name[n].dtype for n in ("out", "x")} == {"float16" if called else "float32"}
    assert (by_name["where"].dtype, by_name["where"].values) == ("int64", f"integers(0, {rows})")
    assert (by_name["x_stride_0"].value, by_name["x_stride_0"].place) == (cols, (1, 16))
    assert draft.structures == {0: Structure(24, 8), 1: Structure(24, 8), 2: Structure(16, 8)}
