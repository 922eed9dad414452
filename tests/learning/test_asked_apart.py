"""A change asked again with tensors whose rows, or the elements of them, do not lie next to each other."""

from __future__ import annotations

from pathlib import Path

import pytest
from git import Actor, Repo

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Outcome, Verdict
from kernel_lineage.history.git import open_repository
from kernel_lineage.history.trees import trees
from kernel_lineage.learning.asked_apart import judged_apart
from kernel_lineage.learning.changed_kernels import changes_between
from kernel_lineage.learning.changed_programs import functions_of
from kernel_lineage.workloads.lying_apart import asked_axes

CUDA = """
#include <torch/extension.h>

__global__ void lift(const float* __restrict__ x, float* __restrict__ y, int width, int64_t row, int64_t step) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t r = blockIdx.y;
    if (c < width) y[r * width + c] = x[r * row + c * step] + 1.f;
}

torch::Tensor lifted(torch::Tensor x) {
    TORCH_CHECK(x.dim() == 2);
    const int height = x.size(0), width = x.size(1);
    auto y = torch::empty({height, width}, x.options());
    lift<<<dim3((width + 63) / 64, height), 64>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), width, x.stride(0), x.stride(1));
    return y;
}
"""
COPIED = (
    CUDA.replace("x[r * row + c * step]", "x[r * width + c]")
    .replace(", int64_t row, int64_t step", "")
    .replace(", x.stride(0), x.stride(1)", "")
    .replace("    const int height", "    x = x.contiguous();\n    const int height")
)
TRITON = """
import torch
import triton
import triton.language as tl


@triton.jit
def lift(x, y, width, row, step, BLOCK: tl.constexpr):
    r, c = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(y + r * width + c, tl.load(x + r * row + c * step, mask=c < width) + 1, mask=c < width)


def lifted(x: torch.Tensor) -> torch.Tensor:
    height, width = x.shape
    y = torch.empty((height, width), device=x.device, dtype=x.dtype)
    lift[(height,)](x, y, width, x.stride(0), x.stride(1), BLOCK=triton.next_power_of_2(width))
    return y


def test_lifted():
    x = torch.randn(40, 200, device="cuda")
    assert torch.allclose(lifted(x), x + 1)
"""
ROWS = CUDA.replace("x.dim() == 2)", "x.dim() == 2 && x.stride(-1) == 1)")
MASKED = """
#include <torch/extension.h>

__global__ void clear(float* __restrict__ x, const int* __restrict__ mask, int width, int64_t row, int64_t mask_row) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t r = blockIdx.y;
    if (c < width && (mask[r * mask_row + c] & 1)) x[r * row + c] = 0.f;
}

void clear_(torch::Tensor x, torch::Tensor mask) {
    TORCH_CHECK(x.dim() == 2 && mask.dim() == 2 && x.size(0) == mask.size(0) && mask.size(1) == x.size(1));
    TORCH_CHECK(x.scalar_type() == torch::kFloat && mask.scalar_type() == torch::kInt);
    const int height = x.size(0), width = x.size(1);
    clear<<<dim3((width + 63) / 64, height), 64>>>(
        x.data_ptr<float>(), mask.data_ptr<int>(), width, x.stride(0), mask.stride(0));
}
"""
TEXTS = {
    "masked": ("clear.cu", MASKED),
    "cuda": ("lift.cu", CUDA),
    "copied": ("lift.cu", COPIED),
    "triton": ("lift.py", TRITON),
}
FEW = GateOptions(check_seconds=20, callers_seconds=0, hidden=False)


def commit(top: Path) -> None:
    repo = Repo.init(top)
    repo.git.add("-A")
    someone = Actor("A", "a@example.org")
    repo.index.commit("state", author=someone, committer=someone)
    repo.close()


