"""Lessons → skills: those that add the same mechanism at the same kind of place are one skill.

A lesson extends the card of a known skill: its mechanism, its anchor pattern, its way to be carried over. A lesson that
no known skill has a place for is refused with its reason. The same lessons give the same skills, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from kernel_gate.files.reading import read_text
from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.anchors.registry import anchors_of
from kernel_lineage.kernels.mechanisms.model import BACKGROUND
from kernel_lineage.kernels.mechanisms.registry import mechanisms_of
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.learning.distillation.conditions import merged, silent
from kernel_lineage.learning.distillation.lesson import Lesson
from kernel_lineage.learning.distillation.skill_names import in_skill_names, reason_in_skill_names, unbound
from kernel_lineage.skills.applicable import bindings_at, is_at, judge_at, known_here
from kernel_lineage.skills.card import Condition, ConditionKind, Risk, Skill, SkillLineage
from kernel_lineage.skills.conditions.truth import Truth
from kernel_lineage.skills.promises import promises_of

_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A skill as the lessons make it; a proposal until a held-out use admits it."""

    skill: Skill
    cases: Mapping[str, str]
    """Path within the folder → text: those of the card that it extends, and its own."""
    lessons: tuple[Lesson, ...]
    confirmed: tuple[str, ...]
    """Conditions of the card that the lessons taught again."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A lesson that gave no skill, and why."""

    transition: str
    reason: str


@dataclass(frozen=True, slots=True)
class Distilled:
    """What the lessons gave."""

    proposals: tuple[Proposal, ...]
    refused: tuple[Refused, ...]


@dataclass(frozen=True)
class _Placed:
    """A lesson at the anchor of the skill that it extends."""

    lesson: Lesson
    skill: Skill
    anchor: Anchor

    @property
    def bindings(self) -> Mapping[str, str]:
        """The skill's names → the kernel's."""
        return bindings_at(self.skill, self.anchor)

    @cached_property
    def all_bindings(self) -> tuple[Mapping[str, str], ...]:
        """Those, then those of the skill's other anchors that the step has done away with: it was carried over there
        as well, so what it needs there it needs of the same name.
        """
        here = [a for a in anchors_of(self.lesson.before) if is_at(self.skill, a) and a != self.anchor]
        left = [a.bindings for a in anchors_of(self.lesson.after) if is_at(self.skill, a)]
        gone = [bindings_at(self.skill, a) for a in here if a.bindings not in left]
        return (self.bindings, *gone)

    def renamed(self, expr: str) -> tuple[str, Mapping[str, str]] | None:
        """A condition in the skill's names, with what binds them; None when no anchor binds all of its names."""
        for bindings in self.all_bindings:
            if (text := in_skill_names(expr, bindings)) is not None:
                return text, bindings
        return None


def distil(lessons: Iterable[Lesson], skills: Sequence[Skill], *, with_code: bool = True) -> Distilled:
    """One skill for each card that some lesson extends.

    `with_code` adds the lessons' own code as cases, which is for the repository that the code is from; without it a
    proposal holds facts only.
    """
    placed: dict[str, list[_Placed]] = {}
    refused: list[Refused] = []
    for lesson in sorted(lessons, key=lambda x: (x.lineage, x.transition, x.mechanisms)):
        placement = _place(lesson, skills)
        if isinstance(placement, str):
            refused.append(Refused(lesson.transition, placement))
        else:
            placed.setdefault(placement.skill.id, []).append(placement)
    proposals = tuple(_proposal(placed[skill_id], with_code) for skill_id in sorted(placed))
    return Distilled(proposals, tuple(refused))


def _place(lesson: Lesson, skills: Sequence[Skill]) -> _Placed | str:
    """The skill that a lesson extends and where, or why there is none.

    Of several, the one that provides most of what the step added, then the one whose anchor binds most of what its
    conditions speak of.
    """
    if not lesson.mechanisms:
        return "it adds no mechanism that is known"
    if lesson.evidence.outcome == "rejected":
        return f"the gate rejected it: {lesson.evidence.reason}"
    adding = [s for s in skills if s.mechanism in lesson.mechanisms and lesson.before.language in s.languages]
    if not adding:
        return f"no skill adds {' or '.join(lesson.mechanisms)} to {lesson.before.language.value} kernels"
    anchors = anchors_of(lesson.before)
    places = [
        _Placed(lesson, skill, anchor) for skill in adding for anchor in anchors if is_at(skill, anchor)
    ]
    if not places:
        patterns = ", ".join(sorted({s.anchor.pattern for s in adding}))
        return f"{lesson.before.name} has no {patterns} before the step"
    contradicted = {id(p): contradiction for p in places if (contradiction := _contradiction(p))}
    if len(contradicted) == len(places):
        return next(iter(contradicted.values()))
    return min((p for p in places if id(p) not in contradicted), key=_preference)


def _contradiction(place: _Placed) -> str:
    """What the card says that is not so where the step was seen to be right: then the step is another one."""
    kernel = place.lesson.before
    facts = known_here(kernel, place.lesson.facts, mechanisms_of(kernel))
    for judged in judge_at(place.skill, place.anchor, facts, promises_of(kernel)).conditions:
        never = judged.judgement.truth is Truth.FAILS and not judged.judgement.partly
        if never and judged.condition.kind is ConditionKind.VALIDITY:
            return f"{place.skill.id} is something else: {judged.expr} does not hold: {judged.evidence}"
    return ""


