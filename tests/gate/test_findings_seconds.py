"""What is left of a check once a detector has seen something: a caller may want no more than that."""

import pytest

from kernel_gate import gate
from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.stages.follow import followed
from kernel_gate.workload import parse_workload

# Without the second barrier a thread may read an element while its owner writes it, and the value is the same.
KERNEL = """__global__ void turn(float *y, const float *x, int n) {
    __shared__ float held[64];
    int t = threadIdx.x;
    held[t] = t < n ? x[t] : 0.0f;
    __syncthreads();
    float other = held[t ^ 32];
    BARRIER
    held[t] += 0.0f * t;
    if (t < n) y[t] = other;
}
"""
WORKLOAD = """
kernel = "turn"
language = "cuda"
dims = { n = [40, 64] }
args = [
  { name = "y", kind = "output", dtype = "float32", shape = ["n"] },
  { name = "x", kind = "input", dtype = "float32", shape = ["n"] },
  { name = "n", kind = "scalar", dtype = "int32", value = "n" },
]
launch = { grid = ["1"], block = [64] }
"""
RIGHT, RACY = (KERNEL.replace("BARRIER", barrier) for barrier in ("__syncthreads();", ""))


def checked(baseline: str, candidate: str, seconds: float | None):
    """The verdict, and how many cases were compared."""
    programs = (Program("cuda", text, "turn", name="turn.cu") for text in (baseline, candidate))
    options = GateOptions(seed=3, callers_seconds=0, algebra_seconds=0, findings_seconds=seconds)
    verdict = judge(*programs, parse_workload(WORKLOAD), device="emulated", options=options)
    return verdict, verdict.stage("check").details["cases"]


def test_a_race_ends_the_check_after_the_named_shapes_where_no_more_is_asked_for():
    few, whole = (checked(RIGHT, RACY, seconds) for seconds in (0, None))
    assert few[0].code == whole[0].code == "race"
    assert few[0].outcome == whole[0].outcome == "rejected"
    assert 2 <= few[1] < whole[1]


@pytest.mark.parametrize(
    ("baseline", "candidate"), [(RIGHT, RIGHT), (RACY, RACY.replace("t ^ 32", "32 ^ t"))]
)
def test_what_is_right_or_does_as_its_baseline_is_checked_whole(baseline, candidate):
    few, whole = (checked(baseline, candidate, seconds) for seconds in (0, None))
    assert few[0].outcome == whole[0].outcome
    assert few[1] == whole[1]


def test_cases_that_follow_the_code_are_looked_for_once_the_planned_ones_agree(monkeypatch):
    asked = []

    def watched(cases, *rest):
        asked.append(more := followed(cases, *rest))
        return more

    monkeypatch.setattr(gate, "followed", watched)
    wrong = RIGHT.replace("y[t] = other", "y[t] = 2.0f * other")
    assert checked(RIGHT, wrong, None)[0].code == "wrong-value"
    assert checked(RIGHT, RACY, 0)[0].code == "race"
    assert not asked
    verdict, compared = checked(RIGHT, RIGHT, None)
    assert verdict.stage("check").status == "pass"
    assert len(asked) == 1
    assert compared > len(asked[0]) > 0


def test_a_failure_is_explained_unless_that_is_not_asked_for():
    wrong = RIGHT.replace("y[t] = other", "y[t] = 2.0f * other")
    programs = [Program("cuda", text, "turn", name="turn.cu") for text in (RIGHT, wrong)]
    verdicts = {
        explain: judge(
            *programs,
            parse_workload(WORKLOAD),
            device="emulated",
            options=GateOptions(seed=3, explain=explain),
        )
        for explain in (True, False)
    }
    assert verdicts[True].code == verdicts[False].code == "wrong-value"
    assert "written on line 9" in verdicts[True].reason
    assert verdicts[True].reason.startswith(verdicts[False].reason)
    assert "written on line" not in verdicts[False].reason


def test_nothing_is_run_of_a_candidate_that_compiles_to_its_baseline_where_no_more_is_asked_for():
    dead = RIGHT.replace("float other =", "float unused = x[0]; float other =")
    programs = [Program("cuda", text, "turn", name="turn.cu") for text in (RIGHT, dead)]
    few, whole = (
        judge(
            *programs,
            parse_workload(WORKLOAD),
            device="emulated",
            options=GateOptions(seed=3, callers_seconds=0, algebra_seconds=0, explain=explain),
        )
        for explain in (False, True)
    )
    assert few.code == "change-not-compiled"
    assert "cases" not in few.stage("check").details
    assert whole.stage("check").details["cases"] > 0
