"""Launchers in other files than their kernel's: a changed one is a new version of that kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from kernel_lineage.history.git import Change
from kernel_lineage.history.growing import GrowingWalk
from kernel_lineage.history.model import TransitionKind
from kernel_lineage.history.seen import ForeignLaunch
from kernel_lineage.history.units import Units
from kernel_lineage.kernels.source import Language

_TESTS = frozenset({"test", "tests", "benchmark", "benchmarks", "bench", "examples"})


@dataclass(frozen=True, slots=True)
class ForeignLaunches:
    """Takes changed launchers into a walk."""

    growing: GrowingWalk
    units: Units

    def take(self, change: Change, sha: str | None) -> None:
        """New versions of the kernels whose launchers a changed file holds; tests and benchmarks do not count."""
        if _TESTS & {part.lower() for part in PurePosixPath(change.path).parts}:
            return
        old_path, old_blob = change.parents[0] if change.parents else (change.path, None)
        old = self.units.launched(old_path, old_blob) if old_blob else {}
        now = self.units.launched(change.path, change.blob) if change.blob else {}
        for symbol in sorted(name for name in old.keys() | now.keys() if self.growing.named(name)):
            at, blob = (change.path, change.blob) if symbol in now else (old_path, old_blob)
            language = self.units.language(at, blob or "")
            target = self._meant(symbol, now.get(symbol) or old.get(symbol, ""), change.path, language)
            if target is None:
                continue
            before = self.units.launch(old_path, old_blob, symbol) if old_blob and symbol in old else None
            after = (
                self.units.launch(change.path, change.blob, symbol) if change.blob and symbol in now else None
            )
            if before is None or after is None or before.digest != after.digest:
                self._attach(target, change, before, after, sha)

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
        node.foreign = {change.parents[0][0]: list(before.parts), **node.foreign}
        new = replace(node, commit=sha, foreign=foreign)
        self.growing.follow(target, new, TransitionKind.EDIT, f"launched from {change.path}")

    def _meant(self, symbol: str, module: str, path: str, language: Language) -> int | None:
        """The living kernel of another file that a launch means, if that is clear."""
        walk = self.growing.walk
        indices = [
            i
            for i in sorted(self.growing.named(symbol))
            if walk.nodes[i].language is language and walk.is_alive(i)
        ]
        if any(walk.nodes[i].path == path for i in indices):
            return None  # its own
        graph = walk.tip.graph
        if len(indices) > 1 and graph is not None and path in walk.tip.blobs:
            reached = graph.closure(path)
            indices = [i for i in indices if walk.nodes[i].path in reached] or indices
        if language is Language.TRITON:
            imported = module.lstrip(".").replace(".", "/")
            indices = [
                i for i in indices if walk.nodes[i].path.removesuffix(".py").endswith(imported)
            ] or indices
        if len(indices) > 1:
            folder = PurePosixPath(path).parent
            indices = [i for i in indices if PurePosixPath(walk.nodes[i].path).parent == folder] or indices
        return indices[0] if len(indices) == 1 else None
