"""Mining: a repository → its lineages, continuing from what an earlier run kept."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from kernel_gate.files.reading import read_file
from kernel_lineage.cache_file import DamagedRow, is_damage
from kernel_lineage.cache_folder import kept_in
from kernel_lineage.history import git
from kernel_lineage.history.cache import Cache, analyser_fingerprint, open_cache
from kernel_lineage.history.cuda_chunks import CUDA
from kernel_lineage.history.fact_store import FactStore
from kernel_lineage.history.git import Change, CommitChanges, Repository, blob_id
from kernel_lineage.history.lineages import lineages_of
from kernel_lineage.history.matching import Matcher
from kernel_lineage.history.model import Commit, Mined, Transition
from kernel_lineage.history.objects import MAX_BLOB_BYTES, BlobReader
from kernel_lineage.history.outline import Outline, Outliner, Piece, digest
from kernel_lineage.history.rows import (
    Rows,
    outline_of_row,
    outline_row,
    piece_key,
    piece_row,
    pieces_of_row,
)
from kernel_lineage.history.tips import Tips
from kernel_lineage.history.transitions import Judge
from kernel_lineage.history.triton_chunks import TRITON
from kernel_lineage.history.units import Units
from kernel_lineage.history.variants import step_notes
from kernel_lineage.history.walk import Node, Walk
from kernel_lineage.history.workers import Workers
from kernel_lineage.kernels.source import Language

_KEEP_EVERY = 400
"""Files between two transactions: what an interrupted run keeps."""
_MANY_COMMITS = 100
"""From so many on, processes for the analysis are started before there is something for them to do."""
_MOST_CUT = 20
"""Kernels of which it is said one by one that not all was read."""
_FILES_IN_MEMORY = 10_000
_TEXT_IN_MEMORY = 64 << 20


class Progress(Protocol):
    """Is told how far mining is."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """`done` of `total` in a stage: `files`, `kernels`."""


def mine(
    repository: Path,
    *,
    paths: Sequence[str] = (),
    since: str | None = None,
    use_cache: bool = True,
    progress: Progress | None = None,
    jobs: int | None = None,
) -> Mined:
    """The lineages of the kernels of a repository, its work tree as the last version where it differs.

    `paths` are git globs, relative to `repository` when that is a subfolder. `since` is a revision or a date.
    Raises `RepositoryError` when there is nothing to mine from.
    """
    opened = git.open_repository(repository)
    messages: list[str] = []
    kept = kept_in(opened.top)
    folders = [kept, kept, None] if use_cache else [None]  # the cache; a new one where it is damaged; none
    while True:
        folder = folders.pop(0)
        with open_cache(folder, analyser_fingerprint()) as cache, Workers(jobs) as workers:
            cache.messages[:0] = messages
            specs = git.pathspecs(opened, paths)
            try:
                return _Run(opened, cache, specs, since, progress or _silent, workers).mined()
            except sqlite3.Error as error:
                if folder is None:
                    raise
                messages = [*cache.messages, cache.given_up(error)]
                if not is_damage(error):
                    folders = [None]


@dataclass
class _State:
    """What one walk over the history found; kept in the cache under the question that was asked."""

    walk: Walk = field(default_factory=Walk)
    transitions: list[Transition] = field(default_factory=list)
    commits: dict[str, Commit] = field(default_factory=dict)
    commits_read: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    head: str | None = None


_STATES: Rows[_State] = Rows(_State)


class _Run:
    """One run of mining: what it reads from, and what it has read."""

    def __init__(
        self,
        repository: Repository,
        cache: Cache,
        specs: Sequence[str],
        since: str | None,
        progress: Progress,
        workers: Workers,
    ):
        self._repository = repository
        self._cache = cache
        self._specs = specs
        self._since = since
        self._progress = progress
        self._files: dict[str, Outline] = {}
        self._kept: set[str] = set()
        self._pieces: dict[str, Piece] = {}
        self._edge: dict[str, dict[str, str]] = {}
        """Commits that are not walked but have one that is after them → their files."""
        self._texts: dict[str, str] = {}
        self._workers = workers
        self._facts = FactStore(cache, workers, self._text)
        self._outliner = Outliner({Language.CUDA: CUDA, Language.TRITON: TRITON})
        self._units = Units(self._file, self._text, self._keep_text)

    def mined(self) -> Mined:
        """Everything: the history, then the work tree on top of it."""
        key = digest(*(s.encode() for s in self._specs), str(self._since).encode())
        state = self._load(key)
        if state.head != self._repository.head:
            state = self._continue(state)
            self._cache.put_walk(key, _STATES.row(state))
        changes = self._work_tree()
        if changes:
            parents = (self._repository.head,) if self._repository.head else ()
            self._advance(state, [CommitChanges(Commit("", parents, "", "", ""), tuple(changes))])
        return self._result(state)

    def _load(self, key: str) -> _State:
        """The state to go on from: that of an earlier run, unless the history was rewritten since."""
        row = self._cache.walk(key)
        head = self._repository.head
        if row is None or head is None:
            return _State()
        try:
            state = _STATES.value(row)
        except DamagedRow as error:
            self._cache.messages.append(
                f"What the cache kept of this history cannot be read ({error}); starting over."
            )
            return _State()
        is_current = state.head == head or (
            state.head and git.is_ancestor(self._repository, state.head, head)
        )
        return state if is_current else _State()

    def _continue(self, state: _State) -> _State:
        """Walks the commits since `state`, or all of them."""
        repository, head = self._repository, self._repository.head
        if head is None:
            return state
        revisions = [head, f"^{state.head}"] if state.head else [head, *self._limits()]
        skipped = state.skipped
        commits = self._in_order(revisions, git.read_log(repository, revisions, self._specs, skipped))
        if len(commits) > _MANY_COMMITS:
            self._workers.start()
        places = {(path, blob) for c in commits for change in c.changes for path, blob in _places(change)}
        walked = {state.head, *(c.commit.sha for c in commits)}
        for parent in sorted({p for c in commits for p in c.commit.parents} - walked):
            self._edge[parent] = git.files_at(repository, parent, self._specs)
            places.update(self._edge[parent].items())
        self._read_files(places, skipped)
        state.commits_read += git.count_commits(repository, revisions)
        self._advance(state, commits)
        state.head = head
        return state

    def _in_order(self, revisions: Sequence[str], listed: Sequence[CommitChanges]) -> list[CommitChanges]:
        """The listed commits, with those between them that change no kernel file."""
        by_sha = {c.commit.sha: c for c in listed}
        everything = git.read_parents(self._repository, revisions)
        if not everything:
            return list(listed)
        return [
            by_sha.get(sha) or CommitChanges(Commit(sha, parents, "", "", ""), ())
            for sha, parents in everything
        ]

    def _limits(self) -> list[str]:
        if self._since is None:
            return []
        revision = git.resolve_revision(self._repository, self._since)
        return [f"^{revision}"] if revision else [f"--since={self._since}"]

    def _advance(self, state: _State, commits: Sequence[CommitChanges]) -> None:
        """Takes commits into a state: versions, then their facts, then what the transitions mean."""
        walk = state.walk
        first, boundary = len(walk.nodes), len(walk.boundary)
        states = {state.head: walk.tip} if state.head else {}
        tips = Tips(states, [c.commit for c in commits], self._edge.__getitem__)
        matcher = Matcher(walk, tips, self._units, self._file, self._text)
        for commit in commits:
            matcher.advance(commit)
        self._keep({})
        used = {n.commit for n in walk.nodes[first:]} | {e.commit for e in walk.edges}
        state.commits.update((c.commit.sha, c.commit) for c in commits if c.commit.sha in used)
        if len(walk.boundary) > boundary:
            state.commits.update(git.commits_named(self._repository, walk.boundary - state.commits.keys()))
        for node in walk.nodes[first:]:
            self._facts.ask(node.symbol, [p for _, p in node.all_parts], node.language)
        judge = Judge(walk, state.commits, _directions(), self._text, self._facts.of, self._notes)
        judge.compare(len(state.transitions))  # while the facts are being worked out
        self._facts.wait(lambda done, total: self._progress("kernels", done, total))
        judge.continue_with(state.transitions)

    def _read_files(self, places: Iterable[tuple[str, str]], skipped: dict[str, int]) -> None:
        """Outlines every blob that is not known yet."""
        wanted = {_file_key(path, blob): (path, blob) for path, blob in sorted(places)}
        keys = self._kept = self._cache.known_files() if wanted else set()
        new = [place for key, place in wanted.items() if key not in keys]
        languages = {blob: path for path, blob in new}
        unsaved: dict[str, Any] = {}
        done = 0
        try:
            with BlobReader(self._repository, skipped) as reader:
                for blob, data in reader.read(languages):
                    self._take_file(languages[blob], blob, data, unsaved)
                    done += 1
                    if len(unsaved) >= _KEEP_EVERY:
                        self._keep(unsaved)
                        self._progress("files", done, len(languages))
        finally:
            self._keep(unsaved)

    def _take_file(self, path: str, blob: str, data: bytes, unsaved: dict[str, Any]) -> None:
        outline = self._outliner.outline(path, data, self._texts)
        key = _file_key(path, blob)
        self._files[key] = outline
        unsaved[key] = outline_row(outline)
        for piece in outline.pieces:
            self._pieces[piece_key(piece.name, piece.digest)] = piece

    def _keep(self, unsaved: dict[str, Any]) -> None:
        if unsaved or self._texts:
            self._cache.put_files(unsaved, self._texts, {k: piece_row(p) for k, p in self._pieces.items()})
            unsaved.clear()
            self._pieces.clear()
        if len(self._files) > _FILES_IN_MEMORY:
            self._files = {k: f for k, f in self._files.items() if k.startswith("work:")}
        if sum(map(len, self._texts.values())) > _TEXT_IN_MEMORY:
            self._texts.clear()

    def _file(self, path: str, blob: str) -> Outline:
        """What a blob says; nothing where it could not be read."""
        key = _file_key(path, blob)
        outline = self._files.get(key)
        if outline is None:
            outline = Outline()
            for _, row in self._cache.files([key]):
                outline = outline_of_row(row, self._cache.pieces(pieces_of_row(row)))
                self._files[key] = outline
            if key in self._kept and key not in self._files:
                raise DamagedRow("a row is gone")
            self._files[key] = outline
        return outline

    def _text(self, key: str) -> str:
        text = self._texts.get(key)
        if text is None:
            text = self._cache.text(key)
            if text is None:  # it was put with what refers to it
                raise DamagedRow("a text is gone")
            self._texts[key] = text
        return text

    def _keep_text(self, key: str, text: str) -> None:
        self._texts[key] = text

    def _notes(self, node: Node) -> Mapping[int, str]:
        return step_notes(self._file(node.path, node.blob).header)

    def _work_tree(self) -> list[Change]:
        """Files that differ from HEAD. Read and hashed here: git would run the repository's filters to compare them."""
        repository = self._repository
        if repository.bare:
            return []
        committed = git.head_files(repository)
        changes = []
        unsaved: dict[str, Any] = {}
        for path in git.work_tree_files(repository, self._specs):
            data = _contents(repository.top / path)
            if data is None:
                continue
            head = committed.get(path)
            length = len(head) if head else 40
            if head in (blob_id(data, length), blob_id(data.replace(b"\r\n", b"\n"), length)):
                continue
            blob = f"work:{blob_id(data, length)}"
            self._take_file(path, blob, data, unsaved)
            changes.append(Change(path, blob, ((path, head),) if head else ()))
        if unsaved:  # the texts are kept; what a file of the work tree says is not
            self._keep({})
        return changes

    def _cut(self, state: _State) -> list[str]:
        """What was left out of kernels whose text is beyond the budget of a reader."""
        cut: dict[str, int] = {}
        for node in state.walk.nodes:
            if why := self._facts.of(node).cut:
                named = f"{node.path}: {node.symbol}: {why}"
                cut[named] = cut.get(named, 0) + 1
        messages = [
            f"Not all was read in {n} version{'s' * (n > 1)} of {named}." for named, n in sorted(cut.items())
        ]
        more = len(messages) - _MOST_CUT
        return messages if more <= 0 else [*messages[:_MOST_CUT], f"Not all was read of {more} more kernels."]

    def _result(self, state: _State) -> Mined:
        repository = self._repository
        messages = list(self._cache.messages)
        if repository.shallow:
            messages.append(
                "This is a shallow clone: history before its first commit is not there (git fetch --unshallow)."
            )
        if repository.head is None:
            messages.append("There is no commit yet; only the work tree was read.")
        messages += self._cut(state)
        return Mined(
            repository=str(repository.top / repository.prefix) if repository.prefix else str(repository.top),
            head=repository.head,
            commits=state.commits,
            commits_read=state.commits_read,
            lineages=lineages_of(state.walk, state.transitions, self._facts.of),
            skipped=dict(sorted(state.skipped.items())),
            messages=tuple(messages),
        )


def _places(change: Change) -> list[tuple[str, str]]:
    return [*([(change.path, change.blob)] if change.blob else []), *change.parents]


def _file_key(path: str, blob: str) -> str:
    """One blob may stand under several paths; Python's are read apart from C++'s."""
    return f"{blob}:{'py' if path.endswith('.py') else 'cpp'}"


def _directions() -> dict[str, str]:
    from kernel_lineage.kernels.mechanisms.registry import mechanisms

    return {id_: mechanism.direction for id_, mechanism in mechanisms().items()}


def _contents(path: Path) -> bytes | None:
    try:
        return None if path.is_symlink() else read_file(path, most=MAX_BLOB_BYTES)
    except OSError:
        return None


def _silent(stage: str, done: int, total: int) -> None:
    """Progress that nobody follows."""
