"""What `klineage replay --json` prints. Fields may be added; none is renamed without a new version number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from kernel_gate.verdict import Speedup
from kernel_lineage.history.model import Mined
from kernel_lineage.learning.replay.claims import Claimed
from kernel_lineage.learning.replay.learners import Replayed, StepRisk
from kernel_lineage.learning.replay.record import Counterexample, Effect, Label, Record, Status
from kernel_lineage.learning.replay.truths import judged_conditions
from kernel_lineage.learning.studying.parts import Studied
from kernel_lineage.learning.studying.skills import LearnedSkills
from kernel_lineage.skills.document import ConditionDocument, condition_document

VERSION = 1


class PartDocument(BaseModel, frozen=True):
    """One part of a transition."""

    mechanisms: tuple[str, ...]
    """What it adds."""
    removed: tuple[str, ...]
    effect: Speedup | None
    counts: tuple[str, ...]
    conditions: list[str]
    """In the condition language; told with their truth among the transition's own."""


class ReplayedTransition(BaseModel, frozen=True):
    """One transition and what running it says."""

    id: str
    kernel: str
    """`layernorm_forward_kernel2 → layernorm_forward_kernel3`, or the one name."""
    path: str
    """The path of the later state's file."""
    commit: str | None
    subject: str
    intent: str
    claim: str
    mechanisms: tuple[str, ...]
    """What it adds."""
    status: Status
    code: str
    reason: str
    label: Label
    conditions: list[ConditionDocument]
    effect: Effect | None
    """Null where nothing was timed."""
    counts: dict[str, Any] | None
    """Counts of both states on one case, `before` and `after`, from the emulated device."""
    counterexample: Counterexample | None
    risk: list[StepRisk]
    parts: list[PartDocument]
    """What the step consists of, in an order in which every state is right; empty where it was not studied."""
    compound: str
    """Why it may do several things that were not told apart; "" where it was split, or not studied."""
    interactions: list[str]
    workload: str
    device: str
    made: str
    seconds: float
    reused: bool
    """Whether this is an earlier run's."""


class Skills(BaseModel, frozen=True):
    """Ids of the skills that were learned; a refused one with its reason."""

    proposed: list[str]
    admitted: list[str]
    refused: list[str]


class ReplayDocument(BaseModel, frozen=True):
    """The transitions of a repository as far as they were replayed."""

    version: int = VERSION
    repository: str
    device: str
    found: int
    """Transitions that were asked for."""
    remaining: int
    """Those that neither this run nor an earlier one has reached."""
    unstudied: int
    """Those that were replayed, and not learned from as yet for lack of time."""
    statuses: dict[str, int]
    codes: dict[str, int]
    """How often each reason code, most frequent first."""
    transitions: list[ReplayedTransition]
    skills: Skills
    device_seconds: dict[str, float]
    """What this run's verdicts took of each kind of device, `gpu` and `emulated`, added up over workers."""
    messages: list[str]


def replay_document(
    mined: Mined,
    items: Sequence[Claimed],
    replayed: Sequence[Replayed],
    *,
    device: str,
    on_gpu: bool,
    skills: LearnedSkills | None = None,
    device_seconds: Mapping[str, float] | None = None,
    messages: Sequence[str] = (),
) -> ReplayDocument:
    """The document of one run, in order of history."""
    by_id = {r.item.transition.id: r for r in replayed}
    ordered = [by_id[i.transition.id] for i in items if i.transition.id in by_id]
    risks = risks_of(ordered)
    return ReplayDocument(
        repository=mined.repository,
        device=device,
        found=len(items),
        remaining=len(items) - len(ordered),
        unstudied=sum(bool(r.unasked) for r in ordered),
        statuses=dict(Counter(r.record.status for r in ordered)),
        codes=dict(Counter(r.record.code for r in ordered).most_common()),
        transitions=[transition_document(r, mined, risks, on_gpu=on_gpu) for r in ordered],
        skills=_skills(skills or LearnedSkills()),
        device_seconds={kind: round(spent, 1) for kind, spent in sorted((device_seconds or {}).items())},
        messages=list(messages),
    )


def risks_of(replayed: Sequence[Replayed]) -> dict[str, list[StepRisk]]:
    """Transition id → what was seen to go wrong with it.

    What a fix shows of the earlier state is a risk of the step that it answers.
    """
    risks: dict[str, list[StepRisk]] = {}
    for one in replayed:
        item, seen = one.item, one.record.counterexample
        if seen is None or one.record.status not in ("reproduced", "narrower", "failed"):
            continue
        subject = item.transition.answers if one.record.fault_in == "earlier" else item.transition.id
        if subject is not None:
            risk = StepRisk(
                kind="counterexample", message=seen.what, dims=seen.dims, transition=item.transition.id
            )
            risks.setdefault(subject, []).append(risk)
    return risks


def _skills(learned: LearnedSkills) -> Skills:
    return Skills(
        proposed=list(learned.proposed), admitted=list(learned.admitted), refused=list(learned.refused)
    )


def _parts(studied: Studied | None) -> list[PartDocument]:
    if studied is None:
        return []
    return [
        PartDocument(
            mechanisms=part.added,
            removed=part.removed,
            effect=part.speedup,
            counts=part.counts,
            conditions=[c.expr for c in part.conditions],
        )
        for part in studied.parts
    ]


def transition_document(
    replayed: Replayed, mined: Mined, risks: Mapping[str, Sequence[StepRisk]], *, on_gpu: bool
) -> ReplayedTransition:
    """One transition with what others showed of it (`risks_of`)."""
    item, record = replayed.item, replayed.record
    commit = mined.commits.get(item.transition.commit or "")
    conditions = [c for output in replayed.learned for c in output.conditions]
    own_risks = [
        StepRisk(kind=r.kind, message=r.message, transition=r.transition) for r in item.transition.risk
    ]
    return ReplayedTransition(
        **{name: getattr(record, name) for name in _OF_THE_RECORD},
        id=item.transition.id,
        kernel=item.title,
        path=item.after.path,
        commit=item.transition.commit,
        subject=commit.subject if commit is not None else "",
        intent=item.transition.intent,
        mechanisms=item.transition.added,
        conditions=[
            condition_document(judged) for judged in judged_conditions(replayed, conditions, on_gpu=on_gpu)
        ],
        risk=[
            *own_risks,
            *risks.get(item.transition.id, ()),
            *(r for output in replayed.learned for r in output.risk),
        ],
        parts=[part for output in replayed.learned for part in _parts(output.studied)],
        compound=next((g.studied.compound for g in replayed.learned if g.studied is not None), ""),
        interactions=[s for g in replayed.learned if g.studied is not None for s in g.studied.interactions],
        reused=not replayed.fresh,
    )


_OF_THE_RECORD = ReplayedTransition.model_fields.keys() & Record.model_fields.keys()
"""What is told of a transition as it was kept."""
