"""Lists that host code lengthens in loops that cannot be followed: nothing tells how many elements they have."""

from __future__ import annotations

from pathlib import Path

import pytest

from workloads.following.first_drafts import first_draft

TEXT = """
#include <vector>
__global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.f * x[i];
}
static void positive(const std::vector<float>& x, std::vector<float>& kept, std::vector<int>& which) {
  LOOP
}
void run(const std::vector<float>& x, std::vector<float>& y) {
  std::vector<float> kept;
  std::vector<int> which(x.size());
  positive(x, kept, which);
  const int n = (int)kept.size();
  float *a, *b;
  cudaMalloc(&a, n * sizeof(float));
  cudaMalloc(&b, n * sizeof(float));
  cudaMemcpy(a, kept.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  scale<<<(n + 63) / 64, 64>>>(a, b, n);
  cudaMemcpy(y.data(), b, n * sizeof(float), cudaMemcpyDeviceToHost);
}
"""


@pytest.mark.parametrize(
    "loop",
    [
        "for (size_t i = 0; i < x.size(); ++i) if (x[i] > 0.f) kept.push_back(x[i]);",
        "for (size_t i = 0; i < x.size(); ++i) { which[i] = kept.size(); if (x[i] > 0.f) kept.emplace_back(x[i]); }",
        "size_t i = 0; while (i < x.size()) { if (x[i] > 0.f) kept.resize(i + 1); ++i; }",
    ],
)
def test_a_launch_over_a_list_that_a_loop_lengthens_is_left_open(tmp_path: Path, loop: str) -> None:
    draft = first_draft(tmp_path, TEXT.replace("LOOP", loop))
    assert "the launch's grid: nothing tells `kept.size()`" in draft.missing, (draft.missing, draft.grid)
