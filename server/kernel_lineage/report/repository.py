"""The report of a repository as it stands: mined, with what its guards teach and what was replayed; nothing is run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kernel_lineage.history.git import open_repository
from kernel_lineage.history.mine import Progress, mine
from kernel_lineage.learning.later_guards import learned_conditions
from kernel_lineage.learning.replay.earlier import known_records
from kernel_lineage.learning.version_sources import VersionSources
from kernel_lineage.report.build import build
from kernel_lineage.report.view import ReportView


def report_on(
    repository: Path,
    *,
    paths: tuple[str, ...] = (),
    kernel: str | None = None,
    progress: Progress | None = None,
) -> ReportView:
    """Mine a repository and draw what is found: all of it, or the lineages that hold a kernel of that name.

    Raises `RepositoryError`.
    """
    mined = mine(repository, paths=paths, progress=progress)
    if kernel is not None:
        lineages = tuple(x for x in mined.lineages if any(v.symbol == kernel for v in x.versions))
        mined = replace(mined, lineages=lineages)
    sources = VersionSources(repository, (v for lineage in mined.lineages for v in lineage.versions))
    notes: list[str] = []
    records = known_records(open_repository(repository).top, notes.append)
    mined = replace(mined, messages=(*mined.messages, *notes))
    return build(mined, read=sources.text, learned=learned_conditions(mined, sources), records=records)
