"""Which skills apply to a kernel of an open document: judged in the parsing thread, and kept while it is true."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from kernel_lineage.editor.documents import Snapshot
from kernel_lineage.kernels.mechanisms.model import Site
from kernel_lineage.kernels.mechanisms.registry import mechanisms_of
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.situation import facts_for
from kernel_lineage.skills.applicable import Applicable, applicable
from kernel_lineage.skills.library import Library, library, repository_of
from kernel_lineage.skills.ranking.count_files import RankingData, known_counts

log = logging.getLogger(__name__)

KEPT = 64
"""Kernels whose answers are kept."""


@dataclass(frozen=True, slots=True)
class _Answer:
    mechanisms: tuple[Site, ...]
    candidates: tuple[Applicable, ...]


class Applicability:
    """Skills, workloads and device facts of the repositories that documents are open in."""

    def __init__(self, thread: Executor) -> None:
        self._thread = thread
        self._libraries: dict[Path | None, Library] = {}
        self._rankings: dict[Path | None, RankingData] = {}
        self._answers: OrderedDict[tuple[str, int, int, int], asyncio.Task[_Answer]] = OrderedDict()
        """Those that are worked on are among them: an editor asks several questions about one kernel at once."""
        self._generation = 0
        self.device = "auto"

    async def at(self, snapshot: Snapshot, kernel: Kernel) -> tuple[Applicable, ...]:
        """Every skill at every anchor of the kernel."""
        return (await self._answer(snapshot, kernel)).candidates

    async def mechanisms(self, snapshot: Snapshot, kernel: Kernel) -> tuple[Site, ...]:
        """Where each mechanism is seen in the kernel."""
        return (await self._answer(snapshot, kernel)).mechanisms

    async def _answer(self, snapshot: Snapshot, kernel: Kernel) -> _Answer:
        key = (snapshot.uri, snapshot.version, kernel.span.start, self._generation)
        task = self._answers.get(key)
        if task is None or (task.done() and task.exception() is not None):
            task = self._answers[key] = asyncio.get_running_loop().create_task(self._work(snapshot, kernel))
            while len(self._answers) > KEPT:
                self._answers.popitem(last=False)
        # Shielded: a question that is cancelled must not take the answer of the others with it.
        return await asyncio.shield(task)

    async def _work(self, snapshot: Snapshot, kernel: Kernel) -> _Answer:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._judge, snapshot, kernel)

    async def library(self, folder: Path | None) -> Library:
        """The skills at hand in a folder's repository; without a folder, the built-in ones."""
        loop = asyncio.get_running_loop()
        root = None if folder is None else repository_of(folder)
        return await loop.run_in_executor(self._thread, self._library, root)

    def forget(self) -> None:
        """Read the libraries and the workloads again when they are next needed: something of them changed on disk."""
        self._generation += 1
        self._libraries.clear()
        self._rankings.clear()
        self._answers.clear()

    def _judge(self, snapshot: Snapshot, kernel: Kernel) -> _Answer:
        root = repository_of(snapshot.path.parent)
        shelf = self._library(root)
        facts = facts_for(kernel, snapshot.path, root, device=self.device)
        ranking = self._rankings.get(root)
        if ranking is None:
            ranking = self._rankings[root] = known_counts(root)
        sites = mechanisms_of(kernel)
        return _Answer(sites, applicable(kernel, shelf, facts, ranking.counts, sites))

    def _library(self, root: Path | None) -> Library:
        # `forget` may empty the dictionary meanwhile: what was read stays good for this answer.
        shelf = self._libraries.get(root)
        if shelf is None:
            shelf = self._libraries[root] = _load(root)
        return shelf


def _load(root: Path | None) -> Library:
    loaded = library(root)
    for problem in loaded.problems:
        log.warning("%s", problem)
    return loaded


def skills_at(candidates: Sequence[Applicable], kernel: Kernel, offset: int) -> list[Applicable]:
    """The skills at an offset, the narrowest anchor first. An anchor as wide as the kernel shows on its name only."""
    return sorted(
        (
            a
            for a in candidates
            if a.anchor.span.start <= offset <= a.anchor.span.end
            and not a.anchor.span.contains(kernel.body_span)
        ),
        key=lambda a: a.anchor.span.end - a.anchor.span.start,
    )
