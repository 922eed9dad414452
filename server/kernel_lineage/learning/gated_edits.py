"""Edits of a file before they are made: each kernel that one changes through the gate, and what the gate said, kept.

What is kept is by what a kernel was and what it becomes, comments, layout and the rest of the file aside: a verdict
stays good while the same edit is made in another form, and is of no use for any other. It is signed with this user's
key, so that only a gate of this user can have written it.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from kernel_gate.files.temporary import TemporaryFolder
from kernel_gate.options import GateOptions
from kernel_gate.reporting.named import NamedVerdict
from kernel_gate.standing import Standing
from kernel_gate.verdict import Verdict
from kernel_gate.workload import Workload
from kernel_lineage.cache_file import open_cache_file
from kernel_lineage.cache_folder import kept_in
from kernel_lineage.history.git import RepositoryError, open_repository
from kernel_lineage.history.trees import Tree, edited_trees, write_state
from kernel_lineage.kernels.reading import kernels_of
from kernel_lineage.learning.changed_kernels import (
    ChangedKernel,
    changed_kernels,
    changes_between,
    essence,
)
from kernel_lineage.learning.gate_changes import Judge, KernelVerdict, gate_pairs
from kernel_lineage.rewrite.signed_rows import SignedRows, secret_file, secret_in
from kernel_lineage.workloads.launched_beside import launched_beside

VERSION = 1
_MOST = 2000
_TABLE = "gated_edits"


class GatedEdit(BaseModel, frozen=True):
    """What a gate said of one kernel's change."""

    kernel: str
    standing: Literal["rejected", "lacking", "not-judged", "undecided", "right", "accepted"]
    reason: str
    inputs_hash: str


class GateEditDocument(BaseModel):
    """What `klineage gate FILE --text CANDIDATE --json` prints."""

    version: int = VERSION
    file: str
    """Relative to the repository."""
    source_sha256: str
    """The hash of the text that was there: an edit is for exactly this text."""
    verdicts: list[KernelVerdict]
    """One for each kernel that the edit changes; none when it changes none."""
    conditions: dict[str, list[str]]
    """By kernel: what its verdict holds under and nothing establishes."""
    written: bool
    reason: str
    """Why FILE was written, or was not."""


