"""Inputs that say where rows begin: what tells them, and a draft with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_gate.expressions import evaluate_int
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import target_of
from kernel_lineage.workloads.model import Draft, DraftArgument
from kernel_lineage.workloads.of_state import draft_for
from kernel_lineage.workloads.row_offsets import row_offsets, with_row_offsets
from kernel_lineage.workloads.state import State

KERNEL = """__global__ void sums(const float* values, const int* begins, float* out, int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.f;
  for (int i = FIRST; i < LAST; ++i) sum += values[i];
  out[row] = sum;
}
"""
HOST = """void launch(const float* values, const int* begins, float* out, int rows) {
  sums<<<(rows + 127) / 128, 128>>>(values, begins, out, rows);
}
"""


@pytest.mark.parametrize(
    ("first", "last", "names"),
    [
        ("begins[row]", "begins[row + 1]", {"begins"}),
        ("__ldg(begins + row)", "__ldg(&begins[row + 1])", {"begins"}),
        ("begins[row]", "begins[row + 2]", set()),
        ("begins[2 * row]", "begins[2 * row + 1]", set()),
        ("begins[row]", "begins[row + 1] + begins[row + 2]", set()),
        ("0", "begins[row]", set()),
    ],
)
def test_pairs_of_neighbours_are_where_rows_begin(first: str, last: str, names: set[str]) -> None:
    source = read(KERNEL.replace("FIRST", first).replace("LAST", last).encode(), Language.CUDA)
    assert row_offsets(source.kernels[0]) == names


def test_rows_of_a_structure_by_value_begin_where_its_field_says(tmp_path: Path) -> None:
    text = """struct Matrix { const int* begins; const float* values; int rows; };
__global__ void sums(Matrix m, float* out) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m.rows) return;
  float sum = 0.f;
  for (int i = m.begins[row]; i < m.begins[row + 1]; ++i) sum += m.values[i];
  out[row] = sum;
}
void launch(const Matrix& m, float* out) { sums<<<(m.rows + 127) / 128, 128>>>(m, out); }
"""
    (tmp_path / "rows.cu").write_text(text)
    draft = draft_for(tmp_path, "rows.cu", "sums")
    assert isinstance(draft, Draft), draft
    begins = next(a for a in draft.arguments if a.name == "m_begins")
    assert begins.values.startswith("offsets(")


def test_elements_of_all_rows_are_as_many_as_the_last_row_ends_with(tmp_path: Path) -> None:
    text = KERNEL.replace("FIRST", "begins[row]").replace("LAST", "begins[row + 1]") + HOST
    (tmp_path / "rows.cu").write_text(text)
    draft = draft_for(tmp_path, "rows.cu", "sums")
    assert isinstance(draft, Draft), draft
    begins = next(a for a in draft.arguments if a.name == "begins")
    assert begins.values == "offsets(begins_total)"
    assert begins.shape == ("rows + 1",)
    assert next(a.shape for a in draft.arguments if a.name == "values") == ("begins_total",)


def test_all_rows_together_may_be_as_many_as_a_matrix_begins_with() -> None:
    begins = DraftArgument("begins", "input", "int32", ("batch + 1",))
    query = DraftArgument("query", "input", "float32", ("tokens", "heads"))
    dims = {"tokens": 64, "heads": 4, "batch": 8}
    draft = Draft("attend", Language.CUDA, "attend.cu", dims, dims, (query, begins))
    first = next(with_row_offsets(draft, {"begins"}))
    assert first.arguments[1].values == "offsets(tokens)"


def test_rows_that_are_written_do_not_overlap(tmp_path: Path) -> None:
    text = """__global__ void owners(const int* begins, int* out, int rows) {
  const int row = blockIdx.x;
  for (int i = begins[row] + threadIdx.x; i < begins[row + 1]; i += blockDim.x) out[i] = row;
}
int main() {
  const int rows = 50, all = 400;
  int *begins, *out;
  cudaMalloc(&begins, (rows + 1) * sizeof(int));
  cudaMalloc(&out, all * sizeof(int));
  owners<<<rows, 64>>>(begins, out, rows);
}
"""
    (tmp_path / "owners.cu").write_text(text)
    draft = draft_for(tmp_path, "owners.cu", "owners")
    assert isinstance(draft, Draft), draft
    assert draft.missing == ()
    assert next(a.values for a in draft.arguments if a.name == "begins") == "offsets(all)"


POOLED = """import torch
import triton
import triton.language as tl


