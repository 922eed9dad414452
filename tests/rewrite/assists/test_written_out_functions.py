"""Triton functions of a kernel's own file, written out in it: what becomes of the calls, and which are left alone."""

from __future__ import annotations

import pytest

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.verdict import StageStatus
from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.assists.readable_forms import readable_form
from kernel_lineage.rewrite.optimise.proposals import proposals
from kernel_lineage.skills.conditions.facts import Fact, Facts, FactSource
from kernel_lineage.skills.library import library
from kernel_texts import kernel_in_text
from rewrite.assists.workloads import workload

HEAD = "import triton\nimport triton.language as tl\n\n\n"
FUNCTIONS = '''@triton.jit
def clipped(v, most):
    v = tl.minimum(v, most)
    return tl.maximum(v, -most)


@triton.jit
def spread(row, n, scale=2.0, BLOCK: tl.constexpr = 32):
    """Total and largest of a row."""
    total = 0.0
    top = float("-inf")
    for first in range(0, n, BLOCK):
        at = first + tl.arange(0, BLOCK)
        v = tl.load(row + at,
                    mask=at < n, other=0.0)
        total += tl.sum(clipped(v, scale * 2))
        top = tl.maximum(top, tl.max(tl.where(at < n, v, float("-inf"))))
    return total, top


'''
KERNEL = """@triton.jit
def shares(out, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0)
    total, top = spread(x + at * n, n, BLOCK=BLOCK)
    tl.store(out + at, clipped(total, 3.0) + clipped(top, n * 0.5))
"""
LAUNCH = "\n\ndef run(out, x):\n    shares[(x.shape[0],)](out, x, x.shape[1], BLOCK=32)\n"
WRITTEN_OUT = """@triton.jit
def shares(out, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0)
    row_ = x + at * n
    total_ = 0.0
    top_ = float("-inf")
    for first_ in range(0, n, BLOCK):
        at_ = first_ + tl.arange(0, BLOCK)
        v_ = tl.load(row_ + at_,
                    mask=at_ < n, other=0.0)
        v___ = v_
        most_ = 2.0 * 2
        v___ = tl.minimum(v___, most_)
        clipped__ = tl.maximum(v___, -most_)
        total_ += tl.sum(clipped__)
        top_ = tl.maximum(top_, tl.max(tl.where(at_ < n, v_, float("-inf"))))
    total = total_
    top = top_
"""


def test_a_function_stands_in_the_place_of_its_call() -> None:
    form = readable_form(kernel_in_text(HEAD + FUNCTIONS + KERNEL + LAUNCH, "shares", Language.TRITON))
    assert form is not None
    assert form.kernel.text.startswith(WRITTEN_OUT)
    assert "clipped(" not in form.kernel.text
    assert form.explanation == "Calls of the file's own functions are written out."


@pytest.mark.parametrize(
    ("function", "call"),
    [
        pytest.param("if v > most:\n        return most\n    return v", "clipped(v, 1.0)", id="early return"),
        pytest.param("tl.store(most, v)\n    return v", "v + clipped(v, out)", id="writes beside"),
        pytest.param("return v * tl.load(at)", "clipped(v, 1.0)", id="another meaning"),
        pytest.param("return v", "clipped(*v)", id="handed over together"),
        pytest.param("return v", "v if n > 1 else clipped(v, 1.0)", id="in some cases"),
        pytest.param("return v, most", "clipped(v, 1.0)[0] + 1", id="one of several values"),
    ],
)
def test_what_would_mean_something_else_is_left_alone(function: str, call: str) -> None:
    text = (
        f"{HEAD}@triton.jit\ndef clipped(v, most):\n    {function}\n\n\n"
        "@triton.jit\ndef shares(out, x, n):\n    at = tl.program_id(0)\n    v = tl.load(x + at)\n"
        f"    v = {call}\n    tl.store(out + at, v)\n"
    )
    assert readable_form(kernel_in_text(text, "shares", Language.TRITON)) is None


def test_programs_that_call_a_function_are_taken_together() -> None:
    kernel = kernel_in_text(HEAD + FUNCTIONS + KERNEL + LAUNCH, "shares", Language.TRITON)
    values = {"toolchain.triton": (3, 3), "launch.grid.x": 4096, "n": 1000}
    facts = Facts({name: Fact((value,), "told", FactSource.STATED) for name, value in values.items()})
    skills = tuple(s for s in library(None) if s.id == "triton-several-programs")
    made = proposals(kernel, skills, facts).made
    assert made
    assert "spread(" not in made[0].text.decode().partition("def shares(")[2]


@pytest.mark.long
def test_it_computes_the_same() -> None:
    text = HEAD + FUNCTIONS + KERNEL
    form = readable_form(kernel_in_text(text, "shares", Language.TRITON))
    assert form is not None
    load = workload(
        "shares", "R = [1, 5]\nC = [1, 40, 64]", 'grid = ["R"]\nconstexpr = { BLOCK = 32 }',
        "out: output float32 [R]", "x: input float32 [R, C]", "n: int32 = C", language="triton",
    )  # fmt: skip
    after = form.candidate.apply(text.encode()).decode()
    programs = [Program("triton", each, "shares") for each in (text, after)]
    stage = judge(*programs, load, device="emulated", options=GateOptions(check_seconds=3600.0)).stage(
        "check"
    )
    assert stage is not None
    assert stage.status is StageStatus.PASS, stage.reason
