"""Admission: a skill is admitted by a verified use on a kernel that it was not learned from.

The held-out kernels are the ones before the steps themselves: a skill is carried over to a step's earlier state by the
card that the *other* lineages give, so that neither the step's own conditions nor its effect are in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from kernel_gate.devices.opening import DeviceKind
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Verdict
from kernel_gate.workload import Workload
from kernel_lineage.learning.distillation.distil import Distilled, Proposal, distil
from kernel_lineage.learning.distillation.lesson import Lesson
from kernel_lineage.learning.measured_use import evidence_of_verdict
from kernel_lineage.learning.steps import Judge, Step
from kernel_lineage.rewrite.candidate import Candidate
from kernel_lineage.rewrite.materialise import Lane, NoCandidate, materialise
from kernel_lineage.rewrite.program_edits import kernel_of, with_candidate
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


Carry = Callable[[Skill, Step], Use]
"""Carries a skill over to a step's earlier state and asks the gate."""


def admissions(
    found: Distilled, known: Sequence[Skill], steps: Mapping[str, Step], carry: Carry
) -> Iterator[Admission]:
    """Each proposal with its held-out uses; `steps` are those of the lessons, by transition."""
    for proposal in found.proposals:
        uses = [
            carry(_without(proposal, lesson.lineage, known), steps[lesson.transition])
            for lesson in _one_a_lineage(proposal.lessons)
            if lesson.transition in steps
        ]
        evidence = tuple(use.evidence for use in uses if use.evidence is not None)
        skill = proposal.skill.model_copy(update={"evidence": (*proposal.skill.evidence, *evidence)})
        yield Admission(replace(proposal, skill=skill), tuple(uses))


def carrier(
    judge: Judge,
    *,
    device: DeviceKind,
    device_facts: Facts,
    command: str,
    on: date,
    lane: Lane | None = None,
) -> Carry:
    """Carries skills over by a lane (by default the skill's assist), and has them judged on a device."""

    def carry(skill: Skill, step: Step) -> Use:
        kernel = kernel_of(step.before)
        if kernel is None:
            return Use(step.transition, None, f"{step.before.name} launches several kernels")
        facts = workload_facts(_as_launched(step), "the workload").merged(device_facts, toolchain_facts())
        verdicts: list[Verdict] = []

        def gate(candidate: Candidate) -> Verdict:
            after = with_candidate(step.before, candidate, step.workload)
            verdict = judge(GateRequest.of(step.before, after, step.workload, device=device))
            verdicts.append(verdict)
            return verdict

        made = materialise(lane or Lane("assist"), skill, kernel, facts, Path.cwd(), gate)
        if isinstance(made, NoCandidate):
            return Use(step.transition, None, made.reason)
        verdict = made.verdict or gate(made.candidate)
        evidence = evidence_of_verdict(
            verdict,
            kernel=step.before.entry,
            held_out=True,
            guarded=made.candidate.guarded,
            command=command,
            on=on,
        )
        return Use(step.transition, evidence, verdict.reason)

    return carry


def _without(proposal: Proposal, lineage: str, known: Sequence[Skill]) -> Skill:
    """The skill as it is without what one lineage taught."""
    others = [lesson for lesson in proposal.lessons if lesson.lineage != lineage]
    rest = distil(others, [s for s in known if s.id == proposal.skill.id], with_code=False).proposals
    return rest[0].skill if rest else next(s for s in known if s.id == proposal.skill.id)


def _one_a_lineage(lessons: Sequence[Lesson]) -> list[Lesson]:
    """The first lesson of each lineage: its later states already have what the skill adds."""
    found: dict[str, Lesson] = {}
    for lesson in lessons:
        found.setdefault(lesson.lineage, lesson)
    return list(found.values())


def _as_launched(step: Step) -> Workload:
    """The workload with the launch of the step's earlier state, for the facts that speak of launches."""
    spec = step.before.launch
    if spec is None:
        return step.workload
    told = {name: getattr(spec, name) for name in spec.__slots__}
    told["constexpr"] = dict(spec.constexpr)
    return step.workload.model_copy(update={"launch": step.workload.launch.model_copy(update=told)})