def verdict_on(folder: Path, text: str, old: str, new: str, *, of: str = "") -> tuple[Verdict, int]:
    """The verdict on a change, right where rows lie next to each other, of one of the texts, or of another text `of`
    its file; and how many verdicts were asked for.
    """
    name, written = TEXTS[text]
    written = of or written
    (folder / name).write_text(written)
    commit(folder)
    assert old in written
    (folder / name).write_text(written.replace(old, new))
    asked: list[GateRequest] = []

    def ask(request: GateRequest) -> Verdict:
        asked.append(request)
        return judge(request.baseline, request.candidate, request.workload, device="emulated", options=FEW)

    right = Verdict(
        outcome=Outcome.INCONCLUSIVE, code=Reason.NOT_PROFILED, reason="right", stages=[], inputs_hash=""
    )
    with trees(open_repository(folder), "HEAD") as (before, after):
        (changed,) = changes_between(before, after, (), whole=False).changed
        request = GateRequest.model_construct()
        return judged_apart(right, changed, functions_of(changed), request, ask), len(asked)


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("cuda", "x[r * row + c * step]", "x[r * width + c]"),
        ("cuda", "x[r * row + c * step]", "x[r * row + c]"),
        ("cuda", "x[r * row + c * step]", "x[r * width + c * step]"),
        ("copied", "    x = x.contiguous();\n", ""),
        ("triton", "x + r * row + c * step", "x + r * width + c"),
        ("triton", "c * step", "c"),
    ],
)
def test_who_counts_on_rows_that_lie_next_to_each_other_is_rejected(
    tmp_path: Path, text: str, old: str, new: str
) -> None:
    verdict, _ = verdict_on(tmp_path, text, old, new)
    assert verdict.code is Reason.WRONG_VALUE, verdict.reason
    assert verdict.reason.startswith("where the elements of x lie apart: ")


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("cuda", "+ 1.f;", "- -1.f;"),
        ("copied", "+ 1.f;", "- -1.f;"),
        ("triton", " + 1, mask", " - -1, mask"),
    ],
)
def test_who_takes_their_strides_or_copies_them_is_right(
    tmp_path: Path, text: str, old: str, new: str
) -> None:
    verdict, _ = verdict_on(tmp_path, text, old, new)
    assert verdict.reason == "right; right where the elements of x lie apart, too"


def test_vectors_that_count_on_where_rows_begin_are_rejected(tmp_path: Path) -> None:
    """Rows of whole vectors, next to each other and eight elements apart: both are right."""
    wide = (
        "    if (step == 1 && width % 4 == 0 && c < width) {\n"
        "        const float4 v = *(const float4*)(x + r * row + c / 4 * 4);\n"
        "        const float four[4] = {v.x, v.y, v.z, v.w};\n"
        "        y[r * width + c] = four[c % 4] + 1.f;\n    } else "
    )
    verdict, count = verdict_on(
        tmp_path, "cuda", "    if (c < width) y[", f"{wide}if (c < width) y[", of=ROWS
    )
    assert verdict.code is Reason.MISALIGNED and count == 2, verdict.reason


def test_only_rows_lie_apart_where_the_code_before_refuses_more(tmp_path: Path) -> None:
    verdict, _ = verdict_on(tmp_path, "cuda", "c * step", "c", of=ROWS)
    assert verdict.reason == "right; right where the rows of x lie apart, too"


def test_a_candidate_that_refuses_them_is_named(tmp_path: Path) -> None:
    refuses = "TORCH_CHECK(x.is_contiguous());"
    verdict, count = verdict_on(tmp_path, "copied", "x = x.contiguous();", refuses)
    assert verdict.reason.startswith("right; not judged where the elements of x lie apart")
    assert "`TORCH_CHECK(x.is_contiguous())` refuses" in verdict.reason and not count


def test_what_a_kernel_writes_in_part_is_asked_with_what_its_caller_left_there(tmp_path: Path) -> None:
    verdict, _ = verdict_on(tmp_path, "masked", "r * mask_row + c", "r * width + c")
    assert verdict.code is Reason.WRONG_VALUE, verdict.reason
    assert verdict.reason.startswith("where the rows of x and mask lie apart: ")


@pytest.mark.parametrize("asks", ["TORCH_CHECK(x.is_contiguous());", ""])
def test_nothing_is_asked_where_the_code_before_takes_no_such_tensors(tmp_path: Path, asks: str) -> None:
    text = COPIED.replace("x = x.contiguous();", asks)
    verdict, count = verdict_on(tmp_path, "copied", "+ 1.f;", "- -1.f;", of=text)
    assert verdict.reason == "right" and not count


def test_the_axes_that_host_code_asks_for() -> None:
    text = (
        "a.stride(0) * b->stride( -1 ) + c.strides()[0]; d = e.contiguous(); f.is_contiguous(); a.stride(2)"
    )
    assert asked_axes(text) == {"a": {0, 2}, "b": {-1}, "c": {None}, "e": {None}}
