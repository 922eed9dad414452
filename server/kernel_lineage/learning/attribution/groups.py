"""Members that belong together: a disjoint-set forest whose roots are the smallest members."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


class Groups:
    """Groups of numbers; at first each is a group of its own."""

    def __init__(self, members: Iterable[int]) -> None:
        self._parent = {m: m for m in members}

    def of(self, member: int) -> int:
        """The smallest member of its group."""
        while self._parent[member] != member:
            member = self._parent[member]
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
        while ring := self._ring(
            {self.of(m): {self.of(n) for k in self._with(m) for n in needs[k]} for m in self.roots()}
        ):
            for other in ring[1:]:
                self.join(ring[0], other)

    def _with(self, root: int) -> list[int]:
        return [m for m in self._parent if self.of(m) == root]

    @staticmethod
    def _ring(needs: Mapping[int, set[int]]) -> list[int]:
        """Groups that need each other; [] when there are none."""
        done: set[int] = set()

        def visit(group: int, path: list[int]) -> list[int]:
            if group in path:
                return path[path.index(group) :]
            if group in done:
                return []
            for other in sorted(needs[group] - {group}):
                if ring := visit(other, [*path, group]):
                    return ring
            done.add(group)
            return []

        for group in sorted(needs):
            if ring := visit(group, []):
                return ring
        return []
