"""Host functions over lists of tensors, and over gradients of parameters, are drafted, read and judged as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import LaunchStep, Program
from kernel_gate.verdict import StageStatus
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import target_of
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.programs import program_from_file
from kernel_lineage.workloads.state import State

SHRINK = """import torch
import triton
import triton.language as tl


@triton.jit
def squares(g, total, n, W: tl.constexpr):
    at = tl.program_id(0) * W + tl.arange(0, W)
    v = tl.load(g + at, mask=at < n, other=0.0)
    tl.atomic_add(total, tl.sum(v * v))


@triton.jit
def shrink(g, total, most, n, W: tl.constexpr):
    at = tl.program_id(0) * W + tl.arange(0, W)
    by = tl.minimum(most / tl.sqrt(tl.load(total)), 1.0)
    tl.store(g + at, tl.load(g + at, mask=at < n) * by, mask=at < n)


def clip(params, most: float):
    grads = [p.grad for p in params if p.grad is not None and p.grad.numel()]
    if not grads:
        return torch.tensor(0.0)
    total = torch.zeros(1, device=grads[0].device)
    for g in grads:
        assert g.is_contiguous()
        squares[(triton.cdiv(g.numel(), 64),)](g, total, g.numel(), W=64)
    for g in grads:
        shrink[(triton.cdiv(g.numel(), 64),)](g, total, most, g.numel(), W=64)
    return total
"""
PARTS = (
    SHRINK.replace(
        "def squares(g, total, n, W: tl.constexpr):", "def squares(g, part, n, programs, W: tl.constexpr):"
    )
    .replace(
        """    at = tl.program_id(0) * W + tl.arange(0, W)
    v = tl.load(g + at, mask=at < n, other=0.0)
    tl.atomic_add(total, tl.sum(v * v))
""",
        """    own = 0.0
    for first in range(tl.program_id(0) * W, n, programs * W):
        at = first + tl.arange(0, W)
        v = tl.load(g + at, mask=at < n, other=0.0)
        own += tl.sum(v * v)
    tl.atomic_add(part, own)
""",
    )
    .replace(
        "(triton.cdiv(g.numel(), 64),)](g, total, g.numel(), W=64)",
        "(2,)](g, total, g.numel(), PROGRAMS, W=64)",
    )
)


def drafted(folder: Path, source: str, name: str = "clip") -> tuple[Draft, Program]:
    path = folder / "ops.py"
    path.write_text(source)
    draft = draft_of(target_of(path, name), path, State(folder), measure=False)
    return draft, program_from_file(path, name, draft.workload(), root=folder)


def test_gradients_of_a_list_of_parameters_are_arguments(tmp_path: Path) -> None:
    draft, program = drafted(tmp_path, SHRINK)
    assert {a.name: a.kind for a in draft.arguments} == {
        "params_0": "input", "params_0_grad": "inout", "params_1": "input", "params_1_grad": "inout",
        "most": "scalar", "total": "output",
    }  # fmt: skip
    launches = [step for step in program.steps if isinstance(step, LaunchStep)]
    assert [(step.entry, step.arguments[0]) for step in launches] == [
        ("squares", "params_0_grad"), ("squares", "params_1_grad"),
        ("shrink", "params_0_grad"), ("shrink", "params_1_grad"),
    ]  # fmt: skip


@pytest.mark.parametrize(("programs", "is_right"), [("2", True), ("3", False)])
def test_what_a_change_does_over_a_list_is_judged(tmp_path: Path, programs: str, is_right: bool) -> None:
    draft, baseline = drafted(tmp_path, SHRINK)
    other = tmp_path / "other"
    other.mkdir()
    (other / "ops.py").write_text(PARTS.replace("PROGRAMS", programs))
    candidate = program_from_file(
        other / "ops.py", "clip", draft.workload(), root=other, changed_from=SHRINK.encode()
    )
    verdict = judge(
        baseline, candidate, draft.workload(), device="emulated", options=GateOptions(hidden=False)
    )
    check = verdict.stage("check")
    assert check is not None
    assert (check.status is StageStatus.PASS) is is_right, check.reason


def test_a_caller_says_how_many_tensors_a_list_has(tmp_path: Path) -> None:
    source = SHRINK.replace("[p.grad for p in params if p.grad is not None and p.grad.numel()]", "params")
    called = """

def test_clip():
    clip([torch.randn(n, device="cuda") for n in (100, 40, 7)], 0.5)
"""
    draft, program = drafted(tmp_path, source + called)
    assert [a.name for a in draft.arguments if a.shape] == ["params_0", "params_1", "params_2", "total"]
    assert sum(isinstance(step, LaunchStep) for step in program.steps) == 6
