"""The report of a repository as it stands: mined, with what its guards teach and what was replayed; nothing is run."""

from __future__ import annotations

from pathlib import Path

from kernel_lineage.history.git import open_repository
from kernel_lineage.history.mine import Progress, mine
from kernel_lineage.learning.later_guards import learned_conditions
from kernel_lineage.learning.replay.known import known_records
from kernel_lineage.learning.version_sources import VersionSources
from kernel_lineage.report.build import build
from kernel_lineage.report.view import ReportView


def report_on(
    repository: Path, *, paths: tuple[str, ...] = (), progress: Progress | None = None
) -> ReportView:
    """Mine a repository and draw what is found. Raises `RepositoryError`."""
    mined = mine(repository, paths=paths, progress=progress)
    sources = VersionSources(repository, (v for lineage in mined.lineages for v in lineage.versions))
    return build(
        mined,
        read=sources.text,
        learned=learned_conditions(mined, sources),
        records=known_records(open_repository(repository).top),
    )
