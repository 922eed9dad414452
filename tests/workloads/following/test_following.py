"""Host code is followed with numbers that keep their names: what a launch is given, whatever way the code says it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.workloads.following.literals import number_of
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.of_state import NoDraft, State, draft_for

KERNELS = """\
namespace rows { namespace detail {
template <typename T> __global__ void scale(const T* x, T* y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = (T)(a * (float)x[i]);
}
}}
__global__ void product(const float* A, const float* B, float* C, int M, int N, int K) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < M && c < N) { float s = 0; for (int k = 0; k < K; ++k) s += A[r * K + k] * B[k * N + c]; C[r * N + c] = s; }
}
"""
EXTENSION = """\
#define CHECK_INPUT(x) TORCH_CHECK(x.is_cuda(), #x); TORCH_CHECK(x.is_contiguous(), #x)
at::Tensor scale(const at::Tensor& x, double a) {
  CHECK_INPUT(x);
  auto y = at::empty_like(x);
  const int64_t n = x.numel();
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "scale", ([&] {
    rows::detail::scale<scalar_t><<<at::ceil_div(n, 128), 128, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), static_cast<float>(a), n);
  }));
  return y;
}
torch::Tensor product(torch::Tensor A, torch::Tensor B) {
  TORCH_CHECK(A.size(1) == B.size(0), "inner extents");
  TORCH_CHECK(A.size(0) % 4 == 0);
  const auto M = A.size(0), N = B.sizes()[1], K = B.size(0);
  auto C = torch::zeros({M, N}, A.options());
  dim3 block(8, 8), grid((N + block.x - 1) / block.x, (M + 7) / 8);
  auto kernel = &product;
  if (M < 0) { return C; }
  ::product<<<grid, block>>>(A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), M, N, K);
  return C;
}
"""
PROGRAM = """\
#define CHECK(call) do { if ((call) != cudaSuccess) { exit(1); } } while (0)
struct Setup { int rows; int cols; float factor; };
static int blocks_for(int n, int threads = 64) { return (n + threads - 1) / threads; }
float* on_device(size_t n) { float* p; CHECK(cudaMalloc((void**)&p, n * sizeof(*p))); return p; }
int main() {
  Setup s{40, 60, 1.25e-1f};
  const int n = s.rows * s.cols;
  float *x = on_device(n), *y = on_device(n);
  for (int round = 0; round < 10; ++round) {
    rows::detail::scale<float><<<blocks_for(n), 64>>>(x, y, s.factor, n);
  }
  int M = 24, N = 32, K = 48;
  float *A = on_device(M * K), *B = on_device(K * N), *C = on_device(M * N);
  dim3 grid(N / 8, M / 8), block(8, 8);
  void* given[] = {&A, &B, &C, &M, &N, &K};
  cudaLaunchKernel((void*)product, grid, block, given, 0, 0);
}
"""


def drafted(folder: Path, text: str, kernel: str, name: str = "k.cu") -> Draft:
    (folder / name).write_text(text)
    draft = draft_for(State(folder), name, kernel)
    assert not isinstance(draft, NoDraft), draft.reasons
    return draft


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("0.125f", 0.125),
        ("1e-5f", 1e-5),
        ("1'000'000u", 1_000_000),
        ("0x1p-3f", 0.125),
        ("0xFFull", 255),
        ("010", 8),
    ],
)
def test_literals_of_any_form(literal: str, value: float) -> None:
    assert number_of(literal).value == value


def test_an_extension_is_drafted_from_its_tensors(tmp_path: Path) -> None:
    draft = drafted(tmp_path, KERNELS + EXTENSION, "scale")
    arguments = {a.name: a for a in draft.arguments}
    assert arguments["x"].shape == arguments["y"].shape == ("n",)
    assert draft.grid == ("ceil_div(n, 128)",)
    assert draft.template_arguments == ("float",)
    assert draft.entry == "rows::detail::scale"


def test_checks_of_an_extension_say_which_sizes_are_one(tmp_path: Path) -> None:
    draft = drafted(tmp_path, KERNELS + EXTENSION, "product")
    shapes = {a.name: a.shape for a in draft.arguments if a.shape is not None}
    assert shapes["C"] == ("M", "N")
    assert shapes["A"] is not None and shapes["B"] is not None
    assert shapes["A"] == ("M", shapes["B"][0]) and shapes["B"][1] == "N"
    assert any("% 4" in p for p in draft.promises)
    assert draft.workload().keeps_promises(draft.checked)


@pytest.mark.parametrize(
    ("dispatch", "dtype"),
    [
        ('AT_DISPATCH_REDUCED_FLOATING_TYPES(x.scalar_type(), "scale", ([&] {', "float16"),
        ('AT_DISPATCH_SWITCH(x.scalar_type(), "scale", AT_DISPATCH_CASE(at::kBFloat16, ([&] {', "bfloat16"),
        ('AT_DISPATCH_INTEGRAL_TYPES(x.scalar_type(), "scale", ([&] {', "int32"),
    ],
)
def test_a_dispatch_gives_one_of_its_types(tmp_path: Path, dispatch: str, dtype: str) -> None:
    usual = 'AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "scale", ([&] {'
    text = EXTENSION.replace(usual, dispatch)
    if "SWITCH" in dispatch:
        text = text.replace("  }));\n  return y;", "  })));\n  return y;")
    draft = drafted(tmp_path, KERNELS + text, "scale")
    assert {a.dtype for a in draft.arguments if a.is_buffer} == {dtype}


PICKED = """
template <typename scalar_t, typename index_t>
__global__ void picked(const scalar_t* x, const index_t* at, scalar_t* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[at[i]];
}
at::Tensor pick(const at::Tensor& x, const at::Tensor& at) {
  TORCH_CHECK(x.numel() == at.numel());
  auto y = at::empty_like(x);
  const int n = at.numel();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "pick", [&] {
    AT_DISPATCH_INDEX_TYPES(at.scalar_type(), "pick_at", [&] {
      picked<scalar_t, index_t><<<(n + 63) / 64, 64>>>(x.data_ptr<scalar_t>(), at.data_ptr<index_t>(),
                                                      y.data_ptr<scalar_t>(), n);
    });
  });
  return y;
}
"""


def test_a_dispatch_over_indices_within_one_over_floats_gives_each_its_type(tmp_path: Path) -> None:
    draft = drafted(tmp_path, PICKED, "picked")
    assert {a.name: a.dtype for a in draft.arguments if a.is_buffer} == {
        "x": "float32",
        "at": "int32",
        "y": "float32",
    }


VECTORS = """
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
template <int V> struct Width { static constexpr int value = V; };
template <class W> __global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < W::value && i < n / W::value; ++k) y[i * W::value + k] = x[i * W::value + k];
}
template <class W> void launch(const float* x, float* y, int n) {
  const int X = 16;
  copy<W><<<CEIL_DIV(n, W::value), {X, std::min(2, C10_WARP_SIZE), 1}>>>(x, y, n);
}
void run(torch::Tensor x, torch::Tensor y) {
  const int n = x.size(0);
  if (n % 4 == 0) launch<Width<4>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  else launch<Width<1>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
}
"""


def test_a_branch_whose_sides_both_launch_keeps_what_its_side_is_for(tmp_path: Path) -> None:
    draft = drafted(tmp_path, VECTORS, "copy")
    assert draft.template_arguments == ("Width<4>",)
    assert draft.promises[0] == "n % 4 == 0"
    assert draft.grid == ("ceil_div(n, 4)",)  # `(n) + (W::value)` is no cast
    assert draft.block == ("16", "2")


def test_what_is_not_followed_is_no_other_size_of_its_name(tmp_path: Path) -> None:
    text = """
