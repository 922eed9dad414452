"""What mining found in the repositories of the open documents, kept in memory and renewed in the background.

Mining is a process of its own (`klineage mine --json`), which gives way to checks: it uses every core for a while and
must not slow an answer down. Until it is done, and when it fails, answers go without lineages.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from kernel_lineage.editor.trust import Finished, Trust
from kernel_lineage.editor.views.tree import State
from kernel_lineage.history.git_settings import ENVIRONMENT, git_words

if TYPE_CHECKING:
    from kernel_lineage.history.document import LineageDocument, MineDocument
    from kernel_lineage.learning.replay.earlier import Words

LOOK_AGAIN = 2.0
"""Seconds between two looks at whether HEAD has moved."""

log = logging.getLogger(__name__)


@dataclass
class _Repository:
    root: Path
    git_files: tuple[Path, ...]
    """They change when HEAD does: by a commit, a checkout, a reset, a pull."""
    seen: tuple[tuple[int, int] | None, ...] = ()
    looked: float = 0.0
    lineages: dict[tuple[str, str], LineageDocument] | None = None
    """By path (relative, with slashes) and name of the kernel; None until mining is done."""
    replayed: Mapping[str, Words] = field(default_factory=dict)
    """Transition id → what earlier replays found of it."""
    mining: asyncio.Task[None] | None = None
    again: bool = False
    problem: str | None = None


@dataclass
class Lineages:
    """The lineages of the kernels in the repositories that documents are open in."""

    report: Callable[[str, str], None]
    """Takes `ready`, `mining` or `problem`, and a message for people."""
    trust: Trust
    _repositories: dict[Path, _Repository] = field(default_factory=dict)
    _roots: dict[Path, Path | None] = field(default_factory=dict)
    _looking: set[Path] = field(default_factory=set)
    """Folders whose repository is being looked for."""
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def of(self, path: Path, symbol: str) -> LineageDocument | None:
        """The lineage of a kernel in a file, as far as it is known now. Never waits."""
        repository = self._repository_of(path)
        if repository is None or repository.lineages is None:
            return None
        return repository.lineages.get((path.resolve().relative_to(repository.root).as_posix(), symbol))

    def root_of(self, path: Path) -> Path | None:
        """The repository of a file, as far as it is known now."""
        return self._roots.get(path.resolve().parent)

    def replayed(self, path: Path) -> Mapping[str, Words]:
        """Transition id → what `klineage replay` found of it in the repository of a file. Never waits."""
        repository = self._repository_of(path)
        return repository.replayed if repository is not None else {}

    def named(self, path: Path) -> dict[tuple[str, str], LineageDocument]:
        """The lineages of a file's repository, each by the newest place (path and name) of its kernel. Never waits."""
        repository = self._repository_of(path)
        lineages = repository.lineages if repository is not None and repository.lineages is not None else {}
        each = {lineage.id: lineage for lineage in lineages.values() if lineage.versions}
        return {(v.path, v.symbol): line for line in each.values() for v in line.versions[-1:]}

    def absence(self, path: Path) -> tuple[State, str]:
        """Why a kernel of this file has no lineage, and the same in a few words."""
        state, reason = self._standing(path)
        if state is not State.READY:
            return state, reason
        return State.NOT_IN_HISTORY, "not in the mined history yet: it comes with its first commit"

    def _standing(self, path: Path) -> tuple[State, str]:
        if (refusal := self.trust.refusal) is not None:
            return State.UNTRUSTED, f"not mined: {refusal}"
        folder = path.resolve().parent
        if folder in self._roots and self._roots[folder] is None:
            return State.NO_REPOSITORY, "not in a git repository"
        repository = self._repository_of(path)
        if repository is None or (repository.lineages is None and repository.problem is None):
            return State.MINING, "being mined"
        return (State.PROBLEM, repository.problem) if repository.problem else (State.READY, "")

    async def git(self, path: Path, *arguments: str) -> bytes | str:
        """What a git command prints in a file's repository, or why nothing. Fetches nothing that is not there."""
        root = self.root_of(path)
        if root is None or self.trust.refusal is not None:
            return self._standing(path)[1]
        try:
            finished = await self._run_git(root, arguments)
        except OSError as error:
            return f"git cannot be started: {error}"
        if finished.code != 0:
            return finished.last_lines[-1] if finished.last_lines else f"git ended with code {finished.code}"
        return finished.stdout

    def touch(self, path: Path, saved: bool = False) -> None:
        """Renew in the background what is out of date: after a save, and when HEAD has moved."""
        if self.trust.granted:
            task = asyncio.get_running_loop().create_task(self._touch(path.resolve().parent, saved))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _touch(self, folder: Path, saved: bool) -> None:
        if folder not in self._roots and folder not in self._looking:
            self._looking.add(folder)
            await self._find(folder)
            self._looking.discard(folder)
        root = self._roots.get(folder)
        repository = None if root is None else self._repositories.get(root)
        if repository is None:
            return
        now = time.monotonic()
        if not saved and now - repository.looked < LOOK_AGAIN:
            return
        repository.looked = now
        seen = tuple(_stamp(path) for path in repository.git_files)
        if not saved and seen == repository.seen:
            return
        repository.seen = seen
        if repository.mining is not None and not repository.mining.done():
            repository.again = True
            return
        repository.mining = asyncio.get_running_loop().create_task(self._mine(repository))

    async def _find(self, folder: Path) -> None:
        arguments = ["rev-parse", "--path-format=absolute", "--show-toplevel"]
        lines = await self._git(folder, *arguments, "--git-path", "HEAD", "--git-path", "logs/HEAD")
        if len(lines) != 3:
            self._roots[folder] = None
            return
        root = Path(lines[0]).resolve()
        self._roots[folder] = root
        self._repositories.setdefault(root, _Repository(root, (Path(lines[1]), Path(lines[2]))))

    async def _mine(self, repository: _Repository) -> None:
        from kernel_lineage.history.document import MineDocument

        while True:
            repository.again = False
            self.report("mining", f"mining {repository.root.name}")
            started = time.monotonic()
            finished = await self.trust.klineage(
                *("mine", str(repository.root), "--json", "--counts"), folder=repository.root, background=True
            )
            try:
                mined = await asyncio.to_thread(MineDocument.model_validate_json, finished.stdout)
                repository.replayed = await asyncio.to_thread(_replayed, repository.root)
                repository.lineages = _by_place(mined)
                repository.problem = None
                count = len(mined.lineages)
                log.info("%s: %d lineages in %.1f s", repository.root, count, time.monotonic() - started)
                self.report("ready", f"{count} lineages in {repository.root.name}")
            except ValidationError:
                repository.problem = f"not mined: {_why(finished)}"
                log.warning("%s: %s", repository.root, repository.problem)
                self.report("problem", f"{repository.root.name} was {repository.problem}")
            if not repository.again:
                return

    async def _git(self, folder: Path, *arguments: str) -> list[str]:
        """The lines that a git command prints; none when it fails or there is no git."""
        try:
            finished = await self._run_git(folder, arguments)
        except OSError as error:
            log.warning("git cannot be started: %s", error)
            return []
        return finished.stdout.decode("utf-8", "surrogateescape").splitlines() if finished.code == 0 else []

    async def _run_git(self, folder: Path, arguments: Sequence[str]) -> Finished:
        return await self.trust.run([*git_words(str(folder)), *arguments], folder=folder, more=ENVIRONMENT)

    def _repository_of(self, path: Path) -> _Repository | None:
        root = self._roots.get(path.resolve().parent)
        return None if root is None else self._repositories.get(root)


def _replayed(root: Path) -> Mapping[str, Words]:
    from kernel_lineage.learning.replay.earlier import known_words  # heavy: the gate, with NumPy

    return known_words(root, log.warning)


def _by_place(mined: MineDocument) -> dict[tuple[str, str], LineageDocument]:
    return {(v.path, v.symbol): lineage for lineage in mined.lineages for v in lineage.versions}


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _why(finished: Finished) -> str:
    return (
        finished.last_lines[-1] if finished.last_lines else f"klineage mine ended with code {finished.code}"
    )
