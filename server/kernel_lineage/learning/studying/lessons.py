"""Replayed and studied steps → lessons for distillation, in the words of their repository."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kernel_lineage.history.model import Commit, Mined, Transition
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.learning.distillation.lesson import Lesson, RefusingCase, Source
from kernel_lineage.learning.replay.learners import Replayed, StepRisk
from kernel_lineage.learning.steps import Step, as_launched
from kernel_lineage.learning.studying.parts import Studied, StudiedPart
from kernel_lineage.rewrite.program_edits import kernel_of, with_own_launch
from kernel_lineage.rewrite.situation import workload_facts
from kernel_lineage.skills.card import Condition, Evidence, Risk, SizeEffect
from kernel_lineage.skills.conditions.facts import Facts

_SPEED = {"fast": "accepted", "slow": "rejected"}


@dataclass(frozen=True, slots=True)
class Origin:
    """What all lessons of one repository have in common."""

    repository: str
    licence: str
    command: str


@dataclass(frozen=True, slots=True)
class Taught:
    """A lesson with the step that shows it."""

    lesson: Lesson
    step: Step


def lessons_of(
    one: Replayed, studied: Studied, mined: Mined, origin: Origin, risks: Sequence[StepRisk] = ()
) -> Iterator[Taught]:
    """The lessons of one replayed step: one for each part that adds a mechanism."""
    replayed = one.step
    if replayed is None:
        return
    # What studying found is the parts' own already.
    guards = [c for output in one.learned if output.studied is None for c in output.conditions]
    adding = [n for n, part in enumerate(studied.parts) if part.added]
    for n in adding:
        part = studied.parts[n]
        if part.compound:
            continue
        name = one.item.transition.id + (f" part {n + 1}" if len(studied.parts) > 1 else "")
        step = Step(name, part.before, part.after, replayed.workload, part.added)
        before, after = kernel_of(step.before), kernel_of(step.after)
        if before is None or after is None:
            continue
        before, after = with_own_launch(before, step.before), with_own_launch(after, step.after)
        # What guards say belongs to the whole step, which is whole with its last part.
        mine = guards if n == adding[-1] else []
        facts = workload_facts(as_launched(step), f"the workload {one.record.workload}")
        yield Taught(_lesson(one, part, name, (before, after), mined, origin, mine, risks, facts), step)


def _lesson(
    one: Replayed,
    part: StudiedPart,
    name: str,
    kernels: tuple[Kernel, Kernel],
    mined: Mined,
    origin: Origin,
    guards: Sequence[Condition],
    risks: Sequence[StepRisk],
    facts: Facts,
) -> Lesson:
    item = one.item
    seen = [
        Risk(what=r.message, evidence=_short(mined, r.transition) or name)
        for r in risks
        # Where only timed inputs show a difference, nothing tells which of the states is wrong.
        if r.kind == "counterexample" and "before timing" not in r.message
    ]
    return Lesson(
        transition=name,
        lineage=item.lineage.id,
        before=kernels[0],
        after=kernels[1],
        mechanisms=part.added,
        facts=facts,
        source=Source(
            repository=origin.repository,
            licence=origin.licence,
            path=item.after.path,
            commits=_commits(item.transition, item.before.commit, item.after.commit),
            authors=_authors(item.transition, mined.commits),
        ),
        evidence=_evidence(one, part, origin.command),
        conditions=(*part.conditions, *guards),
        risks=(*part.risk, *seen),
        refusing=tuple(RefusingCase(r.expr, {n: str(v) for n, v in r.facts.items()}) for r in part.refusing),
    )


def _evidence(one: Replayed, part: StudiedPart, command: str) -> Evidence:
    speedup = part.speedup
    if speedup is None:
        outcome, reason = "inconclusive", f"right, and not timed: {one.record.device}"
    else:
        outcome = _SPEED.get(speedup.state.value, "inconclusive")
        reason = f"{speedup.state.value}: {speedup.median:.3f}× ({speedup.low:.3f} … {speedup.high:.3f})"
    return Evidence(
        kernel=one.item.after.symbol,
        outcome=outcome,
        reason=reason,
        device=one.record.device,
        date=one.record.made[:10],
        toolchain={name: str(value) for name, value in one.record.toolchain.items()},
        held_out=False,
        sizes=tuple(
            SizeEffect(dims=shape.dims, speedup=shape.median, low=shape.low, high=shape.high)
            for shape in (speedup.by_shape if speedup is not None else ())
        ),
        command=command,
        details={
            "label": one.record.label.value,
            "counts": list(part.counts),
            "commits": list(_commits(one.item.transition, one.item.before.commit, one.item.after.commit)),
            "path": one.item.after.path,
        },
    )


def _commits(transition: Transition, *states: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(c for c in (*states, transition.commit) if c is not None))


def _authors(transition: Transition, commits: Mapping[str, Commit]) -> tuple[str, ...]:
    commit = commits.get(transition.commit or "")
    return (commit.author,) if commit is not None else ()


def _short(mined: Mined, transition: str | None) -> str:
    """The commit of a transition, as people write it."""
    steps = (t for lineage in mined.lineages for t in lineage.transitions if t.id == transition)
    commit = mined.commits.get(next((t.commit or "" for t in steps), ""))
    return f"{commit.sha[:7]} “{commit.subject}”" if commit is not None else ""
