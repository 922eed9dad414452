"""What running a version says about it: right, wrong with a counterexample, or not known and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kernel_gate.verdict import Verdict


class VersionState(StrEnum):
    """Whether a version computes what it should."""

    RIGHT = "right"
    WRONG = "wrong"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class VersionCheck:
    """The check of one version on one device."""

    version: str
    """Id of the version."""
    state: VersionState
    reason: str
    """One line: the counterexample, or why nothing is known."""
    verdict: Verdict | None = None


def step_check(before: VersionCheck | None, after: VersionCheck | None) -> tuple[VersionState, str] | None:
    """What the checks of its two ends say about a transition; None when neither end was checked."""
    if after is None:
        return None
    if after.state is VersionState.WRONG:
        return VersionState.WRONG, f"wrong after this step: {after.reason}"
    if after.state is VersionState.UNKNOWN:
        return VersionState.UNKNOWN, after.reason
    if before is not None and before.state is VersionState.WRONG:
        return VersionState.RIGHT, "right again: the step before was wrong"
    return VersionState.RIGHT, after.reason
