"""What a verdict says of a transition depends on what was claimed of it."""

from __future__ import annotations

import pytest

from kernel_gate.reasons import Reason
from kernel_gate.verdict import Outcome, ShapeSpeed, SpeedState, Speedup, Stage, StageStatus, Verdict
from kernel_lineage.learning.replay.claims import Claim
from kernel_lineage.learning.replay.outcome import asks_for_less, is_of_the_moment, narrowed, outcome_of

PASS, FAIL, GONE = StageStatus.PASS, StageStatus.FAIL, StageStatus.UNAVAILABLE


def verdict(*stages: Stage, median: float | None = None, state: SpeedState = SpeedState.FAST) -> Verdict:
    speedup = None
    if median is not None:
        speedup = Speedup(median=median, low=median - 0.01, high=median + 0.01, state=state, by_shape=[])
    return Verdict(
        outcome=Outcome.INCONCLUSIVE,
        code=stages[-1].code,
        reason=stages[-1].reason,
        stages=list(stages),
        speedup=speedup,
        environment={"device": {"name": "NVIDIA H200"}},
        inputs_hash="",
    )


def stage(name: str, status: StageStatus = PASS, code: Reason | None = None, **details: object) -> Stage:
    return Stage(name=name, status=status, code=code, reason=f"{name} says so", details=details)


RIGHT = (stage("build"), stage("check"), stage("sanitize"))
WRONG = verdict(
    stage("build"), stage("check", FAIL, Reason.WRONG_VALUE, dims={"n": 7}, seed=91, output="out")
)
RACE = verdict(
    *RIGHT[:2], stage("sanitize", FAIL, Reason.RACE, findings=[{"case": "n 7, seed 91", "line": 3}])
)
BASE = verdict(stage("build"), stage("check", GONE, Reason.BASELINE_FAILS_CHECK, cause=Reason.OUT_OF_BOUNDS))
RACES_AT_LARGE = verdict(
    *RIGHT, stage("profile", GONE, Reason.BASELINE_FAILS_CHECK, cause=Reason.RACE, case="n 7, seed 91")
)
UNTIMED = verdict(*RIGHT, stage("profile", GONE, Reason.NOT_PROFILED))
WRONG_WHEN_TIMED = verdict(*RIGHT, stage("profile", FAIL, Reason.WRONG_AFTER_TIMING))
SLOW_TO_CHECK = verdict(stage("build"), stage("check", GONE, Reason.CASE_TIME_SPENT))
ERROR = stage("build", FAIL, Reason.CANDIDATE_DOES_NOT_COMPILE, program="candidate")
NO_COMPILER = verdict(stage("build", GONE, Reason.COMPILER_MISSING))


def timed(median: float, state: SpeedState) -> Verdict:
    return verdict(*RIGHT, stage("profile", PASS, Reason.FASTER), median=median, state=state)


