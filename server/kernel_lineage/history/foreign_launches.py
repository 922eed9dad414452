"""Launchers in other files than their kernel's: a changed one is a new version of that kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from kernel_lineage.history.git import Change
from kernel_lineage.history.growing import GrowingWalk
from kernel_lineage.history.model import TransitionKind
from kernel_lineage.history.outline import language_of
from kernel_lineage.history.seen import FileSeen, ForeignLaunch
from kernel_lineage.kernels.source import Language

_TESTS = frozenset({"test", "tests", "benchmark", "benchmarks", "bench", "examples"})


@dataclass(frozen=True, slots=True)
class ForeignLaunches:
    """Takes changed launchers into a walk."""

    growing: GrowingWalk
    read: Callable[[str, str], FileSeen | None]

    def take(self, change: Change, sha: str | None) -> None:
        """New versions of the kernels whose launchers a changed file holds; tests and benchmarks do not count."""
        if _TESTS & {part.lower() for part in PurePosixPath(change.path).parts}:
            return
        old = {f.symbol: f for path, blob in change.parents for f in self._launches(path, blob)}
        now = {f.symbol: f for f in self._launches(change.path, change.blob)}
        for symbol in sorted(old.keys() | now.keys()):
            before, after = old.get(symbol), now.get(symbol)
            if before is not None and after is not None and before.digest == after.digest:
                continue
            target = self._meant(symbol, (after or old[symbol]).module, change.path)
            if target is not None:
                self._attach(target, change, before, after, sha)

    def _launches(self, path: str, blob: str | None) -> tuple[ForeignLaunch, ...]:
        seen = self.read(path, blob) if blob else None
        return seen.foreign if seen else ()

    def _attach(
        self,
        target: int,
        change: Change,
        before: ForeignLaunch | None,
        after: ForeignLaunch | None,
        sha: str | None,
    ) -> None:
        node = self.growing.walk.nodes[target]
        foreign = {f: ps for f, ps in node.foreign.items() if f not in {p for p, _ in change.parents}}
        if after is not None:
            foreign[change.path] = list(after.parts)
        if before is None or after is None or node.commit == sha:
            node.foreign = foreign
            return
        # First heard of now: the version before had the old launcher.
        node.foreign.setdefault(change.parents[0][0], list(before.parts))
        new = replace(node, commit=sha, foreign=foreign)
        self.growing.follow(target, new, TransitionKind.EDIT, f"launched from {change.path}")

    def _meant(self, symbol: str, module: str, path: str) -> int | None:
        """The living kernel that a launch in another file means, if that is clear."""
        walk, language = self.growing.walk, language_of(path)
        found = [
            i for i in self.growing.named(symbol) if walk.nodes[i].language is language and walk.is_alive(i)
        ]
        if language is Language.TRITON:
            imported = module.lstrip(".").replace(".", "/")
            exact = [i for i in found if walk.nodes[i].path.removesuffix(".py").endswith(imported)]
            found = exact or found
        if len(found) > 1:
            folder = PurePosixPath(path).parent
            found = [i for i in found if PurePosixPath(walk.nodes[i].path).parent == folder] or found
        return found[0] if len(found) == 1 else None
