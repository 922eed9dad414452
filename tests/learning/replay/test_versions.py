"""What replayed steps say of versions, and what is read back of them by whoever shows them."""

from __future__ import annotations

import pytest

from kernel_lineage.cache_folder import kept_in
from kernel_lineage.history.model import Intent, Lineage, Transition, TransitionKind
from kernel_lineage.kernels.source import Language
from kernel_lineage.learning.replay.earlier import known_records, words_of
from kernel_lineage.learning.replay.record import Counterexample, Label, Record, StageRecord
from kernel_lineage.learning.replay.store import replay_store
from kernel_lineage.learning.replay.versions import version_checks

AGREED = (StageRecord(name="check", status="pass", code=None, reason="23 cases agree", seconds=1.0),)
SEEN = Counterexample(what="out[3] = NaN", code="not-written", dims={"n": 5})


def record(transition: str, status: str = "reproduced", code: str = "agrees", **rest: object) -> Record:
    made = {"claim": "faster", "reason": "why", "label": Label.INFERRED, "device": "emulated", "seconds": 1.0}
    return Record(
        transition=transition,
        status=status,
        code=code,
        **{**made, "made": "2026-01-31T10:00:00+00:00", **rest},
    )


def lineage(*steps: str) -> Lineage:
    """`ab` is the transition from version a to version b."""
    transitions = tuple(
        Transition(
            id=step,
            before=step[0],
            after=step[1],
            kind=TransitionKind.EDIT,
            intent=Intent.OPTIMISATION,
            added=(),
            removed=(),
            commit=None,
            compound=False,
            because="",
        )
        for step in steps
    )
    return Lineage("l", "k", Language.CUDA, (), transitions)


AGREE = record("ab", stages=AGREED)
BREAKS = record("bc", "failed", "not-written", counterexample=SEEN, fault_in="later")
MENDS = record("cd", "reproduced", "failure-seen", counterexample=SEEN, fault_in="earlier")
NO_BUILD = record("de", "unbuildable", "candidate-does-not-compile", fault_in="later")
UNKNOWN = record("ab", "undecided", "no-workload")
SAME = record("bc", "undecided", "same-program")


@pytest.mark.parametrize(
    ("records", "states"),
    [
        ([AGREE], {"a": "right", "b": "right"}),
        ([AGREE, BREAKS], {"a": "right", "b": "right", "c": "wrong"}),
        ([MENDS], {"c": "wrong", "d": "right"}),
        (
            [AGREE, BREAKS, MENDS, NO_BUILD],
            {"a": "right", "b": "right", "c": "wrong", "d": "right", "e": "unknown"},
        ),
        ([UNKNOWN], {"a": "unknown", "b": "unknown"}),
        ([AGREE, SAME], {"a": "right", "b": "right", "c": "right"}),
        ([], {}),
    ],
    ids=["agree", "break", "fix", "all", "unknown", "same program", "nothing"],
)
def test_versions_are_judged_by_the_steps_between_them(records, states):
    by_transition = {r.transition: r for r in records}
    checks = version_checks(lineage("ab", "bc", "cd", "de"), by_transition)
    assert {v: c.state.value for v, c in checks.items()} == states


def test_a_version_that_gives_what_a_wrong_one_gives_is_wrong_too():
    agrees = record("cd", stages=AGREED)
    checks = version_checks(lineage("bc", "cd"), {"bc": BREAKS, "cd": agrees})
    assert checks["d"].state.value == "wrong" and checks["c"].reason == "out[3] = NaN"


def test_what_is_known_of_a_transition_is_the_most_that_any_device_showed(tmp_path):
    key = tmp_path / "key"
    measured = record("ab", label=Label.MEASURED, device="NVIDIA H200")
    with replay_store(kept_in(tmp_path), pytest.fail, key) as store:
        store.keep(measured, "NVIDIA H200", "q1")
        store.keep(AGREE, "emulated", "q2")
        store.keep(UNKNOWN, "emulated", "q3")
        assert store.record("ab", "emulated", "q3") == UNKNOWN
        assert store.record("ab", "emulated", "q2") is None
    assert known_records(tmp_path, pytest.fail, key) == {"ab": measured}
    assert known_records(tmp_path, pytest.fail, tmp_path / "another user's") == {}
    assert known_records(tmp_path / "elsewhere", pytest.fail, key) == {}


def test_a_record_is_told_in_one_line():
    reproduced = words_of(record("ab", label=Label.REPRODUCED))
    assert reproduced.label == "reproduced on emulated"
    assert reproduced.line == "reproduced on emulated, 2026-01-31: why"
    assert words_of(UNKNOWN).label == "undecided on emulated"
    assert (
        words_of(record("ab", label=Label.MEASURED, device="NVIDIA H200")).label == "measured on NVIDIA H200"
    )
