"""One commit at a time: which kernel of the new files is which kernel of the old ones.

Matched in this order: same file and name; exact text (a move, a rename); the same name or a like text among what the
commit removed (a rename, a move with edits); a version of the same place that was removed earlier (it comes back); the
same name or a like text elsewhere in the tree (a copy, a split); a numbered neighbour (a variant).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePosixPath

from kernel_lineage.history.git import Change, CommitChanges
from kernel_lineage.history.model import TransitionKind
from kernel_lineage.history.naming import alike
from kernel_lineage.history.outline import language_of
from kernel_lineage.history.seen import FileSeen, ForeignLaunch, KernelSeen
from kernel_lineage.history.similarity import Similarity
from kernel_lineage.history.variants import Step, file_step, parameter_names, same_task, steps_in_file
from kernel_lineage.history.walk import Edge, Node, Walk, node_of
from kernel_lineage.kernels.source import Language

SAME_NAME_AT_LEAST = 0.35
"""A kernel of the same name elsewhere is taken as the same lineage from this similarity on."""
LIKE_TEXT_AT_LEAST = 0.6
"""A kernel whose name has the same words, or some more, is a rename, copy or split from this on."""
ANY_NAME_AT_LEAST = 0.85
"""The same whatever the names are: short kernels have much text in common without being related."""
RENAMED_AT_LEAST = 0.7
"""The same when the commit removed the one and added the other."""
NEXT_STEP_AT_LEAST = 0.2
"""Of two kernels in neighbouring steps: a step may rewrite most of a kernel."""
_TESTS = frozenset({"test", "tests", "benchmark", "benchmarks", "bench", "examples"})

Reader = Callable[[str, str], FileSeen | None]
"""(path, blob) → what the blob says; None when it cannot be read."""


@dataclass(frozen=True, slots=True)
class _Arrival:
    """A kernel that was not in its file before."""

    path: str
    blob: str
    kernel: KernelSeen
    language: Language


class Matcher:
    """Continues a walk by commits. Holds the index of known texts that finding copies needs."""

    def __init__(self, walk: Walk, read: Reader, text_of: Callable[[str], str]):
        self._walk = walk
        self._read = read
        self._text_of = text_of
        self._similarity = Similarity(text_of)
        self._by_symbol: dict[str, set[int]] = {}
        self._by_sketch: dict[int, set[int]] = {}
        self._following: dict[int, list[Edge]] = {}
        for edge in walk.edges:
            self._following.setdefault(edge.before, []).append(edge)
        self._sketched = 0
        self._fresh: list[int] = []
        for index in range(len(walk.nodes)):
            self._index(index)

    def advance(self, commit: CommitChanges) -> None:
        """Takes the next commit into the walk; its parents come before it."""
        walk, sha = self._walk, commit.commit.sha or None
        self._fresh = []
        gone: list[int] = []
        arrivals: list[_Arrival] = []
        for change in commit.changes:
            self._within_file(change, commit, gone, arrivals)
        gone = [g for g in gone if not walk.is_alive(g)]
        arrivals = self._moved(gone, arrivals, sha)
        for arrival in sorted(arrivals, key=lambda a: (a.path, a.kernel.parts[0].first_line)):
            self._arrived(arrival, sha)
        for path in dict.fromkeys(c.path for c in commit.changes if c.blob is not None):
            self._variants_in_file(path, sha)
            self._variants_across_files(path, sha)
        for change in commit.changes:
            self._foreign(change, sha)

    def _within_file(
        self, change: Change, commit: CommitChanges, gone: list[int], arrivals: list[_Arrival]
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
            known = [place[kernel.key] for place in before if kernel.key in place]
            if not known:
                arrivals.append(_Arrival(change.path, change.blob, kernel, language))
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
            self._follow(known[0], node_of(kernel, change.path, change.blob, sha, language), kind, note)
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
                self._index(walk.add(node_of(kernel, path, blob, parent, language)))
        return dict(walk.place(path, blob))

    def _moved(self, gone: Sequence[int], arrivals: list[_Arrival], sha: str | None) -> list[_Arrival]:
        """Pairs what the commit removed with what it added, best pairs first; gives the arrivals left over."""
        scored = []
        for a, arrival in enumerate(arrivals):
            for index in dict.fromkeys(gone):
                score = self._score(index, arrival, RENAMED_AT_LEAST)
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
            what = [f"renamed from {old.symbol}"] if old.symbol != arrival.kernel.symbol else []
            what += [f"moved from {old.path}"] if old.path != arrival.path else []
            self._follow(index, self._node(arrival, sha), TransitionKind.RENAME, ", ".join(what))
        return [a for i, a in enumerate(arrivals) if i not in taken_arrivals]

    def _arrived(self, arrival: _Arrival, sha: str | None) -> None:
        """A kernel that nothing in this commit made room for: it comes back, is copied or split off, or is new."""
        walk = self._walk
        back = walk.last.get(arrival.path, {}).get(arrival.kernel.key)
        if back is not None and walk.nodes[back].language is arrival.language and self._score(back, arrival):
            self._follow(back, self._node(arrival, sha), TransitionKind.EDIT, "back after it was removed")
            return
        best = max(
            ((self._score(i, arrival), i) for i in self._candidates(arrival)),
            default=(0.0, -1),
            key=lambda c: (c[0], c[1]),
        )
        if best[0] <= 0:
            self._fresh.append(self._add(self._node(arrival, sha)))
            return
        origin = walk.nodes[best[1]]
        beside = origin.path == arrival.path
        kind = TransitionKind.VARIANT if beside else TransitionKind.RENAME
        what = f"beside {origin.symbol}" if beside else f"copied from {origin.symbol} in {origin.path}"
        numbered = beside and self._in_one_group(arrival, origin.key)
        if numbered:  # the numbers say which step it follows
            self._fresh.append(self._add(self._node(arrival, sha)))
        else:
            self._fresh.append(self._follow(best[1], self._node(arrival, sha), kind, what))

    def _candidates(self, arrival: _Arrival) -> Iterable[int]:
        """Living versions that the arrival may come from: of the same name, or sharing parts of the text."""
        walk, python = self._walk, arrival.language is Language.TRITON
        found = {
            i
            for i in self._by_symbol.get(arrival.kernel.symbol, ())
            if walk.nodes[i].language is arrival.language
        }
        for index in range(self._sketched, len(walk.nodes)):
            node = walk.nodes[index]
            for shingle in self._similarity.sketch(node.body, node.language is Language.TRITON):
                self._by_sketch.setdefault(shingle, set()).add(index)
        self._sketched = len(walk.nodes)
        hits: dict[int, int] = {}
        for shingle in self._similarity.sketch(arrival.kernel.body, python):
            for index in self._by_sketch.get(shingle, ()):
                hits[index] = hits.get(index, 0) + 1
        alike = sorted(hits, key=lambda i: (-hits[i], -i))
        found.update([i for i in alike if hits[i] >= 2 and walk.nodes[i].language is arrival.language][:12])
        own = self._same_place(arrival)
        return sorted(i for i in found if i not in own and (walk.is_alive(i)))

    def _same_place(self, arrival: _Arrival) -> set[int]:
        index = self._walk.place(arrival.path, arrival.blob).get(arrival.kernel.key)
        return set() if index is None else {index}

    def _score(self, index: int, arrival: _Arrival, any_name: float = ANY_NAME_AT_LEAST) -> float:
        """How surely a version and an arrival are one kernel; 0 when they are not."""
        node = self._walk.nodes[index]
        if node.language is not arrival.language:
            return 0.0
        ratio = self._similarity.ratio(node.body, arrival.kernel.body, arrival.language is Language.TRITON)
        if node.symbol == arrival.kernel.symbol:
            return ratio + 1 if ratio >= SAME_NAME_AT_LEAST else 0.0
        like_names = alike(node.symbol, arrival.kernel.symbol)
        return (
            ratio
            if like_names is not None and ratio >= (LIKE_TEXT_AT_LEAST if like_names else any_name)
            else 0.0
        )

    def _in_one_group(self, arrival: _Arrival, key: str) -> bool:
        seen = self._read(arrival.path, arrival.blob)
        groups = steps_in_file(seen, self._text_of) if seen else []
        return any(
            {arrival.kernel.key, key} <= {k for step in steps for k in step.kernels} for steps in groups
        )

    def _variants_in_file(self, path: str, sha: str | None) -> None:
        walk = self._walk
        blob = walk.alive.get(path)
        seen = self._read(path, blob) if blob else None
        fresh = {walk.nodes[i].key for i in self._fresh if walk.nodes[i].path == path}
        if seen is None or blob is None or not fresh:
            return
        place = walk.place(path, blob)
        for steps in steps_in_file(seen, self._text_of):
            for earlier, later in pairwise(steps):
                if fresh & {*earlier.kernels, *later.kernels}:
                    self._join_steps(earlier, later, place, sha)

    def _join_steps(self, earlier: Step, later: Step, place: dict[str, int], sha: str | None) -> None:
        before = [place[k] for k in earlier.kernels if k in place]
        after = [place[k] for k in later.kernels if k in place]
        followed: set[int] = set()
        for index in after:
            best = self._closest(index, before) if before else None
            if best is None or not self._can_follow(best, index):
                continue
            followed.add(best)
            self._edge(best, index, TransitionKind.VARIANT, f"step {earlier.number} → {later.number}", sha)
        for index in before:
            best = self._closest(index, after) if after else None
            if index not in followed and best is not None and self._can_follow(index, best):
                self._edge(
                    index, best, TransitionKind.VARIANT, f"step {earlier.number} → {later.number}", sha
                )

    def _can_follow(self, before: int, after: int) -> bool:
        """Kernels of neighbouring steps with hardly anything in common are helpers of different steps."""
        one, other = self._walk.nodes[before], self._walk.nodes[after]
        ratio = self._similarity.ratio(one.body, other.body, one.language is Language.TRITON)
        return ratio >= NEXT_STEP_AT_LEAST or same_task(
            parameter_names(self._text_of(one.body), one.symbol),
            parameter_names(self._text_of(other.body), other.symbol),
        )

    def _closest(self, index: int, among: Sequence[int]) -> int:
        nodes = self._walk.nodes
        python = nodes[index].language is Language.TRITON
        return max(
            among, key=lambda i: (self._similarity.ratio(nodes[i].body, nodes[index].body, python), -i)
        )

    def _variants_across_files(self, path: str, sha: str | None) -> None:
        """One file per step: links a new file's kernels to those of the file numbered next below, or next above."""
        walk = self._walk
        own = file_step(path)
        fresh = [i for i in self._fresh if walk.nodes[i].path == path]
        if own is None or not fresh:
            return
        folder = str(PurePosixPath(path).parent)
        numbered = [
            (step[1], p)
            for p in sorted(walk.alive)
            if p != path
            and str(PurePosixPath(p).parent) == folder
            and (step := file_step(p))
            and step[0] == own[0]
        ]
        below = sorted((s for s in numbered if s[0] < own[1]), reverse=True)
        above = sorted(s for s in numbered if s[0] > own[1])
        for index in fresh:
            for neighbours, forwards in ((below, True), (above, False)):
                other = next((i for s in neighbours for i in self._same_tasks(index, s[1])), None)
                if other is None or (not forwards and any(e.after == index for e in walk.edges)):
                    continue
                first, second = (other, index) if forwards else (index, other)
                names = (PurePosixPath(walk.nodes[i].path).name for i in (first, second))
                self._edge(first, second, TransitionKind.VARIANT, " → ".join(names), sha)

    def _same_tasks(self, index: int, path: str) -> list[int]:
        walk = self._walk
        node = walk.nodes[index]
        names = parameter_names(self._text_of(node.body), node.symbol)
        others = walk.place(path, walk.alive[path]).values()
        alike = [
            i
            for i in others
            if walk.nodes[i].language is node.language
            and (
                walk.nodes[i].symbol == node.symbol
                or same_task(names, parameter_names(self._text_of(walk.nodes[i].body), walk.nodes[i].symbol))
            )
        ]
        return [self._closest(index, alike)] if alike else []

    def _foreign(self, change: Change, sha: str | None) -> None:
        """A changed launcher in another file than its kernel's is a new version of that kernel."""
        if _TESTS & {part.lower() for part in PurePosixPath(change.path).parts}:
            return
        old = {f.symbol: f for path, blob in change.parents for f in self._launches(path, blob)}
        now = {f.symbol: f for f in self._launches(change.path, change.blob)}
        for symbol in sorted(old.keys() | now.keys()):
            before, after = old.get(symbol), now.get(symbol)
            if before is not None and after is not None and before.digest == after.digest:
                continue
            target = self._resolve((after or before), change.path)  # type: ignore[arg-type]
            if target is None:
                continue
            self._attach(target, change, before, after, sha)

    def _launches(self, path: str, blob: str | None) -> tuple[ForeignLaunch, ...]:
        seen = self._read(path, blob) if blob else None
        return seen.foreign if seen else ()

    def _attach(
        self,
        target: int,
        change: Change,
        before: ForeignLaunch | None,
        after: ForeignLaunch | None,
        sha: str | None,
    ) -> None:
        walk = self._walk
        node = walk.nodes[target]
        foreign = {f: ps for f, ps in node.foreign.items() if f not in {p for p, _ in change.parents}}
        if after is not None:
            foreign[change.path] = list(after.parts)
        if before is None or after is None or node.commit == sha:
            node.foreign = foreign
            return
        if (
            change.parents[0][0] not in node.foreign
        ):  # first heard of now: the version before had the old launcher
            node.foreign[change.parents[0][0]] = list(before.parts)
        new = Node(
            node.path,
            node.key,
            node.symbol,
            sha,
            node.blob,
            node.language,
            node.seen,
            node.parts,
            node.comment,
            foreign,
        )
        self._follow(target, new, TransitionKind.EDIT, f"launched from {change.path}")

    def _resolve(self, launch: ForeignLaunch, path: str) -> int | None:
        """The living kernel that a launch in another file means, if that is clear."""
        walk, language = self._walk, language_of(path)
        found = [
            i
            for i in self._by_symbol.get(launch.symbol, ())
            if walk.nodes[i].language is language and walk.is_alive(i)
        ]
        if language is Language.TRITON:
            module = launch.module.lstrip(".").replace(".", "/")
            exact = [i for i in found if walk.nodes[i].path.removesuffix(".py").endswith(module)]
            found = exact or found
        if len(found) > 1:
            folder = PurePosixPath(path).parent
            found = [i for i in found if PurePosixPath(walk.nodes[i].path).parent == folder] or found
        return found[0] if len(found) == 1 else None

    def _node(self, arrival: _Arrival, sha: str | None) -> Node:
        return node_of(arrival.kernel, arrival.path, arrival.blob, sha, arrival.language)

    def _follow(self, before: int, node: Node, kind: TransitionKind, note: str) -> int:
        old = self._walk.nodes[before]
        if not node.foreign and node.path == old.path:
            node.foreign = dict(old.foreign)
        twin = self._twin(before, node)
        if twin is not None:
            self._walk.settle(node.path, node.blob, node.key, twin)
            return twin
        index = self._add(node)
        self._edge(before, index, kind, note, node.commit)
        return index

    def _twin(self, before: int, node: Node) -> int | None:
        """The same change made on another branch (a cherry-pick, a rebase) is the same version."""
        for edge in self._following.get(before, ()):
            other = self._walk.nodes[edge.after]
            if (other.path, other.key, other.seen, other.foreign) == (
                node.path,
                node.key,
                node.seen,
                node.foreign,
            ):
                return edge.after
        return None

    def _add(self, node: Node) -> int:
        index = self._walk.add(node)
        self._index(index)
        return index

    def _index(self, index: int) -> None:
        self._by_symbol.setdefault(self._walk.nodes[index].symbol, set()).add(index)

    def _edge(self, before: int, after: int, kind: TransitionKind, note: str, sha: str | None) -> None:
        if before == after or any(e.after == after for e in self._following.get(before, ())):
            return
        edge = Edge(before, after, kind, note, sha)
        self._walk.edges.append(edge)
        self._following.setdefault(before, []).append(edge)
