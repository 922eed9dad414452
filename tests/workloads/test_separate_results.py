"""Results that a host function makes as parts of one buffer are compared with those that it made one by one."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.workloads.test_triton_functions import GATED, HEAD, drafted, launches

from kernel_gate.gate import judge
from kernel_gate.program import MemsetStep, Program
from kernel_gate.reasons import Reason
from kernel_gate.workload import Workload
from kernel_lineage.workloads.programs import ProgramError, program_from_file

KERNEL = """
@triton.jit
def halves(src, low, high, count, W: tl.constexpr):
    at = tl.program_id(0) * W + tl.arange(0, W)
    v = tl.load(src + at, mask=at < count, other=0.0)
    tl.store(low + at, v * 0.5, mask=at < count)
    tl.store(high + at, v * 2.0, mask=at < count)


@triton.jit
def sums(parts, totals, count, W: tl.constexpr):
    at = tl.arange(0, W)
    v = tl.load(parts + at, mask=at < count, other=0.0) + tl.load(parts + count + at, mask=at < count, other=0.0)
    tl.atomic_add(totals, tl.sum(v))

"""
CALLED = """
def test_scaled():
    low, high = scaled(torch.randn(50, device="cuda"))
"""
LAUNCH = "halves[(triton.cdiv(n, 64),)](src, {}, {}, n, W=64)"
ONE_BY_ONE = f"""
def scaled(src):
    n = src.numel()
    low, high = torch.empty_like(src), torch.empty_like(src)
    {LAUNCH.format("low", "high")}
    return low, high
"""


def together(made: str, passed: tuple[str, str] = ("low", "high"), returned: str = "low, high") -> str:
    return f"""
def scaled(src):
    n = src.numel()
    {made}
    {LAUNCH.format(*passed)}
    return {returned}
"""


def read(folder: Path, before: str, after: str, kernel: str = KERNEL) -> tuple[Workload, list[Program]]:
    texts = [HEAD + kernel + text + CALLED for text in (before, after)]
    workload, path = drafted(folder, texts[0], "scaled").workload(), folder / "energy.py"
    changed = texts[0].encode()
    return workload, [
        program_from_file(path, "scaled", workload, data=text.encode(), changed_from=changed)
        for text in texts
    ]


UNBOUND = "both = torch.empty(2, n, device=src.device)\n    low, high = both.unbind(0)"
TOGETHER = {
    "unbound": together(UNBOUND),
    "by their places": together("both = src.new_empty((2, n))", ("both[0]", "both[1]"), "both[0], both[1]"),
    "in the other order": together("high, low = torch.empty((2, n))"),
    "halves of a row": together("both = torch.empty(2 * n)\n    low, high = both[:n], both[n:]"),
    "less than there is": together("both = torch.empty(4, n)\n    low, high = both[0], both[2]"),
}


@pytest.mark.parametrize("after", TOGETHER.values(), ids=TOGETHER)
def test_parts_of_a_buffer_are_its_results(tmp_path: Path, after: str):
    for before in (ONE_BY_ONE, after):
        _, (_, changed) = read(tmp_path, before, after)
        (step,) = launches(changed)
        assert step.arguments[:3] == ("src", "low", "high") or before is after
        assert len({*step.arguments[:3]}) == 3 and not changed.scratch


def test_parts_that_are_cleared_are_cleared_each(tmp_path: Path):
    cleared = TOGETHER["unbound"].replace("torch.empty(2", "torch.zeros(2")
    _, (_, changed) = read(tmp_path, cleared, cleared, KERNEL.replace("tl.store(low", "tl.atomic_add(low"))
    assert [step.buffer for step in changed.steps if isinstance(step, MemsetStep)] == ["low", "high"]


@pytest.mark.parametrize(
    "after",
    [
        together(UNBOUND, ("both", "high")).replace("return", "sums[(1,)](both, src, n, W=64)\n    return"),
        together("both = torch.empty(n, 2)\n    low, high = both.unbind(1)"),
        together("both = torch.empty(2 * n)\n    low, high = both[: n + 1], both[n:]"),
        together(UNBOUND, returned="low, both.flatten()"),
    ],
    ids=["a kernel has both", "one beside the other", "they overlap", "both are returned"],
)
def test_parts_that_are_not_apart_stay_together(tmp_path: Path, after: str):
    with pytest.raises(ProgramError):
        read(tmp_path, ONE_BY_ONE, after)


@pytest.mark.parametrize(
    ("returned", "code"), [("low, high", Reason.NOT_PROFILED), ("high, low", Reason.WRONG_VALUE)]
)
def test_each_part_is_compared_with_its_own_result(tmp_path: Path, returned: str, code: Reason):
    workload, (before, after) = read(tmp_path, ONE_BY_ONE, together(UNBOUND, returned=returned))
    verdict = judge(before, after, workload, device="emulated", options=GATED)
    assert verdict.code is code, verdict.reason
