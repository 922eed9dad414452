"""Conditions that history learned late: a guard added after an optimisation is that optimisation's condition.

Before the commit that adds the guard nothing said it; afterwards the code tests it itself. A guard that arrives
together with an optimisation is the optimisation's own (`guard in code`); one that arrives alone conditions the step
that it answers, or the first version that it mends (`later fix`). What a fix says without a guard of its own on a
whole launch, by a mask over each thread or an offset in 64 bits, is read from the code before and after it
(`preconditions/`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from kernel_lineage.history.model import Commit, Intent, Lineage, Mined, Transition, Version
from kernel_lineage.history.narrowings import NARROWINGS
from kernel_lineage.kernels.mechanisms.model import Direction
from kernel_lineage.kernels.mechanisms.registry import mechanisms
from kernel_lineage.kernels.words import WORD
from kernel_lineage.learning.guard_conditions import category_of, requirements
from kernel_lineage.learning.launch_names import LaunchNames
from kernel_lineage.learning.preconditions.changes import CodeChange
from kernel_lineage.learning.preconditions.readers import preconditions
from kernel_lineage.learning.version_sources import VersionSources
from kernel_lineage.skills.card import Condition, ConditionKind, Origin
from kernel_lineage.skills.conditions.spelled import spelled

NamesOf: TypeAlias = Callable[[Version, Iterable[str]], LaunchNames]
"""The names around a version's launches, by what it and the files that its change touches say."""


@dataclass(frozen=True, slots=True)
class LearnedCondition:
    """A condition of one transition."""

    transition: str | None
    """The transition that the condition belongs to; None for what came with the first version of a lineage."""
    teacher: str
    """The transition whose code says it."""
    mechanisms: tuple[str, ...]
    """What that transition added, or the first version had."""
    condition: Condition


def learned_conditions(
    mined: Mined, sources: VersionSources, teachers: Collection[str] | None = None
) -> list[LearnedCondition]:
    """What the guards of every lineage teach, and the changes of code that its fixes make.

    With `teachers`, ids of transitions, what these alone teach: no other code is read.
    """
    conditions: dict[tuple[str | None, str, str], LearnedCondition] = {}
    for lineage in mined.lineages:
        from_guards = conditions_from_guards(lineage, mined.commits, sources.launch_names, teachers)
        from_code = conditions_from_code(lineage, mined.commits, partial(_change, lineage, sources), teachers)
        for learned in (*from_guards, *from_code):
            conditions.setdefault((learned.transition, learned.teacher, learned.condition.expr), learned)
    return list(conditions.values())


def conditions_from_guards(
    lineage: Lineage,
    commits: dict[str, Commit],
    names_of: NamesOf,
    teachers: Collection[str] | None = None,
) -> Iterator[LearnedCondition]:
    """Every guard of a lineage that says a condition, in order of history.

    `names_of` gives what a condition on a version may speak of, and what other names of its host code stand for, some
    of them in other files that a change touches.
    """
    versions = {v.id: v for v in lineage.versions}
    for position, teacher in enumerate(lineage.transitions):
        if teachers is not None and teacher.id not in teachers:
            continue
        guards = [g for g in teacher.guards_added if g.kind not in NARROWINGS and spelled(g.expr) is not None]
        if not guards:  # most say nothing of a launch; parameters are asked for only then: it parses the file
            continue
        subject = _conditioned_by(teacher, lineage.transitions[:position], versions)
        if subject is None:
            continue
        around = names_of(versions[teacher.after], (part.path for part in teacher.changed))
        guards = [replace(g, expr=around.resolved(g.expr)) if g.where == "launcher" else g for g in guards]
        guards = [
            g
            for g in guards
            if g.kind != "dispatch" or not around.templates.intersection(WORD.findall(g.expr))
        ]
        mends = teacher.intent is Intent.FIX or teacher.answers is not None
        for guard, expr in requirements(
            guards, around.names, mends=mends, own=subject.transition == teacher.id
        ):
            where = f"{versions[teacher.after].path}:{guard.line}"
            yield _learned(teacher, subject, _kind(subject), expr, where, commits)


