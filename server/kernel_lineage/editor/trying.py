"""What can be done to a kernel, as a task of `learning.apart`: assists read and rewrite for too long to answer by."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_lineage.editor.checking import KernelTask

if TYPE_CHECKING:
    from kernel_lineage.learning.apart import Ask
    from kernel_lineage.skills.library import Library
    from kernel_lineage.skills.ranking.count_files import RankingData


class Trial(KernelTask):
    """A kernel whose skills are tried."""

    line: int
    """Where it begins: there may be others of its name."""
    device: str
    generation: int
    """Another one says that skills or workloads have changed on the disk."""


def work(task: str, _ask: Ask) -> str:
    """A `Trial` as JSON → a `KernelOffersDocument` as JSON."""
    from kernel_lineage.rewrite.offers import offers_of
    from kernel_lineage.rewrite.situation import facts_for
    from kernel_lineage.skills.applicable import applicable
    from kernel_lineage.skills.library import repository_of
    from kernel_lineage.workloads.files import source_of
    from kernel_lineage.workloads.programs import ProgramError

    trial = Trial.model_validate_json(task)
    root = repository_of(trial.path.parent)
    kernel = source_of(trial.path, trial.text).kernel(trial.kernel, trial.line)
    if kernel is None:
        raise ProgramError(f"{trial.path} has no kernel `{trial.kernel}`")
    library, ranking = _knowledge()(root, trial.generation)
    facts = facts_for(kernel, trial.path, root, device=trial.device)
    places = applicable(kernel, library, facts, ranking.counts)
    return offers_of(kernel, places, library, facts).model_dump_json()


@cache
def _knowledge() -> Callable[[Path | None, int], tuple[Library, RankingData]]:
    from functools import lru_cache

    from kernel_lineage.skills.library import library
    from kernel_lineage.skills.ranking.count_files import known_counts

    return lru_cache(maxsize=1)(lambda root, _generation: (library(root), known_counts(root)))
