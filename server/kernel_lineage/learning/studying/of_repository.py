"""The skills that the studied steps of one repository give, in its own library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from kernel_gate.files.reading import is_plain_file, read_text
from kernel_gate.options import GateOptions
from kernel_lineage.history.git import Repository, remote_of
from kernel_lineage.history.licence import FILES, UNKNOWN, licence_of_text
from kernel_lineage.history.model import Mined
from kernel_lineage.learning.distillation.admission import HeldOut, carrier
from kernel_lineage.learning.replay.document import risks_of
from kernel_lineage.learning.replay.learners import Replayed
from kernel_lineage.learning.steps import Judge
from kernel_lineage.learning.studying.lessons import Origin, lessons_of
from kernel_lineage.learning.studying.skills import LearnedSkills, learn_skills
from kernel_lineage.skills.conditions.facts import Facts
from kernel_lineage.skills.library import REPOSITORY_FOLDER, library
from kernel_lineage.workloads.first_device import device_facts
from kernel_lineage.workloads.proof import Device

_OPTIONS = GateOptions(build_seconds=60.0, check_seconds=30.0, profile_seconds=2.0)
"""For one held-out use."""


def skills_of(
    repository: Repository,
    mined: Mined,
    replayed: Sequence[Replayed],
    judge: Judge,
    *,
    device: Device,
    on_gpu: bool,
    at_once: int = 1,
    late: Callable[[], bool] = lambda: False,
) -> LearnedSkills:
    """Distil what was studied, try it on held-out kernels, and write what is valid. Raises `DeviceError`.

    So many uses are judged at once, and none is begun when it is `late`.
    """
    if repository.bare:
        return LearnedSkills(refused=("a bare repository has no .klineage/skills to write to",))
    origin = origin_of(repository)
    risks = risks_of(replayed)
    taught = [
        lesson
        for one in replayed
        for output in one.learned
        if output.studied is not None
        for lesson in lessons_of(one, output.studied, mined, origin, risks.get(one.item.transition.id, ()))
    ]
    carry = carrier(
        judge,
        device=device,
        device_facts=device_facts()[0] if on_gpu else Facts(),
        command=origin.command,
        on=datetime.now(UTC).date(),
        options=_OPTIONS,
    )
    folder = repository.top / REPOSITORY_FOLDER
    others = _held_out(replayed)
    return learn_skills(taught, library().skills, folder, carry, others, at_once=at_once, late=late)


def _held_out(replayed: Sequence[Replayed]) -> list[HeldOut]:
    """The earlier states that were seen to be right, each once, what was run in the shortest time first."""
    by_source: dict[str, HeldOut] = {}
    for one in sorted(replayed, key=lambda r: (r.record.seconds, r.item.transition.id)):
        step = one.step
        if (
            step is None
            or one.record.status not in ("reproduced", "narrower")
            or one.record.fault_in is not None
        ):
            continue
        if (
            step.before.source not in by_source
            and (held := HeldOut.of(one.item.lineage.id, step)) is not None
        ):
            by_source[step.before.source] = held
    return list(by_source.values())


def origin_of(repository: Repository) -> Origin:
    """What a repository says of itself: where it is from, and its licence."""
    texts = (repository.top / name for name in FILES)
    licence = next(
        (licence_of_text(read_text(p, errors="replace")) for p in texts if is_plain_file(p)), UNKNOWN
    )
    return Origin(remote_of(repository) or repository.top.name, licence, "klineage replay")