@pytest.mark.parametrize(
    ("claim", "judged", "status", "code", "label"),
    [
        (Claim.FASTER, UNTIMED, "reproduced", "agrees", "reproduced"),
        (Claim.FASTER, timed(1.5, SpeedState.FAST), "reproduced", "faster", "measured here"),
        (Claim.FASTER, timed(0.8, SpeedState.SLOW), "failed", "faster", "measured here"),
        (Claim.FASTER, timed(1.0, SpeedState.SAME), "undecided", "no-effect", "measured here"),
        (Claim.FASTER, timed(1.0, SpeedState.AMBIGUOUS), "undecided", "faster", "reproduced"),
        (Claim.SAME, timed(0.8, SpeedState.SLOW), "reproduced", "faster", "measured here"),
        (Claim.FASTER, WRONG, "failed", "wrong-value", "inferred"),
        (Claim.FASTER, RACE, "failed", "race", "inferred"),
        (Claim.FASTER, BASE, "undecided", "earlier-state-fails", "inferred"),
        (Claim.FASTER, RACES_AT_LARGE, "undecided", "earlier-state-fails", "inferred"),
        (Claim.FASTER, verdict(ERROR), "unbuildable", "candidate-does-not-compile", "inferred"),
        (Claim.FASTER, NO_COMPILER, "undecided", "compiler-missing", "inferred"),
        (Claim.FASTER, SLOW_TO_CHECK, "undecided", "case-time-spent", "inferred"),
        (Claim.FIXED, WRONG, "reproduced", "failure-seen", "reproduced"),
        (Claim.FIXED, UNTIMED, "undecided", "failure-not-seen", "inferred"),
        (Claim.FIXED, BASE, "failed", "later-state-fails", "inferred"),
        (Claim.UNDONE, WRONG, "reproduced", "failure-seen", "reproduced"),
        (Claim.UNDONE, UNTIMED, "undecided", "needs-times", "inferred"),
        (Claim.UNDONE, timed(0.8, SpeedState.SLOW), "reproduced", "faster", "measured here"),
        (Claim.UNDONE, timed(1.2, SpeedState.FAST), "failed", "faster", "measured here"),
        (Claim.UNDONE, timed(1.0, SpeedState.SAME), "undecided", "no-effect", "measured here"),
    ],
)
def test_the_status_of_a_transition(claim, judged, status, code, label):
    outcome = outcome_of(claim, judged)
    assert (outcome.status, outcome.code, outcome.label) == (status, code, label)


@pytest.mark.parametrize(
    ("claim", "program", "state"),
    [
        (Claim.FASTER, "candidate", "later"),
        (Claim.FASTER, "baseline", "earlier"),
        (Claim.FIXED, "candidate", "earlier"),
        (Claim.FIXED, "baseline", "later"),
    ],
)
def test_the_state_that_does_not_build_is_named(claim, program, state):
    broken = ERROR.model_copy(update={"details": {"program": program}})
    assert f"the {state} state does not build" in outcome_of(claim, verdict(broken)).reason


def test_an_effect_goes_in_the_direction_of_the_transition():
    forward = outcome_of(Claim.FASTER, timed(1.25, SpeedState.FAST)).effect
    undone = outcome_of(Claim.UNDONE, timed(0.8, SpeedState.SLOW)).effect
    assert forward.median == undone.median == 1.25
    assert undone.low < 1.25 < undone.high and undone.state is SpeedState.FAST
    assert undone.device == "NVIDIA H200"


def test_a_counterexample_has_its_case_also_from_a_sanitizer():
    assert outcome_of(Claim.FASTER, WRONG).counterexample.dims == {"n": 7}
    race = outcome_of(Claim.FASTER, RACE).counterexample
    assert (race.dims, race.seed, race.line) == ({"n": 7}, 91, 3)


@pytest.mark.parametrize(
    ("doubts", "judged", "code"),
    [
        ({"mean": "one state updates it"}, WRONG_WHEN_TIMED, "contract-differs"),
        ({}, WRONG_WHEN_TIMED, "wrong-after-timing"),
        ({"": "only one state takes mean"}, WRONG, "contract-differs"),
        ({"out": "one state updates out, the other overwrites it"}, WRONG, "contract-differs"),
        ({"other": "one state updates other, the other overwrites it"}, WRONG, "wrong-value"),
        ({"": "only one state takes mean"}, RACE, "race"),
    ],
    ids=[
        "when timed",
        "when timed, no doubt",
        "of all outputs",
        "of this output",
        "of another output",
        "no value",
    ],
)
def test_values_that_may_be_another_task_are_no_failure(doubts, judged, code):
    assert outcome_of(Claim.FASTER, judged, doubts).code == code


def test_a_step_that_is_right_where_the_workload_says_is_reproduced_under_a_condition():
    everywhere, named = outcome_of(Claim.FASTER, WRONG), outcome_of(Claim.FASTER, UNTIMED)
    narrower = narrowed(everywhere, named)
    assert (narrower.status, narrower.code, narrower.fault_in) == ("narrower", "narrower", None)
    assert narrower.counterexample == everywhere.counterexample
    assert narrowed(everywhere, everywhere) == everywhere


