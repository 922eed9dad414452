"""The skills that the studied steps of one repository give, in its own library."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from kernel_lineage.history.git import Repository, remote_of
from kernel_lineage.history.licence import FILES, UNKNOWN, licence_of_text
from kernel_lineage.history.model import Mined
from kernel_lineage.learning.distillation.admission import carrier
from kernel_lineage.learning.replay.document import risks_of
from kernel_lineage.learning.replay.learners import Replayed
from kernel_lineage.learning.steps import Judge
from kernel_lineage.learning.studying.lessons import Origin, lessons_of
from kernel_lineage.learning.studying.skills import LearnedSkills, learn_skills
from kernel_lineage.rewrite.drafting.proof import Device
from kernel_lineage.rewrite.situation import device_facts
from kernel_lineage.skills.conditions.facts import Facts
from kernel_lineage.skills.library import REPOSITORY_FOLDER, library


def skills_of(
    repository: Repository,
    mined: Mined,
    replayed: Sequence[Replayed],
    judge: Judge,
    *,
    device: Device,
    on_gpu: bool,
) -> LearnedSkills:
    """Distil what was studied, try it on held-out kernels, and write what is valid. Raises `DeviceError`."""
    if repository.bare:
        return LearnedSkills(refused=("a bare repository has no .klineage/skills to write to",))
    origin = origin_of(repository)
    risks = risks_of(replayed)
    taught = [
        lesson
        for one in replayed
        for given in one.learned
        if given.studied is not None
        for lesson in lessons_of(one, given.studied, mined, origin, risks.get(one.item.transition.id, ()))
    ]
    carry = carrier(
        judge,
        device=device,
        device_facts=device_facts()[0] if on_gpu else Facts(),
        command=origin.command,
        on=datetime.now(UTC).date(),
    )
    return learn_skills(taught, library().skills, repository.top / REPOSITORY_FOLDER, carry)


def origin_of(repository: Repository) -> Origin:
    """What a repository says of itself: where it is from, and its licence."""
    texts = (repository.top / name for name in FILES)
    licence = next((licence_of_text(p.read_text("utf-8", "replace")) for p in texts if p.is_file()), UNKNOWN)
    return Origin(remote_of(repository) or repository.top.name, licence, "klineage replay")
