"""What `klineage applicable --json` prints. Fields are only ever added; a renamed one means a new version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, Field

from kernel_lineage.kernels.source import Kernel
from kernel_lineage.skills.applicable import Applicable, Judged
from kernel_lineage.skills.card import Category, ConditionKind, Origin, Risk, Skill
from kernel_lineage.skills.effect import Expected
from kernel_lineage.skills.skill_file import SkillProblem

VERSION = 1
Truth = Literal["holds", "fails", "unknown"]


class ConditionDocument(BaseModel, frozen=True, from_attributes=True):
    """A condition, in the kernel's own names, and its truth."""

    expr: str
    kind: ConditionKind
    category: Category
    truth: Truth
    evidence: str
    sentence: str
    reason: str
    origin: Origin
    missing: list[str] = Field(default_factory=list)
    counterexample: str | None = None


class AnchorDocument(BaseModel, frozen=True, from_attributes=True):
    """Where a skill applies."""

    pattern: str
    detail: str
    lines: tuple[int, int]
    """First and last, from 1."""
    bindings: dict[str, str]


class SkillDocument(BaseModel, frozen=True, from_attributes=True):
    """A skill at one anchor."""

    id: str
    title: str
    kernel: str
    verdict: Truth
    """The truth of the validity conditions together."""
    pays: Truth
    """The truth of the profit conditions together."""
    guardable: bool
    """Whether a fast path behind a test would be right where the verdict is not `holds`."""
    reason: str
    """Why it cannot be applied as it is; empty when it can."""
    rank: int
    """Its place among the skills of its kernel, from 1."""
    rank_reason: str
    """Why it has this place, in one clause."""
    not_now: str
    """Why what limits the kernel forbids it now; empty when nothing does."""
    conditions: list[ConditionDocument]
    expected: Expected | None
    match: Literal["exact", "other_size", "other_device", "none"]
    anchor: AnchorDocument
    summary: str
    mechanism: str
    assist: str | None
    effect: str
    risk: list[Risk]
    admitted: bool
    builtin: bool


class ApplicableDocument(BaseModel, frozen=True, from_attributes=True):
    """The skills for a kernel, or for every kernel of a file."""

    version: int = VERSION
    path: str
    kernel: str | None
    """None when the file has several kernels and none was named; each skill names its own."""
    skills: list[SkillDocument]
    problems: list[str] = Field(default_factory=list)
    """What could not be read of the file or the libraries."""
    notes: list[str] = Field(default_factory=list)
    """Why some facts are not known: no workload, no device."""


def applicable_document(
    path: str,
    by_kernel: Sequence[tuple[Kernel, Sequence[Applicable]]],
    problems: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> ApplicableDocument:
    """The document of one or several kernels of a file."""
    return ApplicableDocument(
        path=path,
        kernel=by_kernel[0][0].name if len(by_kernel) == 1 else None,
        skills=[_skill(kernel, a, n) for kernel, several in by_kernel for n, a in enumerate(several, 1)],
        problems=list(problems),
        notes=list(notes),
    )


def _skill(kernel: Kernel, candidate: Applicable, place: int) -> SkillDocument:
    skill, anchor = candidate.skill, candidate.anchor
    return SkillDocument(
        id=skill.id,
        title=skill.title,
        kernel=kernel.name,
        verdict=candidate.verdict.value,
        pays=candidate.pays.value,
        guardable=candidate.guardable,
        reason=candidate.reason,
        rank=place,
        rank_reason=candidate.rank_reason,
        not_now=candidate.not_now,
        conditions=[condition_document(j) for j in candidate.conditions],
        expected=candidate.expected,
        match=candidate.match.value,
        anchor=AnchorDocument(
            pattern=anchor.pattern,
            detail=anchor.detail,
            lines=(anchor.span.first_line, anchor.span.last_line),
            bindings=dict(anchor.bindings),
        ),
        summary=skill.summary,
        mechanism=skill.mechanism,
        assist=skill.assist,
        effect=skill.effect,
        risk=list(skill.risk),
        admitted=skill.admitted,
        builtin=skill.builtin,
    )


def condition_document(judged: Judged) -> ConditionDocument:
    """One condition as documents show it."""
    condition, judgement = judged.condition, judged.judgement
    return ConditionDocument(
        expr=judged.expr,
        kind=condition.kind,
        category=condition.category,
        truth=judgement.truth.value,
        evidence=judged.evidence,
        sentence=judged.sentence,
        reason=condition.reason,
        origin=condition.origin,
        missing=list(judgement.missing),
        counterexample=judgement.counterexample,
    )


class ProblemDocument(BaseModel, frozen=True, from_attributes=True):
    """Something that is wrong with a skill's folder."""

    skill: str
    file: str
    message: str


class SkillListDocument(BaseModel, frozen=True, from_attributes=True):
    """What `klineage skills list --json` and `skills show --json` print: the skills whole, as they lie on disk."""

    version: int = VERSION
    skills: list[Skill]
    problems: list[ProblemDocument]


class CheckDocument(BaseModel, frozen=True, from_attributes=True):
    """What `klineage skills check --json` prints."""

    version: int = VERSION
    checked: int
    problems: list[ProblemDocument]


def problem_documents(problems: Sequence[SkillProblem]) -> list[ProblemDocument]:
    """Problems as documents show them."""
    return [ProblemDocument(skill=p.folder.name, file=p.file, message=p.message) for p in problems]
