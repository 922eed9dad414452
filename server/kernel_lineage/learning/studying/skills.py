"""Lessons → skills in the repository's own library: distilled, tried on held-out kernels, written when valid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_lineage.learning.distillation.admission import Admission, Carry, HeldOut, admissions
from kernel_lineage.learning.distillation.distil import distil
from kernel_lineage.learning.distillation.publish import UnfitError, publish
from kernel_lineage.learning.studying.lessons import Taught
from kernel_lineage.skills.card import Skill
from kernel_lineage.skills.verified import remember_verified


@dataclass(frozen=True, slots=True)
class LearnedSkills:
    """What became of the lessons, by ids of skills."""

    proposed: tuple[str, ...] = ()
    admitted: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    """Skills that were not admitted and lessons that gave none, each with its reason: `grid-stride-loop: …`."""
    written: tuple[Path, ...] = ()
    """Folders; also of skills that are not admitted, which are shown as hypotheses."""


def learn_skills(
    taught: Sequence[Taught],
    skills: Sequence[Skill],
    library: Path,
    carry: Carry,
    others: Sequence[HeldOut] = (),
    *,
    at_once: int = 1,
    late: Callable[[], bool] = lambda: False,
) -> LearnedSkills:
    """Distil lessons, have each proposal used on held-out kernels, and write it under `library`.

    `skills` are the cards to extend; `others` are kernels to try skills on besides those of the lessons.
    A folder that somebody wrote by hand (one without `lineage.json`) is left alone.
    Raises `DeviceError`.
    """
    distillation = distil([t.lesson for t in taught], skills)
    steps = {t.lesson.transition: t.step for t in taught}
    admitted: list[str] = []
    refused = [f"{lesson.transition}: {lesson.reason}" for lesson in distillation.refused]
    written: list[Path] = []
    for admission in admissions(distillation, skills, steps, carry, others, at_once=at_once, late=late):
        name = admission.proposal.skill.id
        try:
            written.append(_written(admission, library))
        except UnfitError as error:
            refused.append(f"{name}: {error}")
            continue
        if admission.admitted:
            admitted.append(name)
        else:
            refused.append(f"{name}: {admission.reason}")
    proposed = tuple(p.skill.id for p in distillation.proposals)
    return LearnedSkills(proposed, tuple(admitted), tuple(refused), tuple(written))


def _written(admission: Admission, library: Path) -> Path:
    folder = library / admission.proposal.skill.id
    if folder.is_dir() and not (folder / "lineage.json").exists():
        raise UnfitError(f"{folder} was written by hand and stays; rename it to let a learned skill in")
    remember_verified(use.evidence for use in admission.uses if use.evidence is not None)
    return publish(admission.proposal, library)
