"""What the transitions of a repository teach, as `klineage mine` shows it."""

from __future__ import annotations

from pathlib import Path

from kernel_lineage.history.document import ConditionDocument
from kernel_lineage.history.model import Mined
from kernel_lineage.learning.later_guards import learned_conditions
from kernel_lineage.learning.version_sources import VersionSources


def taught(repository: Path, mined: Mined) -> dict[str, tuple[ConditionDocument, ...]]:
    """Each transition that teaches conditions → these. Raises `RepositoryError` when it cannot be opened."""
    sources = VersionSources(repository, (v for lineage in mined.lineages for v in lineage.versions))
    by_teacher: dict[str, tuple[ConditionDocument, ...]] = {}
    for learned in learned_conditions(mined, sources):
        document = ConditionDocument(
            expr=learned.condition.expr,
            kind=learned.condition.kind,
            conditions=learned.transition,
            origin=learned.condition.origin,
            reason=learned.condition.reason,
            evidence=learned.condition.evidence,
        )
        by_teacher[learned.teacher] = (*by_teacher.get(learned.teacher, ()), document)
    return by_teacher