@triton.jit
def pooled(table, rows, begins, out, dim, BLOCK: tl.constexpr):
    bag = tl.program_id(0).to(tl.int64)
    first = tl.load(FIRST)
    last = tl.load(LAST)
    d = tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for i in range(first, last):
        row = tl.load(rows + i)
        acc += tl.load(table + row * dim + d, mask=d < dim, other=0.0)
    tl.store(out + bag * dim + d, acc, mask=d < dim)


def pooled_rows(table, indices, offsets):
    offsets = offsets.contiguous()
    bags = offsets.numel() - 1
    dim = table.shape[1]
    out = torch.empty(bags, dim, device=table.device)
    pooled[(bags,)](table, indices, offsets, out, dim, BLOCK=triton.next_power_of_2(dim))
    return out
"""
POOLED_TEST = """import torch
from pooled import pooled_rows


def test_rows_of_all_lengths():
    table = torch.randn(500, 48, device="cuda")
    lengths = torch.randint(0, 9, (70,), device="cuda")
    offsets = torch.cat([torch.zeros(1, dtype=torch.long, device="cuda"), lengths.cumsum(0)])
    pooled_rows(table, torch.randint(0, 500, (int(offsets[-1]),), device="cuda"), offsets)


def test_empty():
    table = torch.randn(10, 8, device="cuda")
    offsets = torch.zeros(5, dtype=torch.long, device="cuda")
    pooled_rows(table, torch.empty(0, dtype=torch.long, device="cuda"), offsets)
