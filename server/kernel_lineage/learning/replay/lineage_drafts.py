"""What other versions of a lineage tell of how its kernel is run: the sizes of one are as good for another.

A header holds kernels and no sizes; the file of experiments that it was copied from has both.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

from kernel_lineage.history.git import Repository
from kernel_lineage.history.model import Version
from kernel_lineage.learning.replay.claims import Claimed
from kernel_lineage.learning.replay.kept_drafts import KeptDrafts
from kernel_lineage.learning.replay.states import state_of, with_told_sizes
from kernel_lineage.workloads.model import Draft

_MOST = 6
"""Versions that are asked for one transition."""


class LineageDrafts:
    """Drafts by version, each made once. Safe for several threads."""

    def __init__(self, repository: Repository, kept: KeptDrafts) -> None:
        self._repository, self.kept = repository, kept
        self._drafts: dict[str, tuple[str, Draft] | None] = {}
        self._lock = threading.Lock()

    def near(self, item: Claimed) -> Iterator[tuple[str, Draft]]:
        """Complete drafts of other versions, with the names of their states: of each file the nearest version."""
        for version in _nearest(item):
            with self._lock:
                if version.id not in self._drafts:
                    self._drafts[version.id] = self._draft(version)
                entry = self._drafts[version.id]
            if entry is not None:
                yield entry

    def _draft(self, version: Version) -> tuple[str, Draft] | None:
        entry = self.kept.of(version, measured=False)
        if entry is None:
            with state_of(self._repository, version, self.kept) as state:
                entry = state.name, state.draft()
        name, draft = entry[0], with_told_sizes(entry[1])
        return (name, draft) if isinstance(draft, Draft) else None


def _nearest(item: Claimed) -> list[Version]:
    versions = item.lineage.versions
    here = versions.index(item.after)
    nearest: dict[tuple[str, str], Version] = {}
    for version in sorted(versions, key=lambda v: abs(versions.index(v) - here)):
        if version.id not in (item.before.id, item.after.id):
            nearest.setdefault((version.path, version.symbol), version)
    return list(nearest.values())[:_MOST]