def test_a_fault_that_both_states_have_outside_of_what_is_named_decides_nothing():
    both = verdict(*RIGHT[:2], stage("sanitize", GONE, Reason.RACE, findings=[{"case": "n 7"}]))
    everywhere = outcome_of(Claim.FASTER, both)
    assert everywhere.status == "undecided" and asks_for_less(everywhere, both)
    at_callers = narrowed(everywhere, outcome_of(Claim.FASTER, UNTIMED))
    assert (at_callers.status, at_callers.code) == (
        "reproduced",
        "agrees",
    ) and "both states fail" in at_callers.reason
    assert not asks_for_less(outcome_of(Claim.FIXED, WRONG), WRONG)


@pytest.mark.parametrize(
    ("before_us", "after_us", "status", "code"),
    [
        (3.0, 4.5, "undecided", "too-short"),
        (3.0, 12.0, "failed", "slower"),
        (40.0, 60.0, "failed", "slower"),
    ],
)
def test_a_loss_of_launches_that_do_next_to_nothing_says_nothing_of_a_step(before_us, after_us, status, code):
    ratio = before_us / after_us
    slow = {"median": ratio, "low": ratio - 0.01, "high": ratio + 0.01, "state": SpeedState.SLOW}
    shape = ShapeSpeed(dims={"n": 64}, baseline_us=before_us, candidate_us=after_us, noise=0.002, **slow)
    judged = verdict(*RIGHT, stage("profile", FAIL, Reason.SLOWER)).model_copy(
        update={"speedup": Speedup(**slow, by_shape=[shape])}
    )
    outcome = outcome_of(Claim.FASTER, judged)
    assert (outcome.status, outcome.code, outcome.label) == (status, code, "measured here")
    assert outcome.effect.by_shape[0].candidate_us == after_us


@pytest.mark.parametrize(
    ("there", "status", "code"),
    [
        (timed(1.5, SpeedState.FAST), "narrower", "narrower"),
        (timed(0.8, SpeedState.SLOW), "failed", "faster"),
        (timed(1.0, SpeedState.SAME), "undecided", "no-effect"),
    ],
    ids=["pays", "is slower", "changes nothing"],
)
def test_what_a_step_is_at_the_sizes_of_its_callers_is_told_with_the_condition(there, status, code):
    everywhere = outcome_of(Claim.FASTER, WRONG)
    narrower = narrowed(everywhere, outcome_of(Claim.FASTER, there))
    assert (narrower.status, narrower.code, narrower.fault_in) == (status, code, None)
    assert narrower.effect is not None and narrower.counterexample == everywhere.counterexample


def test_a_fault_at_the_sizes_of_the_callers_is_told_before_one_elsewhere():
    everywhere, there = outcome_of(Claim.FASTER, WRONG), outcome_of(Claim.FASTER, RACE)
    assert narrowed(everywhere, there) is there
    assert narrowed(everywhere, outcome_of(Claim.FASTER, NO_COMPILER)) is everywhere


def test_an_earlier_state_that_fails_at_the_sizes_of_the_callers_says_nothing_of_the_later_one():
    there = outcome_of(Claim.FASTER, BASE)
    assert narrowed(outcome_of(Claim.FASTER, WRONG), there) is there


def test_a_later_state_that_compiles_for_the_shapes_of_its_callers_is_right_under_a_condition():
    broken = verdict(ERROR)
    everywhere = outcome_of(Claim.FASTER, broken)
    assert asks_for_less(everywhere, broken, built_per_shape=True) and not asks_for_less(everywhere, broken)
    narrower = narrowed(everywhere, outcome_of(Claim.FASTER, UNTIMED))
    assert (narrower.status, narrower.code) == ("narrower", "narrower")
    assert (
        narrower.counterexample is not None and narrower.counterexample.code == "candidate-does-not-compile"
    )
    assert narrowed(everywhere, everywhere) is everywhere


