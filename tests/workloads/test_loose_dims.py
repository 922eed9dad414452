"""Dims that only buffers have: another one where the kernel counts on it, their own where it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import kernel_of
from kernel_lineage.workloads.loose_dims import loose
from kernel_lineage.workloads.model import Draft

HOST = """\
__global__ void decode(float* out, const float* q, const float* cache, int width) {
    int row = blockIdx.x;
    for (int i = threadIdx.x; i < width; i += 32) out[row * width + i] = q[row * width + i] * cache[%s * width + i];
}
at::Tensor run(at::Tensor q, at::Tensor cache) {
    int rows = q.size(0), width = q.size(1);
    TORCH_CHECK(cache.size(1) == width && cache.size(0) > 0);
    auto out = at::empty_like(q);
    decode<<<rows, 32>>>(out.data_ptr<float>(), q.data_ptr<float>(), cache.data_ptr<float>(), width);
    return out;
}
"""


def drafted(folder: Path, row: str, *, measure: bool = True) -> Draft:
    (folder / ".git").mkdir()
    (folder / "decode.cu").write_text(HOST % row)
    return draft_of(kernel_of(folder / "decode.cu", "decode"), folder / "decode.cu", measure=measure)


def cache(draft: Draft) -> tuple[str, ...] | None:
    return next(a.shape for a in draft.arguments if a.name == "cache")


def test_a_dim_that_only_a_buffer_has_is_loose(tmp_path: Path) -> None:
    assert loose(drafted(tmp_path, "row", measure=False)) == ["cache_size_0"]


@pytest.mark.parametrize(("row", "first"), [("row", "rows"), ("0", "cache_size_0")])
def test_a_loose_dim_is_the_one_that_the_kernel_takes_it_for(tmp_path: Path, row: str, first: str) -> None:
    draft = drafted(tmp_path, row)
    assert draft.missing == ()
    assert cache(draft) == (first, "width")
    assert ("cache_size_0" in draft.dims) is (first == "cache_size_0")


LENGTHS = """\
__global__ void totals(float* out, const float* x, const int* lens, int most) {
    extern __shared__ float row[];
    for (int t = threadIdx.x; t < lens[blockIdx.x]; t += 32) row[t] = x[(blockIdx.x * most + t) * 4096 + 4095];
    __syncthreads();
    float sum = 0;
    for (int t = 0; t < lens[blockIdx.x]; ++t) sum += row[t];
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
void run(float* out, const float* x, const int* lens, int rows, int most) {
    totals<<<rows, 32, most * sizeof(float)>>>(out, x, lens, most);
}
"""


def test_lengths_go_up_to_a_number_that_the_kernel_gets(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    path = tmp_path / "totals.cu"
    path.write_text(LENGTHS)
    draft = draft_of(kernel_of(path, "totals"), path)
    assert draft.missing == ()
    x, lens = draft.arguments[1:3]
    assert {*(x.shape or ())} == {"rows", "most", "4096"}
    assert (lens.shape, lens.values) == (("rows",), "integers(0, most + 1)")


HALVES = """\
#include <torch/extension.h>
__global__ void turned(const float* x, const float* by, float* y, int width) {
    int row = blockIdx.x, half = width / 2;
    for (int i = threadIdx.x; i < half; i += 32) {
        y[row * width + i] = x[row * width + i] * by[row * half + i];
        y[row * width + half + i] = x[row * width + half + i] - by[row * half + i];
    }
}
at::Tensor turn(at::Tensor x, at::Tensor by) {
    auto y = at::empty_like(x);
    turned<<<x.size(0), 32>>>(x.data_ptr<float>(), by.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("turn", &turn); }
"""
TURNS = """\
import torch, turning
turning.turn(torch.randn(40, 64, device="cuda"), torch.randn(40, 32, device="cuda"))
"""


def test_a_loose_dim_of_callers_is_what_comes_to_their_size(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "turn.cu").write_text(HALVES)
    (tmp_path / "bench.py").write_text(TURNS)
    draft = draft_of(kernel_of(tmp_path / "turn.cu", "turned"), tmp_path / "turn.cu")
    assert draft.missing == () and dict(draft.dims) == {"d40": 40, "d64": 64}
    assert {a.name: a.shape for a in draft.arguments if a.is_buffer}["by"] == ("d40", "(d64 // 2)")
    assert "d32 is taken to be d64 // 2: with fewer the kernel leaves its buffers" in draft.assumed


POINTS = """\
#include <torch/extension.h>
template <class T, int N> using Rows = torch::PackedTensorAccessor32<T, N, torch::RestrictPtrTraits>;
__global__ void lengths(const Rows<float, 2> points, const Rows<float, 1> by, Rows<float, 1> out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= out.size(0)) return;
    float sum = 0;
    for (int axis = 0; axis < 3; ++axis) sum += points[i][axis] * points[i][axis];
    out[i] = sqrtf(sum) * by[i];
}
at::Tensor lengths_of(at::Tensor points, at::Tensor by) {
    auto out = torch::empty({points.size(0)}, points.options());
    lengths<<<(points.size(0) + 63) / 64, 64>>>(points.packed_accessor32<float, 2, torch::RestrictPtrTraits>(),
        by.packed_accessor32<float, 1, torch::RestrictPtrTraits>(),
        out.packed_accessor32<float, 1, torch::RestrictPtrTraits>());
    return out;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("lengths", &lengths_of); }
"""


def test_an_extent_of_an_accessor_is_another_dim_or_at_least_what_the_kernel_reads(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "points.cu").write_text(POINTS)
    draft = draft_of(kernel_of(tmp_path / "points.cu", "lengths"), tmp_path / "points.cu")
    assert draft.missing == ()
    assert {a.name: a.shape for a in draft.arguments if a.is_buffer} == {
        "points": ("points_size_0", "points_size_1"), "by": ("points_size_0",), "out": ("points_size_0",),
    }  # fmt: skip
    assert "points_size_1 >= 3" in draft.promises and draft.checked["points_size_1"] >= 3
