"""A forward pass that keeps no activation any more is right with its backward pass alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import target_of
from kernel_lineage.workloads.programs import ArgumentsDifferError, program_from_file
from kernel_lineage.workloads.proof import prove

GATE = """
import torch
import triton
import triton.language as tl

@triton.jit
def gated(x_ptr, y_ptr, s_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    s = 1.0 / (1.0 + tl.exp(-x))
    tl.store(y_ptr + i, x * s, mask=i < n)
    tl.store(s_ptr + i, s, mask=i < n)

def gate(x, keep=None):
    y = torch.empty_like(x)
    s = torch.empty_like(x)
    n = x.numel()
    gated[(triton.cdiv(n, 64),)](x, y, s, n, BLOCK=64)
    return y
"""
TEST = """
import torch
from gate import gate

def test_gate():
    gate(torch.randn(300, device="cuda"))
"""
KEEPS_NONE = (
    GATE.replace("y_ptr, s_ptr, n", "y_ptr, n")
    .replace("    tl.store(s_ptr + i, s, mask=i < n)\n", "")
    .replace("    s = torch.empty_like(x)\n", "")
    .replace("(x, y, s, n", "(x, y, n")
)


def _written(folder: Path) -> Path:
    (folder / "gate.py").write_text(GATE)
    (folder / "test_gate.py").write_text(TEST)
    return folder / "gate.py"


def _after(path: Path, text: str):
    workload = draft_of(target_of(path, "gated"), path).workload()
    return program_from_file(path, "gated", workload, data=text.encode(), changed_from=GATE.encode())


def test_an_output_that_host_code_no_longer_has_is_not_judged_by_the_kernel(tmp_path: Path) -> None:
    with pytest.raises(ArgumentsDifferError, match="`gate` no longer has `s`, which `gated` writes before"):
        _after(_written(tmp_path), KEEPS_NONE)


def test_an_output_that_host_code_still_has_is_judged(tmp_path: Path) -> None:
    text = KEEPS_NONE.replace("    n = x.numel()\n", "    s = torch.empty_like(x)\n    n = x.numel()\n")
    assert "s" not in (_after(_written(tmp_path), text).arguments or ())


def test_zeros_in_what_a_host_function_keeps_for_itself_may_go_unnoticed(tmp_path: Path) -> None:
    path = _written(tmp_path)
    target = target_of(path, "gate")
    proof = prove(target, path, draft_of(target, path).workload(), kinds=("zero_output",), seconds=5.0)
    assert (proof.blind, [t.mutant.line for t in proof.tried]) == ("", [11])


SCALED = """
import torch
import triton
import triton.language as tl

@triton.jit
def scaled(x_ptr, y_ptr, by, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, by * tl.load(x_ptr + i, mask=i < n, other=0.0), mask=i < n)

def scale(x, by: float = 0.5):
    y = torch.empty_like(x)
    n = x.numel()
    scaled[(triton.cdiv(n, 64),)](x, y, by, n, BLOCK=64)
    return y
"""


def test_a_number_that_is_loaded_since_is_another_argument(tmp_path: Path) -> None:
    path = tmp_path / "scale.py"
    path.write_text(SCALED)
    workload = draft_of(target_of(path, "scaled"), path).workload()
    loaded = (
        SCALED.replace("y_ptr, by, n", "y_ptr, by_ptr, n")
        .replace("by * tl.load", "tl.load(by_ptr) * tl.load")
        .replace("(x, y, by, n", "(x, y, torch.tensor([by], device=x.device), n")
    )
    with pytest.raises(ArgumentsDifferError, match="takes 4 arguments"):
        program_from_file(path, "scaled", workload, data=loaded.encode(), changed_from=SCALED.encode())
    renamed = SCALED.replace("y_ptr, by, n", "y_ptr, factor, n").replace("by * tl", "factor * tl")
    after = program_from_file(path, "scaled", workload, data=renamed.encode(), changed_from=SCALED.encode())
    assert after.arguments is None
