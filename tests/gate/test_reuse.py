"""Verdicts are kept for the same question on the same machine; a run goes on where an earlier one was interrupted."""

from collections import defaultdict
from functools import cache, partial

import pytest

from gate.programs import affine, workload
from kernel_gate import reuse
from kernel_gate.options import GateOptions
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest
from kernel_gate.reuse import judge_once, key_of
from kernel_gate.verdict import Outcome, Stage, StageStatus, Verdict
from kernel_gate.worker import run_in_child

WRONG = affine("i < n", "i < n - 1")


class Store:
    """In memory; `stop_after` ends the run with an interruption once that stage is kept."""

    def __init__(self, stop_after: str = "") -> None:
        self.verdicts: dict[str, Verdict] = {}
        self.kept: dict[str, list[Stage]] = defaultdict(list)
        self.stop_after = stop_after

    def verdict(self, key: str) -> Verdict | None:
        return self.verdicts.get(key)

    def keep_verdict(self, key: str, verdict: Verdict) -> None:
        self.verdicts[key] = verdict

    def stages(self, key: str) -> list[Stage]:
        return list(self.kept[key])

    def keep_stage(self, key: str, stage: Stage) -> None:
        self.kept[key].append(stage)
        if stage.name == self.stop_after:
            raise KeyboardInterrupt

    def forget_stages(self, key: str) -> None:
        self.kept.pop(key, None)


def request(candidate=None, **rest) -> GateRequest:
    rest = {"device": "emulated", **rest}
    return GateRequest.of(affine(), candidate or affine("1.0f", "1.00f"), workload(), **rest)


def in_child(asked: GateRequest, on_stage, seen: list[str]) -> Verdict:
    return run_in_child(asked, on_stage=on_stage, on_progress=lambda stage, _what, _share: seen.append(stage))


def judged(asked: GateRequest, store: Store) -> tuple[Verdict, set[str]]:
    """The verdict, and the stages that really ran."""
    seen: list[str] = []
    return judge_once(asked, store, partial(in_child, seen=seen)), set(seen)


def untimed(verdict: Verdict) -> list[Stage]:
    return [stage.model_copy(update={"seconds": None}) for stage in verdict.stages]


def test_a_rejection_is_not_worked_out_twice():
    store = Store()
    first, ran = judged(request(WRONG), store)
    again, ran_again = judged(request(WRONG), store)
    assert first.outcome is Outcome.REJECTED and ran == {"build", "check"}
    assert "reused" not in first.environment
    assert again.environment["reused"] is True and ran_again == set()
    assert again.stages == first.stages and again.environment["made"] == first.environment["made"]


@pytest.mark.long
def test_an_inconclusive_verdict_is_worked_out_again():
    store = Store()
    first, _ = judged(request(), store)
    assert first.code is Reason.NOT_PROFILED
    assert store.verdicts == {} and store.kept == {}
    assert judged(request(), store)[1] == {"build", "check"}


@pytest.mark.long
def test_an_interrupted_run_goes_on_at_the_first_stage_that_it_had_not_finished():
    store = Store(stop_after="sanitize")
    with pytest.raises(KeyboardInterrupt):
        judged(request(), store)
    store.stop_after = ""
    resumed, ran = judged(request(), store)
    seed = resumed.environment["options"]["seed"]
    whole, _ = judged(request(options=GateOptions(seed=seed)), Store())
    assert ran == {"build"}
    assert resumed.environment["resumed"] == ["check", "sanitize"]
    assert untimed(resumed) == untimed(whole)
    assert store.kept == {}


def test_a_run_that_was_interrupted_in_the_check_begins_it_again():
    store = Store(stop_after="build")
    with pytest.raises(KeyboardInterrupt):
        judged(request(), store)
    store.stop_after = ""
    again, ran = judged(request(), store)
    assert ran == {"build", "check"} and "resumed" not in again.environment


@pytest.mark.parametrize("code", [Reason.CANCELLED, Reason.HANG, Reason.WORKER_DIED])
def test_finished_stages_outlive_a_run_that_ended_without_an_answer(code):
    store = Store()
    passed = Stage(name="check", status=StageStatus.PASS)

    def dies(asked: GateRequest, on_stage) -> Verdict:
        on_stage(passed)
        return Verdict(outcome=Outcome.INCONCLUSIVE, code=code, reason="", stages=[], inputs_hash="")

    judge_once(request(), store, dies)
    assert list(store.kept.values()) == [[passed]]


@cache
def answer_to(text: str) -> Verdict:
    return run_in_child(GateRequest.model_validate_json(text))


def verdict_for(asked: GateRequest, **changed: object) -> Verdict:
    return answer_to(asked.model_dump_json()).model_copy(update=changed)


@pytest.mark.parametrize(
    "changed",
    [
        {"code": Reason.HANG},
        {"inputs_hash": "another"},
        {"environment": {"device": {"name": "NVIDIA H200"}}},
        {"outcome": Outcome.INCONCLUSIVE},
    ],
    ids=["of the moment", "inputs changed meanwhile", "another device than was foreseen", "inconclusive"],
)
def test_what_is_not_kept(changed):
    store, asked = Store(), request(WRONG)
    judge_once(asked, store, lambda a, _: verdict_for(a, **changed))
    assert store.verdicts == {}


def test_the_key_changes_with_everything_that_a_verdict_stands_on(monkeypatch):
    keys = [
        key_of(request()),
        key_of(request(WRONG)),
        key_of(request(options=GateOptions(seed=7))),
    ]
    for name, value in (
        ("toolchain", lambda: {"nvrtc": "99.0"}),
        ("device_identity", lambda _kind: {"driver": "999", "gpus": [{"name": "NVIDIA H200"}]}),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(reuse, name, value)
            keys.append(key_of(request()))
    assert None not in keys and len(set(keys)) == len(keys)
    assert key_of(request()) == keys[0]


def test_without_knowing_the_device_nothing_is_reused_or_kept(monkeypatch):
    monkeypatch.setattr(reuse, "device_identity", lambda _kind: None)
    store = Store()
    verdict, _ = judged(request(WRONG), store)
    assert verdict.outcome is Outcome.REJECTED and store.verdicts == {}
