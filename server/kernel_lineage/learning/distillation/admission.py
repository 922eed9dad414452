"""Admission: a skill is admitted by a verified use on a kernel that it was not learned from.

The held-out kernels are the ones before the steps themselves: a skill is carried over to a step's earlier state by the
card that the *other* lineages give, so that neither the step's own conditions nor its effect are in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from kernel_gate.devices.opening import DeviceKind
from kernel_gate.options import GateOptions
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Verdict
from kernel_lineage.kernels.anchors.registry import anchors_of
from kernel_lineage.kernels.mechanisms.registry import mechanisms_of
from kernel_lineage.kernels.source import Language
from kernel_lineage.learning.distillation.distil import Distilled, Proposal, distil
from kernel_lineage.learning.distillation.lesson import Lesson
from kernel_lineage.learning.measured_use import NoVerdictError, evidence_of_verdict
from kernel_lineage.learning.steps import Judge, Step, as_launched
from kernel_lineage.rewrite.candidate import Candidate
from kernel_lineage.rewrite.materialise import Lane, NoCandidate, materialise
from kernel_lineage.rewrite.program_edits import kernel_of, with_candidate, with_own_launch
from kernel_lineage.rewrite.situation import toolchain_facts, workload_facts
from kernel_lineage.skills.card import Evidence, Skill
from kernel_lineage.skills.conditions.facts import Facts


@dataclass(frozen=True, slots=True)
class Use:
    """One held-out use of a skill."""

    transition: str
    """The step on whose earlier state it was tried."""
    evidence: Evidence | None
    """The gate's verdict; None when there was nothing to gate."""
    reason: str
    """The verdict's reason, or why there was no candidate."""


@dataclass(frozen=True, slots=True)
class Admission:
    """What the held-out uses of a proposal say."""

    proposal: Proposal
    """With the evidence of its uses, failures included."""
    uses: tuple[Use, ...]

    @property
    def admitted(self) -> bool:
        """Whether the gate accepted at least one. What the card was admitted by before does not count."""
        return any(use.evidence is not None and use.evidence.outcome == "accepted" for use in self.uses)

    @property
    def reason(self) -> str:
        """Why it was not admitted; "" when it was."""
        if self.admitted:
            return ""
        if not self.uses:
            return "there is no kernel that it was not learned from"
        return "; ".join(dict.fromkeys(use.reason for use in self.uses))


_LOOKING_AT_LAUNCHES = frozenset({"launch_configuration", "strided_access"})
"""Patterns whose assists ask a launch for its block and change nothing there."""

Carry = Callable[[Skill, Step], Use]
"""Carries a skill over to a step's earlier state and asks the gate."""


@dataclass(frozen=True, slots=True)
class HeldOut:
    """A kernel that skills can be tried on: the earlier state of a step of some lineage."""

    lineage: str
    step: Step
    language: Language
    patterns: frozenset[str]
    """Anchor patterns that are found in it."""
    mechanisms: frozenset[str]

    @classmethod
    def of(cls, lineage: str, step: Step) -> HeldOut | None:
        """None for a step whose earlier state launches several kernels."""
        kernel = kernel_of(step.before)
        if kernel is None:
            return None
        launched = with_own_launch(kernel, step.before)
        patterns = frozenset(anchor.pattern for anchor in anchors_of(launched))
        mechanisms = frozenset(site.mechanism for site in mechanisms_of(kernel))
        return cls(lineage, step, kernel.language, patterns, mechanisms)

    def takes(self, skill: Skill) -> bool:
        """Whether it has a place for the skill, and not what the skill adds."""
        return (
            self.language in skill.languages
            and skill.anchor.pattern in self.patterns
            and skill.mechanism not in self.mechanisms
        )


MOST_USES, ENOUGH = 8, 3
"""Held-out uses of one skill that are gated, and accepted ones after which no more are tried."""


