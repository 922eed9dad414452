"""Asking the gate about settings: each once, within a budget, and what its verdict says of the later state alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from math import ceil
from typing import Any

from kernel_gate.devices.base import DeviceError
from kernel_gate.reasons import Reason
from kernel_gate.verdict import Stage, StageStatus, Verdict
from kernel_lineage.learning.probes.setting import Setting, facts_of
from kernel_lineage.learning.steps import Judge
from kernel_lineage.skills.conditions.facts import Scalar


class Saw(StrEnum):
    """What a probe says of the later state."""

    AGREES = "agrees"
    FAILS = "fails"
    """Where the earlier state does not."""
    SILENT = "silent"
    """Nothing: the earlier state fails as well, or the case could not be run."""


@dataclass(frozen=True)
class Answer:
    """One probe and what came of it."""

    setting: Setting
    saw: Saw
    code: str
    reason: str
    """One line, the gate's own: element, expected, got, line."""
    details: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def facts(self) -> dict[str, Scalar]:
        """The setting's facts."""
        return facts_of(self.setting)


@dataclass(frozen=True, slots=True)
class Budget:
    """What probing one step may take. What it did not get to is said in the report."""

    runs: int = 600
    seconds: float = 300.0


class OutOfBudget(Exception):  # noqa: N818
    """No more probes may run; the message says which limit was reached."""


class Asking:
    """The probes of one step: a setting that was asked is not run again."""

    def __init__(self, judge: Judge, budget: Budget, clock: Callable[[], float] = time.monotonic) -> None:
        self._judge, self._budget, self._clock = judge, budget, clock
        self._started = clock()
        self._answers: dict[str, Answer] = {}
        self._until = budget

    @property
    def runs(self) -> int:
        """Settings that were run."""
        return len(self._answers)

    def has_asked(self, setting: Setting) -> bool:
        """Whether it was asked already."""
        return setting.key in self._answers

    def share(self, part: float) -> None:
        """From now on no more than this part of what is left may be spent."""
        gone = self._clock() - self._started
        self._until = Budget(
            self.runs + ceil((self._budget.runs - self.runs) * part),
            gone + (self._budget.seconds - gone) * part,
        )

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Within it all that is left may be spent: on what parts failures, once there are any."""
        share, self._until = self._until, self._budget
        try:
            yield
        finally:
            self._until = share

    def ask(self, setting: Setting) -> Answer:
        """What the gate says. Raises `OutOfBudget`."""
        key = setting.key
        if key in self._answers:
            return replace(self._answers[key], setting=setting)  # other axes tell other facts of it
        self._within_budget()
        try:
            answer = answered(setting, self._judge(setting.request()))
        except (DeviceError, ValueError) as error:  # a case that the changed workload does not have
            answer = Answer(setting, Saw.SILENT, "", str(error))
        self._answers[key] = answer
        return answer

    def _within_budget(self) -> None:
        if self.runs >= self._until.runs:
            raise OutOfBudget(f"{self._until.runs} runs are spent{self._of_all}")
        if self._clock() - self._started > self._until.seconds:
            raise OutOfBudget(f"{self._until.seconds:.0f} s are spent{self._of_all}")

    @property
    def _of_all(self) -> str:
        if self._until.runs >= self._budget.runs:
            return ""
        return f", of {self._budget.runs} runs and {self._budget.seconds:g} s for all axes"

    def all(self, settings: Iterable[Setting]) -> Iterator[Answer]:
        """The answers to those that can be run. Raises `OutOfBudget`."""
        for setting in settings:
            if setting.runs:
                yield self.ask(setting)


def answered(setting: Setting, verdict: Verdict) -> Answer:
    """What a verdict on one case says of the candidate alone."""
    build, check, sanitize = (verdict.stage(name) for name in ("build", "check", "sanitize"))
    failed = next(
        (s for s in (build, check, sanitize) if s is not None and s.status is StageStatus.FAIL), None
    )
    if failed is not None and failed.code is Reason.KEEPS_STATE and _tells_values(setting):
        return Answer(
            setting, Saw.SILENT, str(failed.code), failed.reason
        )  # of other data than the facts tell of
    if failed is not None:
        return Answer(setting, Saw.FAILS, str(failed.code), failed.reason, dict(failed.details))
    if check is None or check.code is not Reason.ONE_CASE_ONLY:
        return Answer(setting, Saw.SILENT, str(verdict.code), verdict.reason)
    # What detectors find in both states is no reason to doubt the later one: the values agree.
    return _needing(setting, check) or Answer(setting, Saw.AGREES, str(check.code), check.reason)


def _tells_values(setting: Setting) -> bool:
    return any(name.startswith(("range(", "finite(", "row_")) for name, _ in setting.told)


def _needing(setting: Setting, check: Stage) -> Answer | None:
    """An alignment that only the candidate needs does not fail the check where nothing is promised of it."""
    conditions = check.details.get("conditions") or []
    if not conditions:
        return None
    return Answer(
        setting, Saw.FAILS, str(Reason.MISALIGNED), str(conditions[0]["evidence"]), dict(check.details)
    )
