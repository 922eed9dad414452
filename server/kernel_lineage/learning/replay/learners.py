"""The seam for what learns from a replayed transition: later guards, attribution, probes.

A learner is called with each replayed transition, its step (where there is one) and a judge, and gives conditions
and risks. What it gives is kept under its name, so that it is asked once for each state of things.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pydantic import BaseModel

from kernel_lineage.learning.later_guards import LearnedCondition
from kernel_lineage.learning.replay.claims import Claimed
from kernel_lineage.learning.replay.record import Record
from kernel_lineage.learning.steps import Judge, Step
from kernel_lineage.learning.studying.parts import Studied
from kernel_lineage.skills.card import Condition

NO_WORK = 100
"""The place of what takes no time: nothing is lost when it comes last."""


class StepRisk(BaseModel, frozen=True):
    """Something that was seen to go wrong with a step."""

    kind: str
    """`counterexample`, or as history has them: `revert`, `bug`, `slower`, …"""
    message: str
    dims: dict[str, int] = {}
    transition: str | None = None
    """The transition that shows it: the fix that answers the step."""


class Learned(BaseModel, frozen=True):
    """What one learner gives for one transition."""

    conditions: tuple[Condition, ...] = ()
    risk: tuple[StepRisk, ...] = ()
    studied: Studied | None = None
    """The step's parts, where it was studied."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """A transition after it was replayed."""

    item: Claimed
    record: Record
    fresh: bool
    """False when the record is an earlier run's."""
    learned: tuple[Learned, ...] = ()
    unasked: tuple[str, ...] = ()
    """Learners for which no time was left."""

    @property
    def step(self) -> Step | None:
        """The step, for whoever runs it again; None when no programs could be made."""
        kept = self.record.step
        return kept.step(self.record.transition) if kept is not None else None


@dataclass(frozen=True, slots=True)
class Learner:
    """One way to learn from a transition."""

    name: str
    """Changes when what it gives would: `probes 1`."""
    learn: Callable[[Replayed, Judge], Learned]
    kept: bool = True
    """Whether what it gives is kept in the cache; False for what costs nothing to work out again."""
    place: Callable[[Replayed], int] = lambda _replayed: NO_WORK
    """When a transition is to be asked about, among others that wait: the smallest first."""


def from_guards(conditions: Callable[[], Iterable[LearnedCondition]]) -> Learner:
    """What later guards say of the steps that they answer; worked out when the first step is asked about."""
    by_step: dict[str, list[Condition]] = {}
    lock, ready = threading.Lock(), threading.Event()

    def learn(replayed: Replayed, _judge: Judge) -> Learned:
        with lock:
            if not ready.is_set():
                for guard in conditions():
                    if guard.transition is not None:  # a first version is no step that is replayed
                        by_step.setdefault(guard.transition, []).append(guard.condition)
                ready.set()
        return Learned(conditions=tuple(by_step.get(replayed.item.transition.id, ())))

    return Learner("guards", learn, kept=False)