def admissions(
    distillation: Distilled,
    skills: Sequence[Skill],
    steps: Mapping[str, Step],
    carry: Carry,
    others: Sequence[HeldOut] = (),
    *,
    at_once: int = 1,
    late: Callable[[], bool] = lambda: False,
) -> Iterator[Admission]:
    """Each proposal with its held-out uses, so many at once.

    `steps` are those of the lessons, by transition; `others` are further kernels at hand, of lineages that taught the
    skill nothing or of others. No use is begun when it is `late`.
    """

    def admission(proposal: Proposal) -> Admission:
        uses: list[Use] = []
        gated = accepted = 0
        for skill, step, is_lesson in _tries(proposal, skills, steps, others):
            if gated == MOST_USES or accepted == ENOUGH or late():
                break
            use = carry(skill, step)
            gated += use.evidence is not None
            accepted += use.evidence is not None and use.evidence.outcome == "accepted"
            if use.evidence is not None or is_lesson:
                uses.append(use)
        evidence = tuple(use.evidence for use in uses if use.evidence is not None)
        taught = proposal.skill.model_copy(update={"evidence": (*proposal.skill.evidence, *evidence)})
        return Admission(replace(proposal, skill=taught), tuple(uses))

    with ThreadPoolExecutor(at_once) as threads:
        yield from threads.map(admission, distillation.proposals)


def _tries(
    proposal: Proposal, skills: Sequence[Skill], steps: Mapping[str, Step], others: Sequence[HeldOut]
) -> Iterator[tuple[Skill, Step, bool]]:
    """What is tried on which kernel, and whether a lesson is from there: then without what that lineage taught."""
    lineages = {lesson.lineage for lesson in proposal.lessons}
    for other in others:
        if other.lineage not in lineages and other.takes(proposal.skill):
            yield proposal.skill, other.step, False
    for lesson in _one_a_lineage(proposal.lessons):
        if lesson.transition in steps:
            yield _without(proposal, lesson.lineage, skills), steps[lesson.transition], True


def carrier(
    judge: Judge,
    *,
    device: DeviceKind,
    device_facts: Facts,
    command: str,
    on: date,
    options: GateOptions = GateOptions(),  # noqa: B008 - frozen
) -> Carry:
    """Carries skills over by their assists, and has them judged on a device."""

    def carry(skill: Skill, step: Step) -> Use:
        kernel = kernel_of(step.before)
        if kernel is None:
            return Use(step.transition, None, f"{step.before.name} launches several kernels")
        if skill.anchor.pattern in _LOOKING_AT_LAUNCHES or kernel.language is Language.TRITON:
            kernel = with_own_launch(kernel, step.before)
        facts = workload_facts(as_launched(step), "the workload").merged(device_facts, toolchain_facts())
        verdicts: list[Verdict] = []

        def gate(candidate: Candidate) -> Verdict:
            after = with_candidate(step.before, candidate, step.workload)
            verdict = judge(GateRequest.of(step.before, after, step.workload, device=device, options=options))
            verdicts.append(verdict)
            return verdict

        made = materialise(Lane("assist"), skill, kernel, facts, Path.cwd(), gate)
        if isinstance(made, NoCandidate):
            return Use(step.transition, None, made.reason)
        verdict = made.verdict or gate(made.candidate)
        try:
            evidence = evidence_of_verdict(
                verdict,
                kernel=step.before.entry,
                held_out=True,
                guarded=made.candidate.guarded,
                command=command,
                on=on,
            )
        except NoVerdictError as error:
            return Use(step.transition, None, str(error))
        details = {**evidence.details, "state": step.before.name}
        return Use(step.transition, evidence.model_copy(update={"details": details}), verdict.reason)

    return carry


def _without(proposal: Proposal, lineage: str, skills: Sequence[Skill]) -> Skill:
    """The skill as it is without what one lineage taught."""
    others = [lesson for lesson in proposal.lessons if lesson.lineage != lineage]
    rest = distil(others, [s for s in skills if s.id == proposal.skill.id], with_code=False).proposals
    return rest[0].skill if rest else next(s for s in skills if s.id == proposal.skill.id)


def _one_a_lineage(lessons: Sequence[Lesson]) -> list[Lesson]:
    """The first lesson of each lineage: its later states already have what the skill adds."""
    by_lineage: dict[str, Lesson] = {}
    for lesson in lessons:
        by_lineage.setdefault(lesson.lineage, lesson)
    return list(by_lineage.values())
