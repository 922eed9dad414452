"""A step that is wrong somewhere, told as right where it is."""

from dataclasses import replace

import pytest

from kernel_gate.program import Program
from kernel_gate.verdict import Outcome
from kernel_gate.worker import Worker
from kernel_gate.workload import parse_workload
from kernel_lineage.learning.narrowing import narrowed_record, narrowed_verdict
from kernel_lineage.learning.probes.setting import base_of
from kernel_lineage.learning.replay.record import Label, Record
from kernel_lineage.learning.steps import Step
from kernel_lineage.skills.card import Condition, ConditionKind, Origin

KERNEL = """__global__ void twice(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { y[i] = 2.0f * x[i]; }
}
"""
WORKLOAD = """
kernel = "twice"
language = "cuda"
dims = { n = [99] }
args = [
  { name = "y", kind = "output", dtype = "float32", shape = ["n"] },
  { name = "x", kind = "input", dtype = "float32", shape = ["n"] },
  { name = "n", kind = "scalar", dtype = "int32", value = "n" },
]
launch = { grid = ["ceil_div(n, 64)"], block = [64] }
"""
FOURS = KERNEL.replace("i < n", "i < n / 4 * 4")
NOWHERE = KERNEL.replace("2.0f", "3.0f")


def step(after: str) -> Step:
    before = Program("cuda", KERNEL, "twice", name="twice.cu")
    return Step("t1", before, replace(before, source=after), parse_workload(WORKLOAD))


def narrowed(after: str, seconds: float = 120.0):
    asked = step(after)
    with Worker() as worker:
        verdict = worker.judge(base_of(asked, {"n": 99}, 91).request())
        return narrowed_verdict(verdict, asked, worker.judge, seconds)


@pytest.mark.long
def test_a_rejected_candidate_says_where_it_is_right_and_stays_rejected():
    verdict = narrowed(FOURS)
    assert verdict.outcome is Outcome.REJECTED
    assert verdict.reason.endswith("; narrower: right where n % 4 == 0")
    (narrowing,) = verdict.stage("check").details["narrower"]
    assert (
        narrowing["expr"] == "n % 4 == 0"
        and narrowing["holds"][0] == narrowing["holds"][1] > 1 < narrowing["broken"][1]
    )


def test_a_candidate_that_is_right_nowhere_says_so():
    verdict = narrowed(NOWHERE)
    assert "not narrowed: no region in which it is right was found in" in verdict.reason
    assert verdict.stage("check").details["narrower"] == []


def test_a_verdict_that_does_not_reject_is_given_back():
    asked = step(KERNEL)
    with Worker() as worker:
        verdict = worker.judge(base_of(asked, {"n": 99}, 91).request())
    assert narrowed_verdict(verdict, asked, lambda _request: pytest.fail("asked"), 1.0) is verdict


def record(**about) -> Record:
    fields = {
        "transition": "t1", "claim": "faster", "status": "failed", "code": "wrong-value", "reason": "y[96] is wrong",
        "label": Label.REPRODUCED, "device": "emulated", "made": "", "seconds": 1.0, "fault_in": "later"}  # fmt: skip
    return Record(**{**fields, **about})


def condition(origin: Origin) -> Condition:
    return Condition(
        kind=ConditionKind.VALIDITY, category="shape", expr="n % 4 == 0", reason="a tail", origin=origin
    )


def test_a_failed_step_with_a_probed_condition_is_narrower():
    narrower = narrowed_record(record(), [condition(Origin.PROBE)])
    assert (narrower.status, narrower.code) == ("narrower", "narrowed")
    assert narrower.reason == "right where n % 4 == 0; elsewhere y[96] is wrong"


@pytest.mark.parametrize(
    ("about", "origin"),
    [({}, Origin.AUTHOR), ({"fault_in": "earlier"}, Origin.PROBE), ({"status": "undecided"}, Origin.PROBE)],
)
def test_other_steps_stay_as_they_are(about, origin):
    asked = record(**about)
    assert narrowed_record(asked, [condition(origin)]) is asked
