"""A walk while it grows: versions are added, followed and joined, and found again by their name."""

from __future__ import annotations

from collections.abc import Set

from kernel_lineage.history.model import TransitionKind
from kernel_lineage.history.walk import Edge, Node, Walk


class GrowingWalk:
    """A walk, with what is asked of it often."""

    def __init__(self, walk: Walk):
        self.walk = walk
        self._by_symbol: dict[str, set[int]] = {}
        self._following: dict[int, list[Edge]] = {}
        self._followed: set[int] = set()
        for edge in walk.edges:
            self._keep(edge)
        for index in range(len(walk.nodes)):
            self._index(index)

    def named(self, symbol: str) -> Set[int]:
        """All versions of kernels of a name."""
        return self._by_symbol.get(symbol, set())

    def follows_something(self, index: int) -> bool:
        """Whether a version has one before it."""
        return index in self._followed

    def add(self, node: Node) -> int:
        """Add a version that follows nothing yet."""
        index = self.walk.add(node)
        self._index(index)
        return index

    def follow(self, before: int, node: Node, kind: TransitionKind, note: str) -> int:
        """Add a version after another; the one that is there already, where it is the same version."""
        old = self.walk.nodes[before]
        if not node.foreign and node.path == old.path:
            node.foreign = dict(old.foreign)
        twin = self._twin(before, node)
        if twin is not None:
            self.walk.settle(node.path, node.key, twin)
            return twin
        index = self.add(node)
        self.join(before, index, kind, note, node.commit)
        return index

    def join(self, before: int, after: int, kind: TransitionKind, note: str, sha: str | None) -> None:
        """Say that one version follows another, once."""
        if before == after or any(e.after == after for e in self._following.get(before, ())):
            return
        edge = Edge(before, after, kind, note, sha)
        self.walk.edges.append(edge)
        self._keep(edge)

    def _twin(self, before: int, node: Node) -> int | None:
        """The same change made on another branch (a cherry-pick, a rebase) is the same version."""
        for edge in self._following.get(before, ()):
            other = self.walk.nodes[edge.after]
            if (other.path, other.key, other.seen, other.foreign) == (
                node.path,
                node.key,
                node.seen,
                node.foreign,
            ):
                return edge.after
        return None

    def _keep(self, edge: Edge) -> None:
        self._following.setdefault(edge.before, []).append(edge)
        self._followed.add(edge.after)

    def _index(self, index: int) -> None:
        self._by_symbol.setdefault(self.walk.nodes[index].symbol, set()).add(index)
