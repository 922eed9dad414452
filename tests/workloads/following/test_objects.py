"""Objects that kernels call: one without data is given as it is, of another one its bytes are what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.workloads.completing import tried_draft
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import target_of
from kernel_lineage.workloads.on_the_spot import question

CODE = """\
struct Twice {
    static constexpr float by = 2.0f;
    __device__ float operator()(float x) const { return by * x; }
};
struct Scale { float by; __device__ float operator()(float x) const { return by * x; } };
template <typename F>
__global__ void sums(float* out, const float* x, int n, F f) {
    __shared__ float held[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    held[threadIdx.x] = i < n ? f(x[i]) : 0.0f;
    __syncthreads();
    for (int step = 128; step; step /= 2) {
        if (threadIdx.x < step) held[threadIdx.x] += held[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = held[0];
}
template <typename F>
void run(float* out, const float* x, int n, F f) { sums<<<(n + 255) / 256, 256>>>(out, x, n, f); }
int main() {
    const int n = 100000;
    float *x, *out = allocated(n);
    cudaMalloc(&x, n * sizeof(float));
    %s
}
"""


@pytest.mark.parametrize(
    "launch", ["run(out, x, n, Twice{});", "Twice f; run(out, x, n, f);", "run<Twice>(out, x, n, {});"]
)
def test_an_object_without_data_is_given_as_it_is(launch: str, tmp_path: Path) -> None:
    path = tmp_path / "sums.cu"
    path.write_text(CODE % launch)
    draft = draft_of(target_of(path, "sums"), path)
    assert not draft.missing
    assert draft.template_arguments == ("Twice",)
    assert [a.name for a in draft.arguments if a.kind != "constant"] == ["out", "x", "n"]


def test_a_shape_of_one_element_a_block_is_seen_with_more_than_one_block(tmp_path: Path) -> None:
    path = tmp_path / "sums.cu"
    path.write_text(CODE % "run(out, x, n, Twice{});")
    draft, proof = tried_draft(target_of(path, "sums"), path, root=tmp_path)
    assert {a.name: a.shape for a in draft.arguments}["out"] == ("ceil_div(n, 256)",)
    assert proof is not None
    assert not proof.blind


@pytest.mark.parametrize(
    "launch", ["run(out, x, n, Scale{3.0f});", "run(out, x, n, [=] __device__ (float v) { return v * n; });"]
)
def test_no_number_is_asked_for_in_the_place_of_an_object(launch: str, tmp_path: Path) -> None:
    path = tmp_path / "sums.cu"
    path.write_text(CODE % launch)
    draft = draft_of(target_of(path, "sums"), path, measure=False)
    assert "the object f, `f` at the launch: nothing tells its bytes" in draft.missing
    assert "--set f=" not in question(draft, path)


def test_nor_in_the_place_of_a_structure_with_arrays(tmp_path: Path) -> None:
    path = tmp_path / "permute.cu"
    path.write_text(
        "struct Order { int extents[3], axes[3]; };\n"
        "__global__ void permute(float* out, const float* x, Order o) { out[o.axes[0]] = x[o.extents[0]]; }\n"
        "void launch(float* out, const float* x, Order o) { permute<<<8, 32>>>(out, x, o); }\n"
    )
    draft = draft_of(target_of(path, "permute"), path, measure=False)
    assert "the object o, `o` at the launch: nothing tells its bytes" in draft.missing
    assert "--set o=" not in question(draft, path)


IN_A_CLASS = """\
#include <cuda_runtime.h>
#include <vector>
__global__ void count(const unsigned char* data, size_t n, unsigned* bins) {
  for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)
    atomicAdd(&bins[data[i]], 1u);
}
class Histogram {
public:
  Histogram() { cudaMalloc(&bins_, 256 * sizeof(unsigned)); }
  void compute(const unsigned char* data, size_t n) {
    cudaMemset(bins_, 0, 256 * sizeof(unsigned));
    const size_t blocks = (n + kBlock - 1) / kBlock;
    if (n > 0) count<<<std::min<size_t>(blocks, 512), kBlock>>>(data, n, bins_);
  }
private:
  static constexpr int kBlock = 128;
  unsigned* bins_ = nullptr;
};
int main() {
  std::vector<size_t> lengths = read_lengths();
  Histogram histogram;
  for (size_t length : lengths) histogram.compute(frame(length), length);
}
"""


def test_a_launch_in_a_function_of_a_class_is_reached_with_the_constants_of_the_class(tmp_path: Path) -> None:
    path = tmp_path / "count.cu"
    path.write_text(IN_A_CLASS)
    draft = draft_of(target_of(path, "count"), path, measure=False)
    assert (draft.grid, draft.block) == (("min(ceil_div(n, 128), 512)",), ("128",))
    assert draft.chosen == ("n",) and "n > 0" in draft.promises