class EditGate:
    """The edits of one repository, or of a folder that is in none."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @contextmanager
    def changed(self, path: str, text: bytes) -> Iterator[tuple[tuple[ChangedKernel, ...], Tree]]:
        """The kernels that a new text of a file would change, and the tree with it; both are good within the block.

        One that comes into the file, or goes from it, is the last step of a change that earlier edits began: it is
        compared with what was committed.
        """
        with edited_trees(self.root, {path: text}) as (before, after):
            changed = changed_kernels(before, after)
            came, went = (
                _names(one, path) - _names(other, path) for one, other in ((after, before), (before, after))
            )
            if came or went:
                with self.committed() as head:
                    since = changes_between(head, after).changed if head is not None else ()
                there = {(pair.after.path, pair.after.kernel.name) for pair in changed}
                changed += tuple(
                    pair
                    for pair in since
                    if (pair.after.path, pair.after.kernel.name) not in there
                    and (
                        (pair.after.path == path and pair.after.kernel.name in came)
                        or (pair.before.path == path and pair.before.kernel.name in went)
                    )
                )
            yield changed, after

    def judged(
        self,
        changed: Sequence[ChangedKernel],
        judge: Judge,
        device: Literal["auto", "cuda", "emulated"],
        options: GateOptions,
        on_draft: Callable[[int, int], None] | None = None,
    ) -> Iterator[tuple[NamedVerdict, list[str]]]:
        """Each change's verdict, which is kept, and the conditions of it that nothing establishes.

        `on_draft` is told how many mutants of how many a drafted workload has been tried on.
        """
        # Heavy: what drafts workloads and proves. A hook that only asks what is known needs none of it.
        from kernel_lineage.rewrite.proving.both import proving
        from kernel_lineage.workloads.on_the_spot import SpotWorkload, workload_on_the_spot

        open_: dict[str, list[str]] = {}

        def workload_of(pair: ChangedKernel) -> SpotWorkload:
            return workload_on_the_spot(pair.before.file, pair.former, "emulated", on_draft)

        def keep(pair: ChangedKernel, verdict: Verdict, workload: Workload | None) -> None:
            open_[pair.name] = self.keep(pair, verdict, workload)

        for one in gate_pairs(
            changed, proving(judge), workload_of, top=self.root, device=device, options=options, keep=keep
        ):
            yield one, open_[one.kernel]

    def keep(self, pair: ChangedKernel, verdict: Verdict, workload: Workload | None) -> list[str]:
        """Keep what the gate said; the conditions of it that the workload does not establish.

        A verdict that was taken from an earlier one is not kept again. Where nothing can be written nothing is kept,
        and what asks for it later asks for a gate.
        """
        from kernel_lineage.rewrite.apply import open_conditions
        from kernel_lineage.rewrite.situation import workload_facts

        needs: list[str] = []
        if workload is not None:
            needs = open_conditions(verdict, workload_facts(workload, "the workload"))
        standing, reason = verdict.standing, verdict.reason
        if standing is Standing.ACCEPTED and needs:
            standing, reason = (
                Standing.UNDECIDED,
                f"accepted only if {' and '.join(needs)}, which nothing establishes",
            )
        record = GatedEdit(
            kernel=pair.after.kernel.name,
            standing=standing.value,
            reason=reason,
            inputs_hash=verdict.inputs_hash,
        )
        if not verdict.environment.get("reused"):
            with suppress(OSError, sqlite3.Error), _rows(self.root) as rows:
                rows.put(record, fingerprint(pair))
        return needs

    def record_of(self, pair: ChangedKernel) -> GatedEdit | None:
        """What a gate of this user has said of exactly this change."""
        try:
            with _rows(self.root) as rows:
                return rows.get(GatedEdit, fingerprint(pair))
        except (OSError, sqlite3.Error):  # nothing can be read: as good as nothing kept
            return None

    @contextmanager
    def committed(self) -> Iterator[Tree | None]:
        """What HEAD has; None where nothing is committed."""
        try:
            repository = open_repository(self.root)
            if repository.head is None:
                raise RepositoryError("nothing is committed")
        except RepositoryError:
            yield None
            return
        with TemporaryFolder("head") as folder:
            yield write_state(repository, "HEAD", Path(folder) / "head")


def _names(tree: Tree, path: str) -> set[str]:
    return {kernel.name for kernel in kernels_of(path, tree.read(path))}


def fingerprint(pair: ChangedKernel) -> str:
    """A change by what it is: the kernel's name, what it was and what it becomes.

    Where the host code launches others beside it since, or in its place, a verdict is on the whole of the file; where
    a host function is judged, on both states of it.
    """
    before, after = pair.before.kernel, pair.after.kernel
    old, new = before.source, after.source
    wholes: list[bytes] = []
    if pair.function:
        wholes = [pair.function.encode(), *(source.data for source in (old, new) if source is not None)]
    elif new is not None:
        is_shared = old is not None and launched_beside(before.name, old, new)
        wholes = [new.data] if is_shared or before.name != after.name else []
    parts = repr((after.name, essence(pair.before), essence(pair.after), *wholes))
    return hashlib.sha256(parts.encode()).hexdigest()


@contextmanager
def _rows(root: Path) -> Iterator[SignedRows]:
    key = secret_in(secret_file())
    db = open_cache_file(kept_in(root), lambda db: SignedRows(db, key, _TABLE, _MOST), lambda _line: None)
    try:
        yield SignedRows(db, key, _TABLE, _MOST)
    finally:
        db.close()
