"""A change that no launch of the workload compiles is told apart from one that was checked."""

from __future__ import annotations

import pytest

from gate.programs import affine, workload
from kernel_gate.gate import judge
from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.stages.uncompiled import branches
from kernel_gate.verdict import Verdict
from kernel_gate.workload import Workload

CUDA = """constexpr bool SCALED = false;
__global__ void affine(float *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i < n ? 2.0f * x[i] + 1.0f : 0.0f;
    if constexpr (SCALED) {
        v *= 3.0f;
    }
#ifdef TWICE
    y[i] = 4.0f * x[i];
#endif
    if (i < n) {
        y[i] = v;
    }
}
"""
TRITON = """import triton
import triton.language as tl


@triton.jit
def affine(y, x, n, SCALED: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n) * 2.0 + 1.0
    if SCALED:
        v = tl.exp(v)
    elif BLOCK > 4096:
        v = v + 2.0
    else:
        v = tl.abs(v)
    tl.store(y + i, v, mask=i < n)
"""


def triton_workload() -> Workload:
    constexpr = 'constexpr = { SCALED = "False", BLOCK = "64" }'
    return workload(**{'"cuda"': '"triton"', "block = [64]": constexpr})


def judged(old: str, new: str, language: str = "cuda") -> Verdict:
    text, w = (CUDA, workload()) if language == "cuda" else (TRITON, triton_workload())
    assert old in text
    before, after = Program(language, text, "affine"), Program(language, text.replace(old, new), "affine")
    return judge(before, after, w, device="emulated")


@pytest.mark.parametrize(
    ("language", "old", "new", "message"),
    [
        ("cuda", "v *= 3.0f", "v *= 5.0f", "compiles line 6, which changed"),
        ("cuda", "y[i] = 4.0f * x[i];", "y[i] = 5.0f * x[i];", "compiles line 9, which changed"),
        ("cuda", "    y[i] = 4.0f * x[i];\n", "", "compiles line 9 of the baseline, which changed"),
        ("triton", "tl.exp(v)", "tl.exp2(v)", "compiles line 10, which changed (it has SCALED = False)"),
        ("triton", "v + 2.0", "v + 3.0", "compiles line 12, which changed (it has BLOCK = 64)"),
    ],
)
def test_a_change_in_a_branch_that_is_not_compiled_is_undecided(language, old, new, message):
    verdict = judged(old, new, language)
    assert (verdict.code, verdict.standing) == (Reason.CHANGE_NOT_COMPILED, "undecided")
    assert message in verdict.reason


def test_beside_a_change_that_was_checked_it_is_told():
    text = TRITON.replace("tl.exp(v)", "tl.exp2(v)").replace("* 2.0 + 1.0", "* 2.0 + 0.5 + 0.5")
    w = triton_workload()
    check = judge(
        Program("triton", TRITON, "affine"), Program("triton", text, "affine"), w, device="emulated"
    ).stage("check")
    assert check.status == "pass" and "compiles line 10, which changed" in check.reason


@pytest.mark.parametrize(
    ("language", "old", "new"),
    [
        ("cuda", "2.0f * x[i] + 1.0f", "1.0f + x[i] * 2.0f"),
        ("cuda", "    if (i < n) {", "    // one element each\n    if (i < n) {"),
        ("triton", "tl.abs(v)", "tl.abs(1.0 * v)"),
    ],
)
def test_what_is_compiled_to_the_same_code_is_no_such_change(language, old, new):
    check = judged(old, new, language).stage("check")
    assert check.status == "pass" and "compiles line" not in check.reason


def test_branches_without_work_leave_no_lines_to_look_for():
    assert branches(affine()) == []
    folded = affine("if (i < n) y[i]", "int k;\n    if (n > 0) {\n        k = 2;\n    }\n    if (i < n) y[i]")
    assert [b.works for b in branches(folded)] == [False]


def rows(block: str, more: str = "") -> Program:
    return Program(
        "triton",
        f"""import triton
import triton.language as tl


@triton.jit
def affine(y, x, n, ROW: tl.constexpr):
    i = tl.program_id(0) * 64 + tl.arange(0, {block})
    mask = i < tl.minimum(n, tl.program_id(0) * 64 + 64)
    tl.store(y + i, tl.load(x + i, mask=mask) * 2.0 + 1.0, mask=mask){more}
""",
        "affine",
    )


def rows_workload() -> Workload:
    constexpr = 'constexpr = { ROW = "N * C" }'
    return workload(
        **{'"cuda"': '"triton"', "block = [64]": constexpr, "[1, 3]": "[1, 2]", "[32, 70]": "[64, 128]"}
    )


def test_a_hidden_shape_that_a_triton_program_does_not_compile_for_is_dropped():
    check = judge(rows("ROW"), rows("ROW"), rows_workload(), device="emulated").stage("check")
    assert check.status == "pass", check.reason
    assert any("does not build for N " in why for why in check.details["dropped"])


def test_a_candidate_that_does_not_compile_for_a_hidden_shape_is_wrong_where_the_baseline_does():
    verdict = judge(rows("64"), rows("ROW"), rows_workload(), device="emulated")
    assert verdict.outcome == "rejected" and "does not build for N " in verdict.reason


def test_a_program_that_compiles_for_no_shape_is_not_built():
    broken = rows("64", "\n    tl.no_such_function(x)")
    verdict = judge(rows("64"), broken, rows_workload(), device="emulated")
    assert verdict.code is Reason.CANDIDATE_DOES_NOT_COMPILE
