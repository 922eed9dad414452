"""Branches of Triton kernels that choose a value: which become `tl.where`, and which are left alone."""

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

HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
MIRRORED = """def mirrored(out, x, flip, n):
    row = tl.program_id(0)
    turned = tl.load(flip + row)
    for i in range(0, n):
        at = i
        if turned != 0:
            at = n - 1 - i
        v = tl.load(x + row * n + at)
        if turned > 1:
            scale = 2.0
            far = v * 0.5
        else:
            scale = 1.0
            far = v
        tl.store(out + row * n + i, v * scale)
"""
CHOSEN = """        at = i
        at = tl.where(turned != 0, n - 1 - i, at)
        v = tl.load(x + row * n + at)
"""
LAUNCH = "\n\ndef run(out, x, flip):\n    mirrored[(x.shape[0],)](out, x, flip, x.shape[1])\n"
BRANCH = """        if turned > 1:
            scale = 2.0
            far = v * 0.5
        else:
            scale = 1.0
            far = v
"""


def test_a_branch_that_chooses_a_value_is_a_choice() -> None:
    text = MIRRORED.replace("            far = v * 0.5\n", "").replace("            far = v\n", "")
    form = readable_form(kernel_in_text(HEAD + text + LAUNCH, "mirrored", Language.TRITON))
    assert form is not None
    assert CHOSEN in form.kernel.text
    assert "        scale = tl.where(turned > 1, 2.0, 1.0)\n" in form.kernel.text
    assert form.explanation == "Branches that choose a value are choices."


@pytest.mark.parametrize(
    "branch",
    [
        pytest.param("if turned != 0:\n            v = tl.load(x + i)", id="reads memory"),
        pytest.param("if turned != 0:\n            v = v / (i // turned)", id="divides by what may be zero"),
        pytest.param("if n != 0:\n            v = v + 1", id="may be known when it is built"),
        pytest.param("if turned != 0:\n            v = v + 1\n            tl.store(out, v)", id="does more"),
        pytest.param("if v > 0:\n            v = v + 1\n            i = i + 1", id="tests what it changes"),
        pytest.param("if turned:\n            v = v + 1", id="compares nothing"),
        pytest.param("if turned != 0:\n            w = v + 1", id="without a value before"),
    ],
)
def test_another_branch_is_left_alone(branch: str) -> None:
    text = MIRRORED.replace(BRANCH, f"        {branch}\n").replace("v * scale", "v")
    text = text.replace("        if turned != 0:\n            at = n - 1 - i\n", "", 1)
    assert branch in text
    assert readable_form(kernel_in_text(HEAD + text, "mirrored", Language.TRITON)) is None


def test_rows_that_a_branch_mirrors_are_loaded_together() -> None:
    kernel = kernel_in_text(HEAD + MIRRORED.replace(BRANCH, "").replace("v * scale", "v") + LAUNCH, "mirrored",
                            Language.TRITON)  # fmt: skip
    values = {"toolchain.triton": (3, 3), "launch.grid.x": 4096, "n": 1000}
    values |= {"noalias(out, x)": True, "noalias(out, flip)": True, "noalias(x, flip)": True}
    facts = Facts({name: Fact((value,), "stated", FactSource.STATED) for name, value in values.items()})
    made = proposals(kernel, tuple(s for s in library(None) if s.id == "triton-rows-together"), facts).made
    assert made
    assert "tl.where(turned != 0" in made[0].text.decode()


@pytest.mark.long
def test_it_computes_the_same() -> None:
    text = HEAD + MIRRORED.replace("            far = v * 0.5\n", "").replace("            far = v\n", "")
    form = readable_form(kernel_in_text(text, "mirrored", Language.TRITON))
    assert form is not None
    load = workload(
        "mirrored", "R = [1, 5]\nC = [1, 40]", 'grid = ["R"]', "out: output float32 [R, C]",
        "x: input float32 [R, C]", "flip: input int32 [R]", "n: int32 = C", language="triton",
    )  # fmt: skip
    after = form.candidate.apply(text.encode()).decode()
    programs = [Program("triton", each, "mirrored") for each in (text, after)]
    stage = judge(*programs, load, device="emulated", options=GateOptions(check_seconds=3600.0)).stage(
        "check"
    )
    assert stage is not None
    assert stage.status is StageStatus.PASS, stage.reason