__global__ void twice(float* x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 256) x[i] *= 2;
}
struct Cells { int count() const; };
int main() {
  int n = 512;
  Cells cells = read_cells(n);
  twice<<<n / 128, 64>>>(cells.data(), cells.count());
}
"""
    draft = drafted(tmp_path, text, "twice")
    assert {a.name: a.value for a in draft.arguments}["n"] == "n_given"
    assert draft.dims["n_"] == 512


def test_a_stride_of_a_tensor_with_an_unknown_number_of_extents_is_a_size_of_its_own(tmp_path: Path) -> None:
    text = """
__global__ void pick(const float* x, float* y, long step, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i * step];
}
void run(torch::Tensor x, torch::Tensor y) {
  const int n = y.numel();
  pick<<<(n + 63) / 64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.stride(0), n);
}
"""
    draft = drafted(tmp_path, text, "pick")
    assert {a.name: a.value for a in draft.arguments}["step"] == "step"
    assert "step" in draft.dims


def test_a_program_is_drafted_through_its_own_functions(tmp_path: Path) -> None:
    draft = drafted(tmp_path, KERNELS + PROGRAM, "product")
    assert {a.name: a.shape for a in draft.arguments if a.shape} == {
        "A": ("M", "K"),
        "B": ("K", "N"),
        "C": ("M", "N"),
    }
    assert draft.dims == {"M": 24, "N": 32, "K": 48}
    scaled = drafted(tmp_path, KERNELS + PROGRAM, "scale")
    assert {a.name: a.value for a in scaled.arguments if a.kind == "scalar"}["a"] == "0.125"


def test_cuda_in_a_string_of_python_is_read_at_its_place(tmp_path: Path) -> None:
    text = f'import torch\nfrom torch.utils.cpp_extension import load_inline\nSOURCE = """{KERNELS}{EXTENSION}"""\n'
    draft = drafted(tmp_path, text, "product", "model.py")
    assert draft.grid[1] == "ceil_div(M, 8)"
    kernel = State(tmp_path).kernel("model.py", "product")
    assert text.encode()[kernel.span.start :].startswith(b"__global__ void product")


@pytest.mark.parametrize(
    ("count", "read"),
    [("ceil((float)n / 64)", "ceil_div(n, 64)"), ("ceil(static_cast<double>(n) * 0.5 / 64)", "-(-(")],
)
def test_a_quotient_of_real_numbers_is_not_cut_off(tmp_path: Path, count: str, read: str) -> None:
    run = f"""void run(torch::Tensor x, torch::Tensor y) {{
      int n = x.numel(); int blocks = {count};
      rows::detail::scale<float><<<blocks, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), 1.0f, n);
    }}"""
    draft = drafted(tmp_path, KERNELS + run, "scale")
    assert draft.grid[0].startswith(read)


def test_a_parameter_without_a_name_is_an_argument(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "code.cu").write_text("""\
__global__ void fill(float* x, int n, int) { int i = blockIdx.x * 64 + threadIdx.x; if (i < n) x[i] = 2; }
int main() { float* x; const int n = 1000; cudaMalloc(&x, n * 4); fill<<<(n + 63) / 64, 64>>>(x, n, 3); }
""")
    draft = draft_for(State(tmp_path), "code.cu", "fill", measure=False)
    assert isinstance(draft, Draft) and draft.missing == ()
    assert [a.name for a in draft.workload().args] == ["x", "n", "unnamed_2"]


@pytest.mark.parametrize(
    ("before", "statement", "shape"),
    [
        ("", "n = (a) + (b) * n;", "b * n + a"),
        ("#define AT(i, j) (i) + (j) * n", "n = AT(a, b);", "b * n + a"),
        ("", "if (!(a >= 0 && a < n && b >= 0 && b < n)) return;", "n"),
        ("#define IN(i, j) i < n && j > (0)", "if (!(IN(a, b))) return;", "n"),
        ("", "n = (UNSEEN) + b * n;", "`(UNSEEN) + b * n` cannot be followed"),
    ],
)
def test_values_are_taken_for_no_templates_and_no_types(
    tmp_path: Path, before: str, statement: str, shape: str
) -> None:
    text = f"""{before}
__global__ void k(float* o, int n) {{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) o[i] = n; }}
void run(float* o, int a, int b, int n) {{
  {statement}
  k<<<(n + 31) / 32, 32>>>(o, n);
}}
"""
    (tmp_path / "k.cu").write_text(text)
    draft = draft_for(State(tmp_path), "k.cu", "run")
    if isinstance(draft, NoDraft):
        assert shape in str(draft.reasons)
    else:
        assert draft.arguments[0].shape == (shape,)
