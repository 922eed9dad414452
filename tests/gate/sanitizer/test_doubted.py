"""racecheck does not know the order that `bar.arrive` makes: the emulated device decides about what it reports then."""

from dataclasses import dataclass

import pytest

from gate.programs import AFFINE, affine, workload
from gate.sanitizer import samples
from gate.sanitizer.test_watching import CASES, stand_in
from kernel_gate.build.compile import compile_program
from kernel_gate.built import Built
from kernel_gate.sanitizer import tool
from kernel_gate.sanitizer.tool import SpareTools
from kernel_gate.stages import sanitize as stage
from kernel_gate.stages.check import CheckResult
from kernel_gate.verdict import Stage, StageStatus

BODY = AFFINE[AFFINE.index("    if (i < n)") : -2]
ROLES = """    __shared__ float s[32]; int lane = threadIdx.x % 32, at = i - threadIdx.x;
    for (int k = 0; k < 2; k++) {
        if (threadIdx.x < 32) {
            if (k) asm volatile("bar.sync 2, 64;" ::: "memory");
            s[lane] = at + 32 * k + lane < n ? x[at + 32 * k + lane] : 0.0f;
            asm volatile("ARRIVE 1, 64;" ::: "memory");
        } else {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            if (at + 32 * k + 31 - lane < n) y[at + 32 * k + 31 - lane] = 2.0f * s[31 - lane] + 1.0f;
            if (!k) asm volatile("ARRIVE 2, 64;" ::: "memory");
        }
    }
"""
BY_SYNC, BY_ARRIVAL = ROLES.replace("ARRIVE", "bar.sync"), ROLES.replace("ARRIVE", "bar.arrive")
EARLY = (
    BY_ARRIVAL.replace('            if (k) asm volatile("bar.sync 2, 64;" ::: "memory");\n', "")
    .replace('            if (!k) asm volatile("bar.arrive 2, 64;" ::: "memory");\n', "")
    .replace('"bar.arrive 1, 64;"', '"bar.arrive %0, 64;" ::"r"(k + 1)')
    .replace('"bar.sync 1, 64;"', '"bar.sync %0, 64;" ::"r"(k + 1)')
    .replace(') ::: "memory"', ') : "memory"')
)
"""The slot is filled again before it was read."""


@dataclass(frozen=True)
class Gpu:
    kind: str = "cuda"


def sanitized(monkeypatch: pytest.MonkeyPatch, tmp_path, body: str) -> Stage:
    """The stage where racecheck reports a race on every recording of the candidate."""
    monkeypatch.setattr(tool, "find_tool", lambda: stand_in(tmp_path, samples.RACE))
    monkeypatch.setattr(stage, "Tools", _racecheck(stage.Tools))
    programs = affine(), affine(BODY, body)
    built = [Built(p, compile_program(p, "sm_90", want_cubin=True)) for p in programs]
    checked = CheckResult(Stage(name="check", status=StageStatus.PASS), passed=tuple(CASES))
    with SpareTools() as spares:
        return stage.sanitize(Gpu(), *built, workload(), CASES, checked, spares, lambda *_: None)  # type: ignore[arg-type]


def _racecheck(tools):
    return lambda built, load, cases, spares, asked=("racecheck",): tools(built, load, cases, spares, asked)


def test_a_report_on_arrivals_is_set_aside_where_the_emulated_device_has_seen_all_cases(
    monkeypatch, tmp_path
):
    done = sanitized(monkeypatch, tmp_path, BY_ARRIVAL)
    assert done.status is StageStatus.PASS
    assert done.reason.startswith(
        "racecheck set aside, as it does not know the order that bar.arrive makes: "
    )
    assert done.reason.endswith("emulated device: nothing found in 2 launches")
    assert len(done.details["opinions"][0]["doubted"]) == 1


def test_a_slot_that_is_filled_too_early_is_a_race_all_the_same(monkeypatch, tmp_path):
    done = sanitized(monkeypatch, tmp_path, EARLY)
    assert done.status is StageStatus.FAIL
    assert done.details["findings"][0]["source"] == "emulated device"


def test_a_report_stands_without_arrivals(monkeypatch, tmp_path):
    monkeypatch.setattr(stage._Judgement, "_watched_again", lambda self, tool, cases, mine: (mine, []))
    done = sanitized(monkeypatch, tmp_path, BY_SYNC)
    assert (done.status, done.details["findings"][0]["source"]) == (StageStatus.FAIL, "racecheck")


def test_a_report_on_arrivals_that_nobody_can_judge_is_undecided(monkeypatch, tmp_path):
    monkeypatch.setattr(stage, "emulate", lambda *_: stage.Opinion("emulated device", missing="no time"))
    done = sanitized(monkeypatch, tmp_path, BY_ARRIVAL)
    assert done.status is StageStatus.UNAVAILABLE
    assert "racecheck set aside" in done.reason and "no time" in done.reason
