"""Host functions that are judged in the place of the kernels that they launch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from kernel_gate.workload import WorkloadError
from kernel_lineage.kernels.anchors.registry import anchors_of
from kernel_lineage.kernels.naming import MisnamedError, parted
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.registry import assist_for
from kernel_lineage.rewrite.candidate import Candidate
from kernel_lineage.rewrite.situation import workload_facts
from kernel_lineage.skills.card import Skill
from kernel_lineage.skills.conditions.facts import Facts
from kernel_lineage.workloads.files import Launcher, data_of, target_of
from kernel_lineage.workloads.kept_drafts import KeptDrafts
from kernel_lineage.workloads.on_the_spot import NoWorkloadError, SpotWorkload
from kernel_lineage.workloads.program_errors import ProgramError

_JOINING = "kernel_fusion"
"""The mechanism of skills that make one kernel of several."""


def host_function(target: str) -> tuple[Path, Launcher] | None:
    """The host function that `FILE:FUNCTION` names, with its file; None where a target names kernels, or nothing."""
    if Path(target).exists():
        return None
    with suppress(MisnamedError, ProgramError):
        file, name = parted(target)
        meant = target_of(Path(file), name)
        return (Path(file), meant) if isinstance(meant, Launcher) else None
    return None


def facts_of_draft(kernel: Kernel, path: Path) -> Facts:
    """What a workload that is drafted for a kernel tells, which nothing has proved; nothing where none is drafted."""
    with suppress(WorkloadError, ProgramError):
        unproved = KeptDrafts().workload_of(path, data_of(kernel), kernel.name)
        return workload_facts(unproved.workload, "the drafted workload")
    return Facts()


def joining(
    kernel: Kernel,
    skills: tuple[Skill, ...],
    drafted: Callable[[str], SpotWorkload],
    say: Callable[[str], None],
) -> tuple[str, SpotWorkload | None]:
    """The host function that is judged in a kernel's place, with its workload, where an assist joins kernels that it
    launches: only together do they compute the same. "" and None where none does, or where none can be `drafted`.
    """
    candidate = next((c for s in skills for c in _joined_by(s, kernel)), None)
    if candidate is None:
        return "", None
    function = candidate.function
    try:
        return function, drafted(function)
    except NoWorkloadError as error:
        say(f"{kernel.name} is judged alone, and not joined with what {function} launches behind it: {error}")
        return "", None


def _joined_by(skill: Skill, kernel: Kernel) -> Iterator[Candidate]:
    joins = skill.mechanism == _JOINING and kernel.language.value in skill.languages
    assist = assist_for(skill.id) if joins else None
    for anchor in anchors_of(kernel) if assist is not None else ():
        if assist is not None and anchor.pattern == assist.pattern:
            made = assist.rewrite(kernel, anchor)
            if isinstance(made, Candidate) and made.function:
                yield made
