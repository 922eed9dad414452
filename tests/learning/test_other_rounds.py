"""A host function that launches once for each row, changed into one launch: asked with several numbers of rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_gate.standing import Standing
from kernel_gate.verdict import Verdict
from learning.changed_file import verdicts_on

BEFORE = """
import torch
import triton
import triton.language as tl


@triton.jit
def step(x, held, y, n, keep, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    h = tl.load(held + at, mask=at < n) * keep + tl.load(x + at, mask=at < n)
    tl.store(held + at, h, mask=at < n)
    tl.store(y + at, h, mask=at < n)


def leaky_sums(x, keep=0.5):
    rounds, n = x.shape
    y = torch.empty_like(x)
    held = torch.zeros(n, device=x.device, dtype=x.dtype)
    for t in range(rounds):
        step[(triton.cdiv(n, 64),)](x[t], held, y[t], n, keep, BLOCK=64)
    return y


def test_leaky_sums():
    leaky_sums(torch.randn(8, 100, device="cuda"))
"""
KERNEL, FUNCTION = BEFORE.index("@triton.jit"), BEFORE.index("\n\ndef leaky_sums")
AFTER = (
    BEFORE[:KERNEL]
    + """@triton.jit
def scan(x, y, rounds, n, keep, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    h = tl.zeros((BLOCK,), tl.float32)
    for t in range(0, ROUNDS):
        h = h * keep + tl.load(x + t * n + at, mask=at < n)
        tl.store(y + t * n + at, h, mask=at < n)
"""
    + BEFORE[FUNCTION:]
    .replace(
        "    held = torch.zeros(n, device=x.device, dtype=x.dtype)\n    for t in range(rounds):\n    ", ""
    )
    .replace(
        "step[(triton.cdiv(n, 64),)](x[t], held, y[t], n,", "scan[(triton.cdiv(n, 64),)](x, y, rounds, n,"
    )
)


def verdict_on(file: Path, before: str, after: str) -> Verdict:
    """The verdict on a change of a file, the only one of its repository."""
    (verdict,) = verdicts_on(file, before, after, seconds=20)
    return verdict


@pytest.mark.parametrize(
    ("rounds", "standing", "note"),
    [
        ("rounds", Standing.RIGHT, "right where rounds == 7, too"),
        ("rounds // 4 * 4", Standing.REJECTED, "where rounds == 7: "),
    ],
)
def test_a_loop_of_launches_is_asked_with_one_round_less(
    tmp_path: Path, rounds: str, standing: Standing, note: str
) -> None:
    verdict = verdict_on(tmp_path / "leaky.py", BEFORE, AFTER.replace("ROUNDS", rounds))
    assert (verdict.standing, note in verdict.reason) == (standing, True), verdict.reason


SMOOTH = """
#include <utility>
__global__ void smooth(const float* from, float* to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = 0.5f * from[i] + 0.5f * from[i > 0 ? i - 1 : 0];
}
void smoothed(float* data, float* room, int n, int times) {
    float *from = data, *to = room;
    for (int t = 0; t < times; ++t) {
        smooth<<<(n + 127) / 128, 128>>>(from, to, n);
        std::swap(from, to);
    }
    if (from != data) cudaMemcpyAsync(data, from, n * sizeof(float), cudaMemcpyDeviceToDevice, 0);
}
"""


def test_a_loop_over_a_number_is_asked_with_one_round_less(tmp_path: Path) -> None:
    always = SMOOTH.replace("if (from != data) cuda", "cuda").replace("(data, from, n *", "(data, room, n *")
    verdict = verdict_on(tmp_path / "smooth.cu", SMOOTH, always)
    assert verdict.reason.startswith("with all of smoothed: where times == 2: "), verdict.reason
    assert verdict.standing is Standing.REJECTED


RAISED = """
#include <torch/extension.h>
__global__ void halved(const float* x, float* y, int64_t n) {
    int64_t i = blockIdx.x * 128ll + threadIdx.x;
    if (i < n) y[i] = x[i] * 0.5f;
}
__global__ void raised(float* y, int64_t n) {
    int64_t i = blockIdx.x * 128ll + threadIdx.x;
    if (i < n) y[i] += 1.f;
}
torch::Tensor made(torch::Tensor x, bool partly, int64_t times) {
    TORCH_CHECK(x.dim() == 1);
    const int64_t n = x.size(0), some = partly ? n / 8 : n;
    auto y = torch::zeros_like(x);
    halved<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    for (int i = 0; i < times; ++i) raised<<<(some + 127) / 128, 128>>>(y.data_ptr<float>(), some);
    return y;
}
"""
OF_ONE = (
    RAISED[: RAISED.index("__global__ void raised")].replace("int64_t n)", "int64_t n, int64_t some, int64_t times)")
    .replace("x[i] * 0.5f;", "x[i] * 0.5f + (i < some ? times : 0);")
    + RAISED[RAISED.index("torch::Tensor made") :]
    .replace("data_ptr<float>(), n);", "data_ptr<float>(), n, some, times);")
    .replace(
        "    for (int i = 0; i < times; ++i) raised<<<(some + 127) / 128, 128>>>(y.data_ptr<float>(), some);\n", ""
    )
)  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "standing", "why"),
    [
        ("", "", Standing.RIGHT, "right where partly == 0, too"),
        ("partly ? n / 8 : n", "n / 8", Standing.REJECTED, "where partly == 0: "),
        ("n, some, times)", "n, some, std::min<int64_t>(times, 9))", Standing.REJECTED, "where times == 10: "),
        ("    auto y", "    if (times > 5) times = 5;\n    auto y", Standing.REJECTED, "where times == 6: "),
        ("    auto y", "    if (times > 90) times = 90;\n    auto y", Standing.NOT_JUDGED, "where times == 90: "),
    ],
    ids=["kept", "of a flag", "of a limit", "of a test", "too many rounds"],
)  # fmt: skip
def test_numbers_by_which_a_change_chooses_are_asked(
    tmp_path: Path, old: str, new: str, standing: Standing, why: str
) -> None:
    verdict = verdict_on(tmp_path / "raised.cu", RAISED, OF_ONE.replace(old, new, 1) if old else OF_ONE)
    assert (verdict.standing, why in verdict.reason) == (standing, True), verdict.reason
