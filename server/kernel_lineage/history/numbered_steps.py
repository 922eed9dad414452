"""Joins numbered variants: a new kernel to the steps beside it, in its file or one file per step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePosixPath

from kernel_lineage.history.growing import GrowingWalk
from kernel_lineage.history.likeness import Likeness
from kernel_lineage.history.model import TransitionKind
from kernel_lineage.history.seen import KernelSeen
from kernel_lineage.history.variants import Step, file_step, steps_in_file


@dataclass(frozen=True, slots=True)
class NumberedSteps:
    """Joins the new versions of one commit to their neighbours by number."""

    growing: GrowingWalk
    likeness: Likeness
    kernels_in: Callable[[str], Sequence[KernelSeen]]
    """The kernels of a file as it is now."""
    text_of: Callable[[str], str]

    def in_one_group(self, path: str, keys: Collection[str]) -> bool:
        """Whether kernels of one file are numbered steps of one task."""
        return any(set(keys) <= {k for step in steps for k in step.kernels} for steps in self._groups(path))

    def join_in_file(self, path: str, fresh: Iterable[int], sha: str | None) -> None:
        """Link the fresh versions of a file to the steps before and after them."""
        walk = self.growing.walk
        new = {walk.nodes[i].key for i in fresh if walk.nodes[i].path == path}
        if not new:
            return
        place = walk.place(path)
        for steps in self._groups(path):
            for earlier, later in pairwise(steps):
                if new & {*earlier.kernels, *later.kernels}:
                    self._join(earlier, later, place, sha)

    def join_across_files(self, path: str, fresh: Iterable[int], sha: str | None) -> None:
        """One file per step: link a new file's kernels to those of the file numbered next below, or next above."""
        walk = self.growing.walk
        own = file_step(path)
        new = [i for i in fresh if walk.nodes[i].path == path]
        if own is None or not new:
            return
        folder = PurePosixPath(path).parent
        numbered = [
            (step[1], p)
            for p in sorted(walk.tip.blobs)
            if p != path
            and PurePosixPath(p).parent == folder
            and (step := file_step(p))
            and step[0] == own[0]
        ]
        below = sorted((s for s in numbered if s[0] < own[1]), reverse=True)
        above = sorted(s for s in numbered if s[0] > own[1])
        for index in new:
            for neighbours, forwards in ((below, True), (above, False)):
                other = next((i for _, p in neighbours for i in self._of_same_task(index, p)), None)
                if other is None or (not forwards and self.growing.follows_something(index)):
                    continue
                first, second = (other, index) if forwards else (index, other)
                names = (PurePosixPath(walk.nodes[i].path).name for i in (first, second))
                self.growing.join(first, second, TransitionKind.VARIANT, " → ".join(names), sha)

    def _groups(self, path: str) -> Sequence[tuple[Step, ...]]:
        return steps_in_file(self.kernels_in(path), self.text_of)

    def _join(self, earlier: Step, later: Step, place: Mapping[str, int], sha: str | None) -> None:
        before = [place[k] for k in earlier.kernels if k in place]
        after = [place[k] for k in later.kernels if k in place]
        if not before or not after:
            return
        note = f"step {earlier.number} → {later.number}"
        followed: set[int] = set()
        for index in after:
            best = self.likeness.closest(index, before)
            if self.likeness.can_follow(best, index):
                followed.add(best)
                self.growing.join(best, index, TransitionKind.VARIANT, note, sha)
        for index in before:
            best = self.likeness.closest(index, after)
            if index not in followed and self.likeness.can_follow(index, best):
                self.growing.join(index, best, TransitionKind.VARIANT, note, sha)

    def _of_same_task(self, index: int, path: str) -> list[int]:
        """The kernel of another file that computes the same, if there is one."""
        walk = self.growing.walk
        node = walk.nodes[index]
        like = [
            i
            for i in walk.place(path).values()
            if walk.nodes[i].language is node.language
            and (walk.nodes[i].symbol == node.symbol or self.likeness.same_task(node, walk.nodes[i]))
        ]
        return [self.likeness.closest(index, like)] if like else []
