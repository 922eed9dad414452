"""What a walk proposes: a simplification, or a kernel that a model has written without one mechanism.

A model's proposal stands to the same test as a pattern's: the mechanism must be gone, no other may have come, and the
gate must find the kernel right. It is asked once for each mechanism, within its own budget.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from kernel_gate.program import Program
from kernel_gate.verdict import Verdict
from kernel_lineage.kernels.mechanisms.registry import mechanisms
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.learning.version_checks import VersionState, state_of
from kernel_lineage.rewrite.candidate import Candidate
from kernel_lineage.rewrite.model.client import ModelError
from kernel_lineage.rewrite.model.weakening import Weakener, weakened
from kernel_lineage.rewrite.program_edits import mechanisms_in


@dataclass(frozen=True, slots=True)
class Proposer:
    """Who proposed a step."""

    by: Literal["simplification", "model"]
    model: str | None = None
    tokens: int = 0
    """What the question cost, its repair included."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A simpler kernel that the gate found right."""

    id: str
    weakens: str
    """The mechanism."""
    simpler: Program
    by: Proposer


@dataclass(frozen=True, slots=True)
class Asked:
    """What a model was asked during a walk."""

    model: str
    questions: int
    tokens: int


@dataclass(slots=True)
class Asking:
    """One model during one walk."""

    weakener: Weakener
    failed: list[tuple[str, str, str]] = field(default_factory=list)
    """Id, mechanism and reason of what was proposed and was not right, or was declined."""
    ended: str = "the model has nothing left to take off"
    questions: int = 0
    _closed: bool = False
    _asked: set[str] = field(default_factory=set)

    @property
    def asked(self) -> Asked:
        """What was asked so far."""
        return Asked(self.weakener.model, self.questions, self.weakener.budget.spent)

    def proposal(
        self,
        kernel: Kernel,
        current: Program,
        judged: Callable[[Program], Verdict],
        on_step: Callable[[str], None],
    ) -> Proposal | None:
        """The first mechanism that the model takes off so that the kernel stays right; None where there is none.

        An endpoint that gives no answer ends the asking, not the walk.
        """
        for mechanism in sorted(mechanisms_in(current) - self._asked):
            if self._closed:
                break
            self._asked.add(mechanism)
            self.questions += 1
            on_step(f"{self.weakener.model} without {mechanisms()[mechanism].title.lower()}")
            try:
                found = self._without(mechanism, kernel, current, judged)
            except ModelError as error:
                self._closed, self.ended = True, f"the model was asked no further: {error}"
                break
            if found is not None:
                return found
        return None

    def _without(
        self, mechanism: str, kernel: Kernel, current: Program, judged: Callable[[Program], Verdict]
    ) -> Proposal | None:
        before, spent = mechanisms_in(current), self.weakener.budget.spent
        kept: list[Program] = []

        def judge(candidate: Candidate) -> str:
            source = candidate.apply(current.source.encode()).decode()
            simpler = replace(
                current, source=source, name=f"{current.name} without {mechanism} ({candidate.by})"
            )
            after = mechanisms_in(simpler)
            if mechanism in after:
                return f"{mechanisms()[mechanism].title} is still seen in it: {mechanisms()[mechanism].looks_for}"
            if came := sorted(after - before):
                titles = ", ".join(mechanisms()[name].title for name in came)
                return f"It adds what the kernel did not have: {titles}."
            state, reason = state_of(judged(simpler))
            kept.append(simpler)
            return "" if state is VersionState.RIGHT else reason

        name = f"model:{mechanism}"
        found = weakened(self.weakener, kernel, mechanisms()[mechanism], judge)
        if found.candidate is None:
            self.failed.append((name, mechanism, found.reason))
            return None
        by = Proposer("model", self.weakener.model, self.weakener.budget.spent - spent)
        return Proposal(name, mechanism, kept[-1], by)
