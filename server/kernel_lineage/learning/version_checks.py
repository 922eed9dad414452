"""What running a version says about it: right, wrong with a counterexample, or not known and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kernel_gate.verdict import Outcome, StageStatus, Verdict


class VersionState(StrEnum):
    """Whether a version computes what it should."""

    RIGHT = "right"
    WRONG = "wrong"
    UNKNOWN = "unknown"


class Reference(StrEnum):
    """The version that runs beside the saved one."""

    COMMITTED = "the committed version"
    PASSED = "the text that passed last"
    ITSELF = "itself"


@dataclass(frozen=True, slots=True)
class VersionCheck:
    """What is known of one version on one device."""

    version: str
    """Id of the version."""
    state: VersionState
    reason: str
    """One line: the counterexample, or why nothing is known."""


def state_of(verdict: Verdict) -> tuple[VersionState, str]:
    """Whether the candidate of a verdict computes what it should, whatever its speed."""
    stages = {stage.name: stage for stage in verdict.stages}
    for name in ("build", "check", "sanitize"):
        stage = stages[name]
        if stage.status is StageStatus.FAIL and name != "build":
            return VersionState.WRONG, stage.reason
        if stage.status is not StageStatus.PASS:
            return VersionState.UNKNOWN, verdict.reason
    about = stages["check"].reason
    if verdict.outcome is Outcome.ACCEPTED and verdict.speedup is not None:
        about += f"; {verdict.speedup.median:.2f}× of the first version"
    return VersionState.RIGHT, about
