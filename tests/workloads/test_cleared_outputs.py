"""An output that a candidate's host code makes zero before its launch is zero in the gate too, as far as it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_gate.expressions import evaluate_int
from kernel_gate.gate import judge
from kernel_gate.program import MemsetStep, Program
from kernel_gate.standing import Standing
from kernel_gate.workload import Workload
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import target_of
from kernel_lineage.workloads.programs import program_from_file

CUDA = """\
__global__ void total(float* out, const float* x, int n) {
    float sum = 0;
    for (int i = 0; i < n; ++i) sum += x[i];
    out[0] = sum;
}
void run(float* out, const float* x, int n) {
    total<<<1, 1>>>(out, x, n);
}
"""
ADDED = """\
__global__ void total(float* out, const float* x, int n) {
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) atomicAdd(out, x[i]);
}
void run(float* out, const float* x, int n) {
    CLEAR
    total<<<(n + 63) / 64, 64>>>(out, x, n);
}
"""
TRITON = """\
import torch
import triton
import triton.language as tl

@triton.jit
def total(out, x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out, tl.sum(tl.load(x + i, mask=i < n, other=0.0)))

def run(x):
    out = torch.empty(1)
    total[(1,)](out, x, x.numel(), BLOCK=triton.next_power_of_2(x.numel()))
    return out

def test_run():
    run(torch.randn(1000))
"""


def programs(folder: Path, file: str, before: str, after: str) -> tuple[Program, Program, Workload]:
    (folder / ".git").mkdir()
    path = folder / file
    path.write_text(before)
    drafted = draft_of(target_of(path, "total"), path).workload()
    apart = (a.model_copy(update={"noalias": True}) if a.name == "out" else a for a in drafted.args)
    workload = drafted.model_copy(update={"args": tuple(apart)})
    old, new = (
        program_from_file(
            path, "total", workload, data=text.encode(), root=folder, changed_from=before.encode()
        )
        for text in (before, after)
    )
    return old, new, workload


@pytest.mark.parametrize(
    ("clear", "nbytes"),
    [
        ("cudaMemsetAsync(out, 0, sizeof(float));", 4),
        ("cudaMemset(out, 0, 2);", 2),
        ("cudaMemset(out, 1, sizeof(float));", None),
        ("", None),
    ],
)
def test_what_a_candidate_of_cuda_clears_is_cleared(tmp_path: Path, clear: str, nbytes: int | None) -> None:
    old, new, workload = programs(tmp_path, "total.cu", CUDA, ADDED.replace("CLEAR", clear))
    sizes = [evaluate_int(s.nbytes or "0", {"n": 8}) for s in new.steps if isinstance(s, MemsetStep)]
    assert sizes == ([] if nbytes is None else [nbytes])
    assert old.steps == ()
    verdict = judge(old, new, workload, device="emulated")
    assert verdict.standing is (Standing.RIGHT if nbytes == 4 else Standing.REJECTED), verdict.reason


@pytest.mark.parametrize(("made", "clears"), [("zeros(1)", True), ("empty(1)", False), ("ones(1)", False)])
def test_what_a_candidate_of_triton_makes_zero_is_cleared(tmp_path: Path, made: str, clears: bool) -> None:
    after = (
        TRITON.replace("i = tl.arange(0, BLOCK)", "i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)")
        .replace("tl.store(out, ", "tl.atomic_add(out, ")
        .replace("[(1,)]", "[(triton.cdiv(x.numel(), 256),)]")
        .replace("BLOCK=triton.next_power_of_2(x.numel())", "BLOCK=256")
        .replace("empty(1)", made)
    )
    old, new, workload = programs(tmp_path, "total.py", TRITON, after)
    assert [s.buffer for s in new.steps if isinstance(s, MemsetStep)] == (["out"] if clears else [])
    assert old.steps == ()
    verdict = judge(old, new, workload, device="emulated")
    assert verdict.standing is (Standing.RIGHT if clears else Standing.REJECTED), verdict.reason


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("total.py", TRITON.replace("empty(1)", "zeros(1)"), ("[(1,)]", "[(1, 1)]")),
        (
            "total.cu",
            CUDA.replace("total<<<", "cudaMemset(out, 0, 4); total<<<"),
            ("float sum = 0;", "float sum = 0.0f;"),
        ),
    ],
)
def test_what_was_cleared_before_for_nothing_is_not_timed(
    tmp_path: Path, file: str, before: str, after: tuple[str, str]
) -> None:
    assert after[0] in before
    old, new, _ = programs(tmp_path, file, before, before.replace(*after))
    assert (old.steps, new.steps) == ((), ())
