"""Sizes that a program comes to by itself: its launches beside the first tell what follows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.workloads.draft import recorded_drafts
from kernel_lineage.workloads.files import kernel_of
from kernel_lineage.workloads.recording.build import refusal
from kernel_lineage.workloads.recording.recorder import Recorder
from kernel_lineage.workloads.state import State

needs_compilers = pytest.mark.skipif(bool(refusal()), reason=refusal() or "has nvcc and g++")
COUNTED = """\
#include <cuda_runtime.h>
#include <string>
__global__ void count(const unsigned char* text, size_t n, unsigned long long* out) {
  for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)
    if (text[i] > 32 && (i == 0 || text[i - 1] <= 32)) atomicAdd(out, 1ull);
}
void counted(const std::string& s) {
  unsigned char* text; unsigned long long* out;
  cudaMalloc(&text, s.size());
  cudaMalloc(&out, sizeof(*out));
  cudaMemcpy(text, s.data(), s.size(), cudaMemcpyHostToDevice);
  cudaMemset(out, 0, sizeof(*out));
  size_t blocks = (s.size() + 127) / 128;
  if (blocks > 64) blocks = 64;
  count<<<blocks, 128>>>(text, s.size(), out);
}
int main() {
  std::string words;
  for (int i = 0; words.size() < 20011; ++i) words += std::to_string(i * 7919) + " ";
  counted(words);
  counted(words.substr(0, 3001));
  counted("a b");
}
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KLINEAGE_KEEP_IN", str(tmp_path / "kept"))


@needs_compilers
def test_a_length_that_no_code_writes_is_a_dim_where_buffers_and_grid_follow_it(tmp_path: Path) -> None:
    path = tmp_path / "count.cu"
    path.write_text(COUNTED)
    (draft,), why = recorded_drafts(
        kernel_of(path, "count"), path, State(tmp_path), Recorder(tmp_path), measure=False
    )
    assert why == ""
    by_name = {a.name: a for a in draft.arguments}
    assert draft.dims.keys() == {"n"} and draft.dims["n"] >= 20011 and draft.checked["n"] < 20011
    assert by_name["text"].shape == ("n",) and by_name["n"].value == "n"
    assert by_name["text"].values.startswith("integers(")
    assert draft.grid == ("min(ceil_div(n, 128), 64)",)


DRAWN = """\
#include <cuda_runtime.h>
#include <cstdlib>
#include <vector>
__global__ void degrees(const long* starts, const int* to, const float* weight, float* sums, int points{parameter}) {{
  int p = blockIdx.x * 32 + threadIdx.x;
  if (p >= points) return;
  float sum = 0;
  for (long e = starts[p]; e < starts[p + 1]; ++e) sum += weight[e] * to[e];
  sums[p] = sum;
}}
template <class T> T* on_device(const std::vector<T>& host) {{
  T* data;
  cudaMalloc(&data, host.size() * sizeof(T));
  cudaMemcpy(data, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice);
  return data;
}}
int main() {{
  int points = 600;
  std::vector<long> starts(1, 0);
  std::vector<int> to;
  for (int p = 0; p < points; ++p) {{
    for (int e = std::rand() % 9; e >= 0; --e) to.push_back(std::rand() % points);
    starts.push_back(to.size());
  }}
  std::vector<float> weight(to.size(), 0.5f);
  float* sums;
  cudaMalloc(&sums, points * sizeof(float));
  degrees<<<(points + 31) / 32, 32>>>(on_device(starts), on_device(to), on_device(weight), sums, points{argument});
}}
"""


@needs_compilers
@pytest.mark.parametrize(
    ("parameter", "argument", "end"), [("", "", "starts_end"), (", long edges", ", to.size()", "edges")]
)
def test_where_drawn_rows_end_is_a_dim_beside_their_number(
    tmp_path: Path, parameter: str, argument: str, end: str
) -> None:
    path = tmp_path / "degrees.cu"
    path.write_text(DRAWN.format(parameter=parameter, argument=argument))
    (draft,), why = recorded_drafts(
        kernel_of(path, "degrees"), path, State(tmp_path), Recorder(tmp_path), measure=False
    )
    assert (why, draft.missing) == ("", ())
    assert draft.dims.keys() == {"points", end}
    by_name = {a.name: a for a in draft.arguments}
    assert by_name["starts"].shape == ("(points + 1)",)
    assert by_name["starts"].values == f"offsets({end})"
    assert (by_name["to"].shape, by_name["weight"].shape) == ((end,), (end,))
    assert by_name["to"].values == "integers(0, points)"
    assert draft.grid == ("ceil_div(points, 32)",)
