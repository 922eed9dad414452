"""One commit at a time: which kernel of the new files is which kernel of the old ones.

Matched in this order: same file and name; exact text (a move, a rename); the same name or a like text among what the
commit removed (a rename, a move with edits); a version of the same place that was removed earlier (it comes back); the
same name or a like text elsewhere in the tree (a copy, a split); a numbered neighbour (a variant). Then kernels of
files that did not change, but that reach what did: a device function in a header, an imported helper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from kernel_lineage.history.foreign_launches import ForeignLaunches
from kernel_lineage.history.git import Change, CommitChanges
from kernel_lineage.history.growing import GrowingWalk
from kernel_lineage.history.likeness import RENAMED_AT_LEAST, Likeness
from kernel_lineage.history.model import TransitionKind
from kernel_lineage.history.numbered_steps import NumberedSteps
from kernel_lineage.history.outline import Role
from kernel_lineage.history.reference_graph import Outlines, ReferenceGraph
from kernel_lineage.history.seen import KernelSeen
from kernel_lineage.history.tips import Tips
from kernel_lineage.history.units import Units
from kernel_lineage.history.walk import Node, Tip, Walk, node_of

_Place = Mapping[str, int]
"""Key → version, of one file in one state."""


class Matcher:
    """Continues a walk by commits."""

    def __init__(
        self, walk: Walk, tips: Tips, units: Units, outline_of: Outlines, text_of: Callable[[str], str]
    ):
        self._walk = walk
        self._tips = tips
        self._units = units
        self._outline_of = outline_of
        self._growing = GrowingWalk(walk)
        self._likeness = Likeness(walk.nodes, text_of)
        self._steps = NumberedSteps(self._growing, self._likeness, self._kernels, text_of)
        self._launches = ForeignLaunches(self._growing, units)
        self._same: dict[tuple[str, str, str], int] | None = None

    def advance(self, commit: CommitChanges) -> None:
        """Takes the next commit into the walk; its parents come before it."""
        tip, others = self._tips.take(commit.commit)
        self._walk.tip = tip
        if commit.changes:
            self._take(commit, tip, others)
        self._tips.put(commit.commit.sha, tip)

    def _take(self, commit: CommitChanges, tip: Tip, others: Sequence[Tip]) -> None:
        walk, sha = self._walk, commit.commit.sha or None
        paths = {path for c in commit.changes for path in (c.path, *(p for p, _ in c.parents))}
        graph = tip.graph = ReferenceGraph(tip.blobs, self._outline_of, tip.graph)
        readers = {reader for path in paths if path in tip.blobs for reader in graph.readers(path)}
        closures = {path: graph.closure(path) for path in readers - paths}
        before = {path: self._living(path, graph) for path in sorted(readers | paths)}
        names = self._changed_names(commit.changes, tip)
        for change in commit.changes:
            for path, _ in change.parents[:1]:
                if path != change.path or change.blob is None:
                    tip.blobs.pop(path, None)
            if change.blob is not None:
                tip.blobs[change.path] = change.blob
        graph = tip.graph = ReferenceGraph(tip.blobs, self._outline_of, graph, paths)
        for path in paths:
            tip.living.pop(path, None)
        gone: list[int] = []
        arrivals: list[Node] = []
        for change in commit.changes:
            places = [before.get(path, {}) for path, _ in change.parents[:1]]
            places += [tip_.living.get(change.path, {}) for tip_ in others]
            self._within_file(change, places, bool(others), sha, gone, arrivals)
        reading = {r for path in paths if path in tip.blobs for r in graph.readers(path)} | closures.keys()
        for path in sorted(reading - paths):
            if closures.get(path) != graph.closure(path) or self._mentions(before.get(path, {}), names):
                place = before[path] if path in before else self._living(path, graph)
                self._reread(path, place, others, sha, gone, arrivals)
        arrivals = self._moved([g for g in gone if not walk.is_alive(g)], arrivals)
        arrivals.sort(key=lambda a: (a.path, a.parts[0].first_line))
        fresh = [index for a in arrivals if (index := self._arrived(a)) is not None]
        for path in dict.fromkeys(c.path for c in commit.changes if c.blob is not None):
            self._steps.join_in_file(path, fresh, sha)
            self._steps.join_across_files(path, fresh, sha)
        for change in commit.changes:
            self._launches.take(change, sha)

    def _kernels(self, path: str) -> tuple[KernelSeen, ...]:
        graph = self._walk.tip.graph
        return self._units.kernels(path, graph) if graph is not None else ()

    def _changed_names(self, changes: Sequence[Change], tip: Tip) -> frozenset[str]:
        """The names whose definitions a commit changes; those before it are of the state before."""
        names: set[str] = set()
        for change in changes:
            old = change.parents[0][0] if change.parents else change.path
            names |= self._units.changed_names(change.path, tip.blobs.get(old), change.blob)
        return frozenset(names)

    def _mentions(self, place: _Place, names: frozenset[str]) -> bool:
        """Whether a kernel of a file refers to one of the names, directly or through what it reaches."""
        device = (
            self._units.mentions(part)
            for index in place.values()
            for part in self._walk.nodes[index].parts
            if part.role is not Role.HOST
        )
        return any(mentioned is None or not names.isdisjoint(mentioned) for mentioned in device)

    def _within_file(
        self,
        change: Change,
        before: Sequence[_Place],
        merge: bool,
        sha: str | None,
        gone: list[int],
        arrivals: list[Node],
    ) -> None:
        if change.blob is None:
            gone += [] if merge else [i for place in before for i in place.values()]
            return
        kernels = self._kernels(change.path)
        self._follow(change.path, kernels, before, sha, arrivals)
        kept = {k.key for k in kernels}
        gone += [i for place in before[:1] for key, i in place.items() if key not in kept]

    def _reread(
        self,
        path: str,
        before: _Place,
        others: Sequence[Tip],
        sha: str | None,
        gone: list[int],
        arrivals: list[Node],
    ) -> None:
        """The kernels of a file that itself is as it was, where what it reads may have changed."""
        kernels = self._kernels(path)
        places = [before, *(tip.living.get(path, {}) for tip in others)]
        self._walk.tip.living.pop(path, None)
        self._follow(path, kernels, places, sha, arrivals)
        kept = {k.key for k in kernels}
        gone += [i for key, i in before.items() if key not in kept]

    def _follow(
        self,
        path: str,
        kernels: Sequence[KernelSeen],
        before: Sequence[_Place],
        sha: str | None,
        arrivals: list[Node],
    ) -> None:
        """Each kernel of a file as the version it was, as the next one, or among the arrivals."""
        walk = self._walk
        for kernel in kernels:
            blob = walk.tip.blobs[path]
            node = node_of(kernel, path, blob, sha, self._units.language(path, blob))
            indices = [place[kernel.key] for place in before if kernel.key in place]
            indices = [i for i in indices if walk.nodes[i].language is node.language]
            if not indices:
                arrivals.append(node)
                continue
            same = [i for i in indices if walk.nodes[i].seen == kernel.digest and walk.nodes[i].path == path]
            if same:
                walk.settle(path, kernel.key, same[-1])
                continue
            moved = walk.nodes[indices[0]].path != path
            kind = TransitionKind.RENAME if moved else TransitionKind.EDIT
            note = f"moved from {walk.nodes[indices[0]].path}" if moved else ""
            self._growing.follow(indices[0], node, kind, note)

    def _living(self, path: str, graph: ReferenceGraph) -> _Place:
        """The versions of a file's kernels. At the edge of what was walked they are looked up, or made."""
        walk = self._walk
        tip = walk.tip
        if path in tip.living or tip.boundary is None or path not in tip.blobs:
            return tip.living.get(path, {})
        kernels = self._units.kernels(path, graph)
        if kernels:
            walk.boundary.add(tip.boundary)
        if self._same is None:
            self._same = {(n.path, n.key, n.seen): i for i, n in enumerate(walk.nodes)}
        for kernel in kernels:
            same = self._same.get((path, kernel.key, kernel.digest))
            if same is not None:
                walk.settle(path, kernel.key, same)
            else:
                blob = tip.blobs[path]
                node = node_of(kernel, path, blob, tip.boundary, self._units.language(path, blob))
                self._growing.add(node)
        return tip.living.get(path, {})

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
        if self._steps.in_one_group(arrival.path, {arrival.key, origin.key}):
            return self._growing.add(arrival)  # the numbers say which step it follows
        return self._growing.follow(index, arrival, TransitionKind.VARIANT, f"beside {origin.symbol}")

    def _candidates(self, arrival: Node) -> Iterable[int]:
        """Living versions that the arrival may come from: of the same name, or sharing parts of the text."""
        walk = self._walk
        named = (i for i in self._growing.named(arrival.symbol) if walk.nodes[i].language is arrival.language)
        own = walk.place(arrival.path).get(arrival.key)
        candidates = {*named, *self._likeness.sharing_text(arrival)} - {own}
        return sorted(i for i in candidates if walk.is_alive(i))
