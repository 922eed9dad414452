"""Tensors that outlive a call, as the state of an optimizer, hold anything, though a test begins with zeros."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import kernel_of, target_of

HOST = """
import torch
import triton
import triton.language as tl


@triton.jit
def blend(p, m, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = 0.5 * tl.load(m + at, mask=at < n) + tl.load(p + at, mask=at < n)
    tl.store(m + at, v, mask=at < n)


def update(p, m):
    blend[(triton.cdiv(p.numel(), 64),)](p, m, p.numel(), BLOCK=64)


def update_all(params, state):
    for name, p in params.items():
        update(p, state["m"][name])


def update_pairs(pairs):
    for p, m in pairs:
        update(p, m)


def fresh(p):
    m = torch.zeros_like(p)
    update(p, m)
    return m


class Averaged(torch.optim.Optimizer):
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if "m" not in state:
                    state["m"] = torch.zeros_like(p)
                update(p, state["m"])


class Meter:
    def __init__(self, n):
        self.total = torch.zeros(n, device="cuda")

    def add(self, p):
        update(p, self.total)
"""
USES = {
    "an optimizer's state": ("Averaged([p]).step()", False),
    "an object's tensor": ("Meter(50).add(p)", False),
    "what a test hands on": ("update(p, torch.zeros_like(p))", False),
    "a dict of a dict": ('update_all({"w": p}, {"m": {"w": torch.zeros_like(p)}})', False),
    "tuples in a list": ("update_pairs([(p, torch.zeros_like(p))])", False),
    "what a function clears each time": ("fresh(p)", True),
}


@pytest.mark.parametrize(("use", "is_cleared"), USES.values(), ids=USES)
@pytest.mark.parametrize("whole", [True, False], ids=["the function", "the kernel"])
def test_what_is_zero_at_first_may_hold_anything(tmp_path: Path, use: str, is_cleared: bool, whole: bool):
    path = tmp_path / "averages.py"
    (tmp_path / ".git").mkdir()
    path.write_text(HOST)
    test = f"import torch\nfrom averages import *\n\ndef test_it():\n    p = torch.randn(50)\n    {use}\n"
    (tmp_path / "test_averages.py").write_text(test)
    target = target_of(path, "update") if whole else kernel_of(path, "blend")
    draft = draft_of(target, path, measure=False)
    assert not draft.missing
    assert ("m is cleared before the launch" in draft.assumed) == is_cleared
