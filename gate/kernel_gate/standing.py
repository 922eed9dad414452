"""What stands after a run: the words that `inconclusive` alone does not tell apart, each with its exit code."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import IntEnum, StrEnum


class ExitCode(IntEnum):
    """Exit codes of every command (DESIGN: the command line)."""

    DONE = 0
    REJECTED = 1
    WRONG_USE = 2
    RIGHT = 3
    """Right as far as it was checked; not timed, or the times do not show what was asked for."""
    ENVIRONMENT = 4
    NOT_JUDGED = 5
    UNDECIDED = 6


class Standing(StrEnum):
    """What is known of a candidate, from the worst to the best for whoever waits for a change."""

    exit_code: ExitCode
    label: str
    means: str

    def __new__(cls, word: str, exit_code: ExitCode, label: str, means: str) -> Standing:
        """A member from its row."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.exit_code, member.label, member.means = exit_code, label, means
        return member

    REJECTED = (
        "rejected", ExitCode.REJECTED, "rejected",
        "a stage failed, and the candidate is at fault",
    )  # fmt: skip
    LACKING = (
        "lacking", ExitCode.ENVIRONMENT, "this machine lacks something",
        "a compiler, a device, memory or a sandbox is missing; the message says how to get it",
    )  # fmt: skip
    NOT_JUDGED = (
        "not-judged", ExitCode.NOT_JUDGED, "not judged",
        "nothing was compared: no workload, no such kernel, no baseline that builds, or something needed is missing",
    )  # fmt: skip
    UNDECIDED = (
        "undecided", ExitCode.UNDECIDED, "undecided",
        "it ran, and what was seen does not tell: the baseline fails, the workload is blind, time was spent",
    )  # fmt: skip
    RIGHT = (
        "right", ExitCode.RIGHT, "right, speed not shown",
        "right as far as it was checked; not timed, or the times do not show what was asked for",
    )  # fmt: skip
    ACCEPTED = (
        "accepted", ExitCode.DONE, "accepted",
        "all stages passed: build, check, sanitize, profile",
    )  # fmt: skip

    @property
    def is_right(self) -> bool:
        """Whether the check has passed, whatever the times say."""
        return self in (Standing.RIGHT, Standing.ACCEPTED)

    @property
    def is_conclusive(self) -> bool:
        """Whether it is an answer: accepted or rejected."""
        return self in (Standing.ACCEPTED, Standing.REJECTED)


def worst(standings: Iterable[Standing], counted: Collection[Standing] = tuple(Standing)) -> ExitCode:
    """The exit code of the worst of the standings that count; 0 when none of them does."""
    seen = set(standings) & set(counted)
    return next((s.exit_code for s in Standing if s in seen), ExitCode.DONE)
