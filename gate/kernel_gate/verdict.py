"""The verdict: what the gate answers, and the document that other programs rely on."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, Field, computed_field

from kernel_gate.reasons import Reason
from kernel_gate.standing import ExitCode, Standing

VERSION = 1


class Outcome(StrEnum):
    """The gate's answer. Only `accepted` lets an edit through; `Verdict.standing` says why one is inconclusive."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    INCONCLUSIVE = "inconclusive"


class StageStatus(StrEnum):
    """How a stage ended."""

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    UNAVAILABLE = "unavailable"
    SKIPPED = "skipped"


class SpeedState(StrEnum):
    """What the timing shows; everything starts as ambiguous."""

    FAST = "fast"
    SAME = "same"
    SLOW = "slow"
    AMBIGUOUS = "ambiguous"


class Stage(BaseModel, frozen=True):
    """One stage of a gate run."""

    name: Literal["build", "check", "sanitize", "watch", "profile", "prove"]
    status: StageStatus
    code: Reason | None = None
    """Why it ended so, for programs; None only for a stage that passed with nothing to say."""
    reason: str = ""
    """One line for people; the first failure, with element, shape, seed and source line where there is one."""
    details: dict[str, Any] = Field(default_factory=dict)
    seconds: float | None = None
    """What the stage took; None for one that was not reached."""


class ShapeSpeed(BaseModel, frozen=True):
    """Baseline time over candidate time for one shape."""

    dims: dict[str, int]
    baseline_us: float
    candidate_us: float
    median: float
    low: float
    high: float
    noise: float
    """Half-width of the A/A interval of the ratio: what identical programs differ by here."""
    state: SpeedState


class Speedup(BaseModel, frozen=True):
    """Baseline time over candidate time, over all profiled shapes."""

    median: float
    low: float
    high: float
    state: SpeedState
    by_shape: list[ShapeSpeed]


class Verdict(BaseModel, frozen=True):
    """What `klineage gate --json` prints."""

    version: int = VERSION
    outcome: Outcome
    code: Reason | None = None
    """The code of the stage that decided; None in verdicts that were written before there were codes."""
    reason: str
    stages: list[Stage]
    speedup: Speedup | None = None
    environment: dict[str, Any] = Field(default_factory=dict)
    inputs_hash: str

    @computed_field  # type: ignore[prop-decorator]
    @property
    def standing(self) -> Standing:
        """What is known of the candidate: tells apart what `inconclusive` stands for, by the code that decided."""
        if self.outcome is not Outcome.INCONCLUSIVE:
            return Standing.ACCEPTED if self.outcome is Outcome.ACCEPTED else Standing.REJECTED
        return Standing.UNDECIDED if self.code is None else self.code.unjudged

    @property
    def exit_code(self) -> ExitCode:
        """The exit code that says this verdict."""
        return self.standing.exit_code

    def of_another_workload(self, reason: str) -> Verdict:
        """The verdict where it stands for one on another workload: its options would repeat a case of the usual one."""
        stages = [
            s.model_copy(update={"details": {k: v for k, v in s.details.items() if k != "repeat"}})
            for s in self.stages
        ]
        return self.model_copy(update={"reason": reason, "stages": stages})

    def with_note(self, note: str) -> Verdict:
        """The verdict with something more to say."""
        return self.model_copy(update={"reason": f"{self.reason}; {note}"})

    def stage(self, name: str) -> Stage | None:
        """The stage of that name, if it is in the verdict."""
        return next((s for s in self.stages if s.name == name), None)


def conditions_of(verdict: Verdict) -> list[str]:
    """What the candidate needs and the baseline does not, as expressions: from misaligned buffers, and from proofs."""
    return list(
        dict.fromkeys(str(c["expr"]) for stage in verdict.stages for c in stage.details.get("conditions", ()))
    )