def test_an_earlier_state_that_compiles_for_the_shapes_of_its_callers_is_compared_there():
    broken = verdict(ERROR.model_copy(update={"details": {"program": "baseline"}}))
    everywhere = outcome_of(Claim.FASTER, broken)
    assert everywhere.status == "unbuildable" and everywhere.fault_in == "earlier"
    assert asks_for_less(everywhere, broken, built_per_shape=True) and not asks_for_less(everywhere, broken)
    narrower = narrowed(everywhere, outcome_of(Claim.FASTER, UNTIMED))
    assert (narrower.status, narrower.code, narrower.counterexample) == ("reproduced", "agrees", None)
    assert "elsewhere the earlier state does not build" in narrower.reason
    for decided in (outcome_of(Claim.FASTER, WRONG), outcome_of(Claim.FIXED, WRONG)):
        assert narrowed(everywhere, decided) is decided
    for open_still in (everywhere, outcome_of(Claim.FIXED, UNTIMED), outcome_of(Claim.FASTER, NO_COMPILER)):
        assert narrowed(everywhere, open_still) is everywhere


def test_an_earlier_state_that_fails_elsewhere_only_is_compared_where_it_is_right():
    everywhere = outcome_of(Claim.FASTER, BASE)
    assert asks_for_less(everywhere, BASE)
    narrower = narrowed(everywhere, outcome_of(Claim.FASTER, timed(1.5, SpeedState.FAST)))
    assert (narrower.status, narrower.code, narrower.counterexample) == ("reproduced", "faster", None)
    assert "elsewhere the earlier state fails by itself" in narrower.reason
    assert narrowed(everywhere, outcome_of(Claim.FASTER, WRONG)) is everywhere


def test_another_task_at_the_sizes_of_the_callers_is_told_before_a_fault_elsewhere():
    there = outcome_of(Claim.FASTER, WRONG, {"": "only one state takes mean"})
    assert narrowed(outcome_of(Claim.FASTER, WRONG), there) is there


WATCHED = {"source": "emulated device", "launches": 4, "found": []}


@pytest.mark.parametrize(
    ("sources", "second", "status"),
    [
        (["synccheck"], WATCHED, "undecided"),
        (["synccheck", "memcheck"], WATCHED, "failed"),
        (["racecheck"], WATCHED, "failed"),
        (["synccheck"], {**WATCHED, "found": [{"kind": "barrier"}]}, "failed"),
        (["synccheck"], {**WATCHED, "unavailable": "only 1 case fits"}, "failed"),
        (["synccheck"], {**WATCHED, "source": "compute-sanitizer"}, "failed"),
    ],
    ids=[
        "alone",
        "with another tool",
        "another tool",
        "both see a fault",
        "not watched to the end",
        "not watched",
    ],
)
def test_a_barrier_that_one_detector_objects_to_and_another_does_not_decides_nothing(sources, second, status):
    findings = [{"program": "candidate", "source": source, "kind": "barrier"} for source in sources]
    sanitized = stage("sanitize", FAIL, Reason.BARRIER, findings=findings, opinions=[second])
    outcome = outcome_of(Claim.FASTER, verdict(*RIGHT[:2], sanitized))
    assert (outcome.status, outcome.code) == (status, "barrier")
    assert outcome.fault_in == (None if status == "undecided" else "later")


@pytest.mark.parametrize("code", [Reason.DISK_FULL, Reason.OUT_OF_MEMORY, Reason.COMPILER_MISSING])
def test_what_the_machine_lacked_is_asked_again_by_the_next_run(code):
    judged = Verdict(outcome="inconclusive", code=code, reason="no room", stages=[], inputs_hash="ab")
    assert is_of_the_moment(judged)
    assert not is_of_the_moment(judged.model_copy(update={"code": Reason.WRONG_VALUE}))
