"""One commit at a time: which kernel of the new files is which kernel of the old ones.

Matched in this order: same file and name; exact text (a move, a rename); the same name or a like text among what the
commit removed (a rename, a move with edits); a version of the same place that was removed earlier (it comes back); the
same name or a like text elsewhere in the tree (a copy, a split); a numbered neighbour (a variant).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kernel_lineage.history.foreign_launches import ForeignLaunches
from kernel_lineage.history.git import Change, CommitChanges
from kernel_lineage.history.growing import GrowingWalk
from kernel_lineage.history.likeness import RENAMED_AT_LEAST, Likeness
from kernel_lineage.history.model import TransitionKind
from kernel_lineage.history.numbered_steps import NumberedSteps
from kernel_lineage.history.outline import language_of
from kernel_lineage.history.seen import FileSeen
from kernel_lineage.history.walk import Node, Walk, node_of
from kernel_lineage.kernels.source import Language

Reader = Callable[[str, str], FileSeen | None]
"""(path, blob) → what the blob says; None when it cannot be read."""


class Matcher:
    """Continues a walk by commits."""

    def __init__(self, walk: Walk, read: Reader, text_of: Callable[[str], str]):
        self._walk = walk
        self._read = read
        self._growing = GrowingWalk(walk)
        self._likeness = Likeness(walk.nodes, text_of)
        self._steps = NumberedSteps(self._growing, self._likeness, read, text_of)
        self._launches = ForeignLaunches(self._growing, read)

    def advance(self, commit: CommitChanges) -> None:
        """Takes the next commit into the walk; its parents come before it."""
        walk, sha = self._walk, commit.commit.sha or None
        gone: list[int] = []
        arrivals: list[Node] = []
        for change in commit.changes:
            self._within_file(change, commit, gone, arrivals)
        arrivals = self._moved([g for g in gone if not walk.is_alive(g)], arrivals)
        arrivals.sort(key=lambda a: (a.path, a.parts[0].first_line))
        fresh = [index for a in arrivals if (index := self._arrived(a)) is not None]
        for path in dict.fromkeys(c.path for c in commit.changes if c.blob is not None):
            self._steps.join_in_file(path, fresh, sha)
            self._steps.join_across_files(path, fresh, sha)
        for change in commit.changes:
            self._launches.take(change, sha)

    def _within_file(
        self, change: Change, commit: CommitChanges, gone: list[int], arrivals: list[Node]
    ) -> None:
        walk, sha = self._walk, commit.commit.sha or None
        language = language_of(change.path)
        before = [self._before(path, blob, commit, language) for path, blob in change.parents]
        for path, _ in change.parents:
            if path != change.path or change.blob is None:
                walk.alive.pop(path, None)
        if change.blob is None:
            gone += [i for place in before for i in place.values()]
            return
        walk.alive[change.path] = change.blob
        seen = self._read(change.path, change.blob)
        for kernel in seen.kernels if seen else ():
            node = node_of(kernel, change.path, change.blob, sha, language)
            known = [place[kernel.key] for place in before if kernel.key in place]
            if not known:
                arrivals.append(node)
                continue
            same = [
                i for i in known if walk.nodes[i].seen == kernel.digest and walk.nodes[i].path == change.path
            ]
            if same:
                walk.settle(change.path, change.blob, kernel.key, same[-1])
                continue
            moved = walk.nodes[known[0]].path != change.path
            kind = TransitionKind.RENAME if moved else TransitionKind.EDIT
            note = f"moved from {walk.nodes[known[0]].path}" if moved else ""
            self._growing.follow(known[0], node, kind, note)
        kept = {k.key for k in seen.kernels} if seen else set()
        gone += [i for place in before for key, i in place.items() if key not in kept]

    def _before(self, path: str, blob: str, commit: CommitChanges, language: Language) -> dict[str, int]:
        """The versions of a parent's blob. At the edge of what was walked they are made, as of the parent."""
        walk = self._walk
        place = walk.place(path, blob)
        if place:
            return place
        seen = self._read(path, blob)
        if seen is None:
            return {k: i for k, i in walk.last.get(path, {}).items() if walk.is_alive(i)}
        if seen.kernels:
            parent = commit.commit.parents[0] if commit.commit.parents else None
            if parent is not None:
                walk.boundary.add(parent)
            for kernel in seen.kernels:
                self._growing.add(node_of(kernel, path, blob, parent, language))
        return dict(walk.place(path, blob))

    def _moved(self, gone: Sequence[int], arrivals: Sequence[Node]) -> list[Node]:
        """Pairs what the commit removed with what it added, best pairs first; gives the arrivals left over."""
        scored = []
        for a, arrival in enumerate(arrivals):
            for index in dict.fromkeys(gone):
                score = self._likeness.score(self._walk.nodes[index], arrival, RENAMED_AT_LEAST)
                if score:
                    scored.append((-score, a, index))
        taken_arrivals: set[int] = set()
        taken: set[int] = set()
        for _, a, index in sorted(scored):
            if a in taken_arrivals or index in taken:
                continue
            taken_arrivals.add(a)
            taken.add(index)
            arrival, old = arrivals[a], self._walk.nodes[index]
            what = [f"renamed from {old.symbol}"] if old.symbol != arrival.symbol else []
            what += [f"moved from {old.path}"] if old.path != arrival.path else []
            self._growing.follow(index, arrival, TransitionKind.RENAME, ", ".join(what))
        return [a for i, a in enumerate(arrivals) if i not in taken_arrivals]

    def _arrived(self, arrival: Node) -> int | None:
        """A kernel that nothing in this commit made room for: it comes back, or its new version is given."""
        walk = self._walk
        back = walk.last.get(arrival.path, {}).get(arrival.key)
        if back is not None and self._likeness.score(walk.nodes[back], arrival):
            self._growing.follow(back, arrival, TransitionKind.EDIT, "back after it was removed")
            return None
        scored = ((self._likeness.score(walk.nodes[i], arrival), i) for i in self._candidates(arrival))
        score, index = max(scored, default=(0.0, -1))
        if score <= 0:
            return self._growing.add(arrival)
        origin = walk.nodes[index]
        if origin.path != arrival.path:
            note = f"copied from {origin.symbol} in {origin.path}"
            return self._growing.follow(index, arrival, TransitionKind.RENAME, note)
        if self._steps.in_one_group(arrival.path, arrival.blob, {arrival.key, origin.key}):
            return self._growing.add(arrival)  # the numbers say which step it follows
        return self._growing.follow(index, arrival, TransitionKind.VARIANT, f"beside {origin.symbol}")

    def _candidates(self, arrival: Node) -> Iterable[int]:
        """Living versions that the arrival may come from: of the same name, or sharing parts of the text."""
        walk = self._walk
        named = (i for i in self._growing.named(arrival.symbol) if walk.nodes[i].language is arrival.language)
        own = walk.place(arrival.path, arrival.blob).get(arrival.key)
        found = {*named, *self._likeness.sharing_text(arrival)} - {own}
        return sorted(i for i in found if walk.is_alive(i))