_CONSEQUENCES = BACKGROUND | {"coalesced_access"}
"""What comes with mapping a row to a warp or a block: of several mechanisms none of these names the step."""


def _preference(place: _Placed) -> tuple[int, bool, int, bool, str, int]:
    """The place that comes first is the likeliest; of cards that are alike, one whose anchor an assist works from."""
    provided = set(place.skill.provides) | {place.skill.mechanism}
    loose = sum(len(unbound(c.expr, place.bindings)) for c in place.lesson.conditions)
    shared = len(provided & set(place.lesson.mechanisms))
    skill, start = place.skill, place.anchor.span.start
    return -shared, skill.mechanism in _CONSEQUENCES, loose, not skill.assist, skill.id, start


def _proposal(places: Sequence[_Placed], with_code: bool) -> Proposal:
    base = places[0].skill
    taught: list[Condition] = []
    risks: list[Risk] = []
    for place in places:
        for condition in place.lesson.conditions:
            renamed = place.renamed(condition.expr)
            if renamed is None:
                risks.append(_carriers_own(condition, place))
            else:
                expr, bindings = renamed
                reason = reason_in_skill_names(condition.reason, bindings)
                taught.append(condition.model_copy(update={"expr": expr, "reason": reason}))
        risks += place.lesson.risks
    together = merged(base.conditions, taught)
    skill = base.model_copy(
        update={
            "conditions": together.conditions,
            "nothing_to_say": silent(base.nothing_to_say, together.conditions),
            "risk": once((*base.risk, *together.risks, *risks)),
            "evidence": once((*base.evidence, *(p.lesson.evidence for p in places))),
            "lineage": _lineage([p.lesson for p in places]),
            "builtin": False,
        }
    )
    cases = cases_of(base)
    if with_code:
        cases |= _own_cases(places, {c.expr for c in together.conditions}, cases)
    return Proposal(skill, cases, tuple(p.lesson for p in places), together.confirmed)


def _carriers_own(condition: Condition, place: _Placed) -> Risk:
    """A condition on something that the skill has no name for belongs to how that step was carried out."""
    names = ", ".join(unbound(condition.expr, place.bindings))
    return Risk(
        what=f"In {place.lesson.before.name} it also needed {condition.expr}; {names} is that kernel's own",
        evidence=condition.evidence or place.lesson.transition,
    )


def _lineage(lessons: Sequence[Lesson]) -> SkillLineage:
    return SkillLineage(
        repository=" and ".join(sorted({x.source.repository for x in lessons})),
        commits=tuple(sorted({c for x in lessons for c in x.source.commits})),
        authors=tuple(sorted({a for x in lessons for a in x.source.authors})),
        licence=" AND ".join(sorted({x.source.licence for x in lessons})),
        paths=tuple(sorted({x.source.path for x in lessons})),
    )


def cases_of(skill: Skill) -> dict[str, str]:
    """The card's cases, to be kept beside what is learned."""
    if skill.folder is None:
        return {}
    afters = (path.replace(".before.", ".after.") for path in skill.applies)
    files = [Path(path) for path in (*skill.applies, *afters, *skill.refuses)]
    return {
        path.as_posix(): read_text(skill.folder / path) for path in files if (skill.folder / path).is_file()
    }


def _own_cases(places: Sequence[_Placed], exprs: set[str], files: Mapping[str, str]) -> dict[str, str]:
    """Each lesson's kernel before and after, and each situation in which a condition of the card refuses it."""
    made: dict[str, str] = {}
    applies = sum(".before." in path for path in files)
    refuses = sum(path.startswith("cases/refuses/") for path in files)
    for place in places:
        lesson = place.lesson
        suffix = "cu" if lesson.before.language is Language.CUDA else "py"
        applies += 1
        made[f"cases/applies/{applies:02}.before.{suffix}"] = _case(lesson.before, suffix, {})
        made[f"cases/applies/{applies:02}.after.{suffix}"] = _case(lesson.after, suffix, {})
        for case in lesson.refusing:
            renamed = place.renamed(case.expr)
            if renamed is not None and renamed[0] in exprs:
                refuses += 1
                facts = ", ".join(f"{name} = {value}" for name, value in sorted(case.facts.items()))
                fields = {"because": renamed[0], "facts": facts}
                made[f"cases/refuses/{refuses:02}.{suffix}"] = _case(lesson.before, suffix, fields)
    return made


def _case(kernel: Kernel, suffix: str, fields: Mapping[str, str]) -> str:
    """The kernel with what it reaches, under what is to be taken as known."""
    mark = "//" if suffix == "cu" else "#"
    text = kernel.text
    if kernel.source is not None:
        text = kernel.source.data.decode("utf-8", "replace")
        fields = {**fields, "kernel": kernel.name}
    head = "".join(f"{mark} {name}: {value}\n" for name, value in fields.items())
    return f"{head}{text.strip()}\n"


def once(items: Iterable[_Model]) -> tuple[_Model, ...]:
    """Without repetitions, in order."""
    distinct: list[_Model] = []
    for item in items:
        if item not in distinct:
            distinct.append(item)
    return tuple(distinct)