def conditions_from_code(
    lineage: Lineage,
    commits: dict[str, Commit],
    change_of: Callable[[Transition], CodeChange | None],
    teachers: Collection[str] | None = None,
) -> Iterator[LearnedCondition]:
    """What the changes of code that fixes make say of the steps that they answer.

    `change_of` gives a transition's change, None where a side cannot be read.
    """
    versions = {v.id: v for v in lineage.versions}
    for position, teacher in enumerate(lineage.transitions):
        if teachers is not None and teacher.id not in teachers:
            continue
        subject = _mended(teacher, lineage.transitions[:position], versions)
        change = change_of(teacher) if subject is not None and teacher.intent is Intent.FIX else None
        for needed in preconditions(change) if change is not None else ():
            where = f"{versions[teacher.after].path}:{needed.line}"
            if subject is not None:
                yield _learned(teacher, subject, ConditionKind.VALIDITY, needed.expr, where, commits)


def _change(lineage: Lineage, sources: VersionSources, transition: Transition) -> CodeChange | None:
    versions = {v.id: v for v in lineage.versions}
    before, after = (sources.kernel(versions[state]) for state in (transition.before, transition.after))
    return None if before is None or after is None else CodeChange(before, after)


@dataclass(frozen=True, slots=True)
class _Subject:
    """What a condition belongs to: a step, or the first version of a lineage."""

    transition: str | None
    mechanisms: tuple[str, ...]


def _learned(
    teacher: Transition,
    subject: _Subject,
    kind: ConditionKind,
    expr: str,
    where: str,
    commits: dict[str, Commit],
) -> LearnedCondition:
    """A condition of `subject` that the step `teacher` says at `where`, PATH:LINE."""
    commit = commits.get(teacher.commit or "")
    own = subject.transition == teacher.id
    return LearnedCondition(
        transition=subject.transition,
        teacher=teacher.id,
        mechanisms=subject.mechanisms,
        condition=Condition(
            kind=kind,
            category=category_of(expr),
            expr=expr,
            reason="The code takes this path only under the guard." if own else _reason(teacher, commit),
            origin=Origin.GUARD if own else Origin.LATER_FIX,
            evidence=f"{commit.sha[:7]} “{commit.subject}”, {where}" if commit else where,
        ),
    )


def _conditioned_by(
    teacher: Transition, earlier: Sequence[Transition], versions: Mapping[str, Version]
) -> _Subject | None:
    """What a guard belongs to: the teacher itself, what it mends, or the last optimisation."""
    if teacher.intent is Intent.OPTIMISATION and teacher.added:
        return _Subject(teacher.id, teacher.added)
    if teacher.answers is not None or teacher.mends is not None:
        return _mended(teacher, earlier, versions)
    steps = (t for t in reversed(earlier) if t.intent is Intent.OPTIMISATION and t.added)
    return next((_Subject(t.id, t.added) for t in steps), None)


def _mended(
    teacher: Transition, earlier: Sequence[Transition], versions: Mapping[str, Version]
) -> _Subject | None:
    """The step that a transition answers, or the first version that brought in what it changes."""
    if teacher.answers is not None:
        return next((_Subject(t.id, t.added) for t in earlier if t.id == teacher.answers), None)
    first = versions.get(teacher.mends or "")
    return None if first is None else _Subject(None, tuple(sorted(first.mechanisms)))


def _kind(subject: _Subject) -> ConditionKind:
    """A guard on launch parameters chooses what is fast; on anything else, what is right."""
    by_id = mechanisms()
    only_launch = all(m in by_id and by_id[m].direction is Direction.LAUNCH for m in subject.mechanisms)
    return ConditionKind.PROFIT if subject.mechanisms and only_launch else ConditionKind.VALIDITY


def _reason(teacher: Transition, commit: Commit | None) -> str:
    lines = commit.body.strip().splitlines() if commit else []
    return next(
        (line.strip() for line in lines if line.strip()), commit.subject if commit else teacher.because
    )
