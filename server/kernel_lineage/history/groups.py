"""Members that belong together: a disjoint-set forest whose roots are the smallest members."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter


class Groups:
    """Groups of numbers; at first each is a group of its own."""

    def __init__(self, members: Iterable[int]) -> None:
        self._parent = {m: m for m in members}

    def of(self, member: int) -> int:
        """The smallest member of its group."""
        while (above := self._parent[member]) != member:
            self._parent[member] = self._parent[above]
            member = above
        return member

    def join(self, one: int, other: int) -> None:
        """Make two groups one."""
        a, b = self.of(one), self.of(other)
        self._parent[max(a, b)] = min(a, b)

    def roots(self) -> list[int]:
        """The groups, by their smallest members, sorted."""
        return sorted({self.of(m) for m in self._parent})

    def close(self, needs: Mapping[int, Iterable[int]]) -> None:
        """Join the groups that need each other, directly or in a ring."""
        while True:
            by_group: dict[int, set[int]] = {}
            for member in self._parent:
                others = {self.of(n) for n in needs[member]} - {self.of(member)}
                by_group.setdefault(self.of(member), set()).update(others)
            try:
                TopologicalSorter(by_group).prepare()
            except CycleError as error:
                ring: list[int] = error.args[1]
                for other in ring[1:]:
                    self.join(ring[0], other)
            else:
                return
