"""The two states of a step in a private place: what their commits held, and nothing that came after."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from kernel_gate.files.temporary import TemporaryFolder
from kernel_lineage.history.git import Repository
from kernel_lineage.history.model import Version
from kernel_lineage.history.trees import Tree, write_state
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.learning.replay.kept_drafts import KeptDrafts
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.of_state import NoDraft, State, draft_for


@dataclass(frozen=True, slots=True)
class StateOf:
    """The state of the repository in which a version appeared."""

    version: Version
    tree: Tree
    state: State
    kept: KeptDrafts | None = None
    """Where drafts of it may be known; None for a state that was changed."""

    @property
    def root(self) -> Path:
        """Where the state's files are."""
        return self.tree.root

    @property
    def file(self) -> Path:
        """Where the version's file is."""
        return self.tree.root / self.version.path

    @property
    def name(self) -> str:
        """`dev/layernorm.cu of 1a2b3c4d5e6f`."""
        return f"{self.version.path} of {self.tree.name}"

    def kernel(self) -> Kernel:
        """The version's kernel. Raises `ProgramError`."""
        return self.state.kernel(self.version.path, self.version.symbol)

    def draft(self, *, measure: bool = False) -> Draft | NoDraft:
        """What the state tells of how the kernel is run; with `measure`, the rest is seen by running it.

        Without, a draft whose sizes would have to be chosen is none.
        """
        entry = self.kept.of(self.version, measured=measure) if self.kept is not None else None
        if entry is None:
            draft = draft_for(self.state, self.version.path, self.version.symbol, measure=measure)
            # One that names the private folder is of no use where there is another.
            if self.kept is not None and f"{self.root}/" not in repr(draft):
                self.kept.keep(self.version, self.name, draft, measured=measure)
        else:
            _, draft = entry
        return draft if measure else with_told_sizes(draft)


def with_told_sizes(draft: Draft | NoDraft) -> Draft | NoDraft:
    """A draft, unless sizes in it would have to be chosen."""
    if isinstance(draft, Draft) and draft.chosen:
        return NoDraft((f"sizes for {', '.join(draft.chosen)}",), draft)
    return draft


@contextmanager
def state_of(repository: Repository, version: Version, kept: KeptDrafts | None = None) -> Iterator[StateOf]:
    """The state of one version; its folder is gone when the block ends."""
    with TemporaryFolder("state") as folder:
        tree = write_state(repository, version.commit, Path(folder) / "tree")
        yield StateOf(version, tree, State(tree.root), kept)


@contextmanager
def states_of(
    repository: Repository, before: Version, after: Version, kept: KeptDrafts | None = None
) -> Iterator[tuple[StateOf, StateOf]]:
    """The states before and after: two folders, or one for variants that stand in one tree."""
    with state_of(repository, before, kept) as earlier:
        if before.commit == after.commit:
            yield earlier, replace(earlier, version=after)
            return
        with state_of(repository, after, kept) as later:
            yield earlier, later
