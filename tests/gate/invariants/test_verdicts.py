"""Invariants in a verdict: a violated one rejects and explains, one that nobody can read or decides is said."""

import pytest

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.verdict import Outcome, StageStatus, Verdict
from kernel_gate.workload import parse_workload
from workload_texts import workload_text

WORKLOAD = workload_text(
    "scale",
    "N = [2]\nC = [40]",
    'grid = ["N"]\nblock = [32]',
    "y: output float32 [N, C]",
    "x: input float32 [N, C]",
    "s: input float32 [C]",
    "C: int32 = C",
)
SCALE = """__global__ void scale(float *y, const float *x, const float *s, int C) {
    // klineage: tag x[row][col]
    // klineage: tag s[col]
    // klineage: tag y[row][col] as (row, col, last = row == N - 1)
    for (int c = threadIdx.x; c < C; c += 32) {
        float v = x[blockIdx.x * C + c];
        y[blockIdx.x * C + c] = v * s[c];  // klineage: assert product(col)
    }
}
"""
OPTIONS = GateOptions(hidden=False)


def judged(old: str = "", new: str = "", first_line: int = 1, baseline: str = SCALE) -> Verdict:
    assert old in SCALE
    candidate = Program("cuda", SCALE.replace(old, new), "scale", name="scale.cu", first_line=first_line)
    before = Program("cuda", baseline, "scale", name="scale.cu (before)")
    return judge(before, candidate, parse_workload(WORKLOAD), device="emulated", options=OPTIONS)


def stated(verdict: Verdict) -> dict:
    check = verdict.stage("check")
    assert check is not None
    return check.details["invariants"]


def test_an_invariant_that_holds_stands_in_the_evidence():
    verdict = judged()
    check = verdict.stage("check")
    assert check is not None and check.status is StageStatus.PASS
    (assertion,) = stated(verdict)["assertions"]
    assert (assertion["text"], assertion["line"], assertion["status"], assertion["violated"]) == (
        "product(col)",
        7,
        "held",
        0,
    )
    assert assertion["compared"] == 2 * 40
    assert stated(verdict)["cases"] == 1


def test_a_violated_one_rejects_with_both_data_and_the_wrong_value_that_it_explains():
    verdict = judged("s[c];", "s[C - 1 - c];", first_line=101)
    assert (verdict.outcome, verdict.code) == (Outcome.REJECTED, Reason.INVARIANT_VIOLATED)
    check = verdict.stage("check")
    assert check is not None
    assert (check.details["line"], check.details["thread"], check.details["also"]) == (
        107,
        (0, 0, 0),
        "wrong-value",
    )
    assert [(r["what"], r["line"]) for r in check.details["related"]] == [
        ("x[0, 0] was loaded here", 106),
        ("s[39] was loaded here", 107),
    ]
    assert "left factor.col is 0, from x[0, 0], which line 106 loaded" in verdict.reason
    assert "y[0, 0]" in verdict.reason


def test_one_that_values_do_not_show_rejects_as_well():
    verdict = judged("product(col)", "stored.row == 1", baseline=SCALE)
    assert verdict.code is Reason.INVARIANT_VIOLATED
    check = verdict.stage("check")
    assert check is not None and "also" not in check.details


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("product(col)", "tag(w).col == c", 7, 'identifier "w" is undefined'),
        ("product(col)", "tag(v).colour == c", 7, "no tag gives a coordinate `colour`"),
        ("tag s[col]", "tag z[col]", 3, "the workload has no buffer named z; it has y, x, s"),
        ("tag s[col]", "tag s[row][col]", 3, "s has the 1 extents (40,) in the workload and 2 indices here"),
        ("row == N - 1", "row / M", 4, "`M` is not known here"),
    ],
)
def test_one_that_cannot_be_read_is_said_with_its_line(old, new, line, message):
    verdict = judged(old, new)
    assert (verdict.outcome, verdict.code) == (Outcome.INCONCLUSIVE, Reason.INVARIANT_UNREADABLE)
    assert message in verdict.reason
    assert f"scale.cu:{line}" in verdict.reason
    assert stated(verdict)["mistakes"][0]["line"] == line
    sanitized = verdict.stage("sanitize")
    assert sanitized is not None and sanitized.status is StageStatus.PASS


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        ("float v =", "if (c > 99) { float w = s[c]; // klineage: assert tag(w).col == c\n } float v =", "unreached"),
        ("* s[c];", "* 3.0f;", "untagged"),
    ],
)  # fmt: skip
def test_one_that_no_case_decides_is_inconclusive(old, new, status):
    plain = SCALE.replace(old, new.replace("// klineage", "// "))
    verdict = judged(old, new, baseline=plain)
    assert (verdict.outcome, verdict.code) == (Outcome.INCONCLUSIVE, Reason.INVARIANT_UNDECIDED)
    assert status in {assertion["status"] for assertion in stated(verdict)["assertions"]}


def test_invariants_that_the_candidate_drops_are_said():
    without = "\n".join(line.split("// klineage")[0] for line in SCALE.splitlines())
    verdict = judged(SCALE, without)
    assert "the candidate none" in stated(verdict)["notes"][0]


def test_who_states_none_is_not_looked_at():
    without = "\n".join(line.split("// klineage")[0] for line in SCALE.splitlines())
    verdict = judged(SCALE, without, baseline=without)
    check = verdict.stage("check")
    assert check is not None and "invariants" not in check.details
