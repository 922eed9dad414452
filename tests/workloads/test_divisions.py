"""Sizes at which a kernel that divides one extent by another is told from one that divides otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.of_state import draft_for

CUDA = """\
__global__ void tint(float* out, const float* in, const float* hue, int pixels, int bands, int {divisor}) {{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pixels * bands) return;
  {lines}
  out[i] = in[i] * hue[{place}];
}}
void run(float* out, const float* in, const float* hue, int pixels, int bands, int {divisor}) {{
  tint<<<(pixels * bands + 127) / 128, 128>>>(out, in, hue, pixels, bands, {divisor});
}}
"""
MAIN = """\
__global__ void share(float* to, const float* from, int queries, int keys, int width) {
  const int q = blockIdx.x % queries, row = blockIdx.x / queries;
  for (int d = threadIdx.x; d < width; d += blockDim.x)
    to[blockIdx.x * width + d] = from[(row * keys + q / (queries / keys)) * width + d];
}
int main() {
  const int rows = 64, queries = 8, keys = 8, width = 128;
  float *to, *from;
  cudaMalloc(&to, rows * queries * width * sizeof(float));
  cudaMalloc(&from, rows * keys * width * sizeof(float));
  share<<<rows * queries, 64>>>(to, from, queries, keys, width);
}
"""
TRITON = """\
import torch
import triton
import triton.language as tl

@triton.jit
def tint(out, image, hue, bands, parts, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    own = tl.load(image + row * bands + at, mask=at < bands, other=0.0)
    tl.store(out + row * bands + at, own * tl.load(hue + at // (bands // parts), mask=at < bands), mask=at < bands)

def tinted(image, hue):
    pixels, bands = image.shape
    out = torch.empty_like(image)
    tint[(pixels,)](out, image, hue, bands, hue.shape[0], BLOCK=triton.next_power_of_2(bands))
    return out
"""
GROUPED = """\
__global__ void mix(float* out, const float* in, const float* weight, int inputs, int outputs, int pixels, int groups) {
  const int p = blockIdx.x * blockDim.x + threadIdx.x, o = blockIdx.y;
  if (p >= pixels) return;
  const int each = inputs / groups;
  float sum = 0.f;
  for (int i = 0; i < each; ++i)
    sum += in[(o / (outputs / groups) * each + i) * pixels + p] * weight[o * each + i];
  out[o * pixels + p] = sum;
}
void run(float* out, const float* in, const float* weight, int inputs, int outputs, int pixels, int groups) {
  mix<<<dim3((pixels + 63) / 64, outputs), 64>>>(out, in, weight, inputs, outputs, pixels, groups);
}
"""


def drafted(folder: Path, name: str, kernel: str, text: str) -> Draft:
    (folder / name).write_text(text)
    draft = draft_for(folder, name, kernel)
    assert isinstance(draft, Draft), draft
    return draft


def is_told_apart(whole: int, divisor: int) -> bool:
    """Whether `i / (whole / divisor)` differs from `i % divisor` and from `i / divisor` somewhere."""
    each = whole // divisor
    return whole % divisor == 0 and all(
        any(i // each != other(i) for i in range(whole))
        for other in (lambda i: i % divisor, lambda i: i // divisor)
    )


@pytest.mark.parametrize(
    ("divisor", "lines", "place"),
    [
        ("groups", "const int per = bands / groups;", "i % bands / per"),
        ("num_group", "const int ways = num_group; int c = i % bands; c /= bands / ways;", "c"),
        ("g", "const unsigned per = (unsigned)bands / (unsigned)g;", "(i - i / bands * bands) / per"),
    ],
)
def test_nobody_tells_a_divisor(tmp_path: Path, divisor: str, lines: str, place: str) -> None:
    text = CUDA.format(divisor=divisor, lines=lines, place=place)
    draft = drafted(tmp_path, "tint.cu", "tint", text)
    assert is_told_apart(draft.checked["bands"], draft.checked[divisor])
    assert is_told_apart(draft.dims["bands"], draft.dims[divisor])
    assert next(a.shape for a in draft.arguments if a.name == "hue") == (divisor,)


def test_a_program_has_as_many_parts_as_there_are(tmp_path: Path) -> None:
    draft = drafted(tmp_path, "share.cu", "share", MAIN)
    assert (draft.dims["queries"], draft.dims["keys"]) == (8, 8)
    assert is_told_apart(draft.checked["queries"], draft.checked["keys"])


def test_a_tensors_extent_divides_another_ones(tmp_path: Path) -> None:
    draft = drafted(tmp_path, "tint.py", "tint", TRITON)
    hue = next(a.shape for a in draft.arguments if a.name == "hue")
    assert hue is not None
    assert is_told_apart(draft.checked["bands"], draft.checked[hue[0]])


def test_an_extent_is_one_dim_over_another(tmp_path: Path) -> None:
    draft = drafted(tmp_path, "mix.cu", "mix", GROUPED)
    assert draft.checked["groups"] > 1
    assert next(a.shape for a in draft.arguments if a.name == "weight") == (
        "ceil_div(inputs * outputs, groups)",
    )