"""


@pytest.mark.parametrize(
    ("first", "last", "names"),
    [
        ("begins + bag", "begins + bag + 1", {"begins"}),
        ("begins + 1 + bag", "begins + bag", {"begins"}),
        ("begins + bag", "begins + (bag + 1)", {"begins"}),
        ("begins + bag", "begins + bag + 2", set()),
        ("begins + 2 * bag", "begins + 2 * bag + 1", set()),
        ("begins + bag", "begins + bag - dim", set()),
        ("begins + bag", "begins + bag", set()),
    ],
)
def test_pairs_of_neighbours_in_triton(first: str, last: str, names: set[str]) -> None:
    text = POOLED.replace("FIRST", first).replace("LAST", last)
    source = read(text.encode(), Language.TRITON)
    assert row_offsets(source.kernels[0]) == names


@pytest.mark.parametrize("target", ["pooled", "pooled_rows"])
def test_rows_of_a_triton_kernel_begin_where_its_offsets_say_and_an_empty_test_says_nothing(
    tmp_path: Path, target: str
) -> None:
    path = tmp_path / "pooled.py"
    path.write_text(POOLED.replace("FIRST", "begins + bag").replace("LAST", "begins + bag + 1"))
    (tmp_path / "test_pooled.py").write_text(POOLED_TEST)
    draft = draft_of(target_of(path, target), path, State(tmp_path))
    assert draft.missing == ()
    values = {a.name: a.values for a in draft.arguments}
    shapes = {a.name: a.shape for a in draft.arguments}
    rows, begins = ("rows", "begins") if target == "pooled" else ("indices", "offsets")
    (end,) = shapes[rows] or ()
    assert values[begins] == f"offsets({end})" and values[rows].startswith("integers(0, ")
    assert draft.way != "test_empty in test_pooled.py"


SEARCH = """__device__ int owner_of(const int* begins, int rows, int at) {
  int lo = 0, hi = rows - 1;
  while (lo < hi) {
    const int mid = MIDDLE;
    if (begins[mid] <= at) lo = mid; else hi = mid - 1;
  }
  return lo;
}
__global__ void spread(const float* x, const int* begins, float* out, int rows, int all) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= all) return;
  const int row = owner_of(begins, rows, i);
  out[i] = x[row] * (i - begins[row]);
}
"""


@pytest.mark.parametrize(
    ("middle", "names"),
    [
        ("(lo + hi + 1) / 2", {"begins"}),
        ("(lo + hi + 1) >> 1", {"begins"}),
        ("lo + (hi - lo + 1) / 2", {"begins"}),
        ("(lo * 2 + 1) / 2", set()),
        ("lo + 1", set()),
    ],
)
def test_rows_begin_where_a_kernel_searches_by_halves(middle: str, names: set[str]) -> None:
    source = read(SEARCH.replace("MIDDLE", middle).encode(), Language.CUDA)
    assert row_offsets(source.kernels[0]) == names


def test_a_tree_of_sums_searches_for_nothing() -> None:
    text = """__global__ void sum(const int* x, int* out, int n) {
  __shared__ int part[256];
  part[threadIdx.x] = x[threadIdx.x];
  for (int step = 128; step > 0; step = step / 2) {
    __syncthreads();
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
  }
  out[0] = part[0];
}
"""
    assert row_offsets(read(text.encode(), Language.CUDA).kernels[0]) == set()


RAGGED = """#include <torch/extension.h>
__global__ void pad(const float* packed, const int* begins, float* out, int most, int width) {
  const int row = blockIdx.x / most, step = blockIdx.x % most;
  const int from = begins[row] + step;
  for (int d = threadIdx.x; d < width; d += blockDim.x)
    out[(long)blockIdx.x * width + d] = from < begins[row + 1] ? packed[(long)from * width + d] : 0.f;
}
torch::Tensor padded(torch::Tensor packed, torch::Tensor begins, int64_t most) {
  TORCH_CHECK(packed.dim() == 2 && begins.dim() == 1);
  const int64_t rows = begins.size(0) - 1, width = packed.size(1);
  auto out = torch::empty({rows, most, width}, packed.options());
  pad<<<rows * most, 128>>>(packed.data_ptr<float>(), begins.data_ptr<int>(), out.data_ptr<float>(), most, width);
  return out;
}
"""


def test_a_tensor_of_rows_of_all_lengths_holds_as_many_as_the_offsets_end_with(tmp_path: Path) -> None:
    (tmp_path / "ragged.cu").write_text(RAGGED)
    draft = draft_for(tmp_path, "ragged.cu", "pad")
    assert isinstance(draft, Draft), draft
    assert draft.missing == ()
    packed, begins, *_ = draft.arguments
    assert packed.shape == ("packed_rows", "width")
    assert begins.values == "offsets(packed_rows)"
    assert begins.shape is not None and evaluate_int(begins.shape[0], draft.checked) >= 9


def test_a_range_holds_at_the_least_sizes_too(tmp_path: Path) -> None:
    (tmp_path / "pick.cu").write_text("""#include <torch/extension.h>
__global__ void pick(const float* x, const int* at, float* out, int rows) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  const int from = at[i];
  if (rows > 8 && (from < 0 || from >= rows)) return;
  out[i] = x[from];
}
void launch(torch::Tensor x, torch::Tensor at, torch::Tensor out) {
  const int rows = x.size(0);
  TORCH_CHECK(x.dim() == 1 && at.size(0) == rows && at.dim() == 1 && out.size(0) == rows && out.dim() == 1);
  pick<<<(rows + 127) / 128, 128>>>(x.data_ptr<float>(), at.data_ptr<int>(), out.data_ptr<float>(), rows);
}
""")
    draft = draft_for(tmp_path, "pick.cu", "pick")
    assert isinstance(draft, Draft), draft
    assert next(a.values for a in draft.arguments if a.name == "at") == "integers(0, rows)"
