"""Drafts for a kernel that is being edited: made without a proof, and kept while what they are read from stays.

A draft is read from the kernel's signature and from the code around the kernels, so an edit inside a body keeps it.
That is quick, and it is right: a guard that was just deleted must not change the sizes that the kernel is checked at.
One that was added does: a draft that holds only where nothing is masked is made again.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from kernel_gate.deadline import ends_within
from kernel_lineage.kernels.source import SourceFile
from kernel_lineage.workloads.completing import InTurn
from kernel_lineage.workloads.files import source_of, target_in
from kernel_lineage.workloads.model import UNMASKED, Draft
from kernel_lineage.workloads.on_the_spot import NoWorkloadError, SpotWorkload, question, saved_workload
from kernel_lineage.workloads.saved import folder_of
from kernel_lineage.workloads.state import State

_DRAFTS = 128
_SECONDS = 60.0
"""What one draft may take."""


@dataclass(slots=True)
class _Kept:
    draft: Draft
    turn: InTurn
    """What follows the draft, where the kernel cannot be run with it."""


@dataclass(slots=True)
class KeptDrafts:
    """Drafts by what they were read from, while the files beside theirs stay as they are."""

    _drafts: OrderedDict[tuple[str, str, str], _Kept] = field(default_factory=OrderedDict)
    _states: dict[Path, State] = field(default_factory=dict)

    def workload_of(self, path: Path, data: bytes, kernel: str) -> SpotWorkload:
        """The repository's workload of a kernel, else a draft.

        Raises `NoWorkloadError` where neither can be had, and `ProgramError` where there is no such kernel.
        """
        saved = saved_workload(path, kernel)
        if saved is not None:
            return saved
        draft = self._draft_of(path, source_of(path, data), kernel)
        if draft.missing:
            raise NoWorkloadError(question(draft, path), unbuilt=draft.unbuilt)
        return SpotWorkload(draft.workload(), None, draft.assumed)

    def mended(self, path: Path, data: bytes, kernel: str, reason: str) -> SpotWorkload | None:
        """The draft to check with in place of the last one, after a kernel failed beside itself for this reason.

        None where the draft is not why. No other sizes are tried: the kernel that was just edited may need a guard.
        """
        kept = self._drafts.get(_key(path, source_of(path, data), kernel))
        if kept is None:
            return None
        with ends_within(_SECONDS):
            draft = kept.turn.after_reading(kept.draft, reason)
        if draft is None:
            return None
        kept.draft = draft
        return SpotWorkload(draft.workload(), None, draft.assumed)

    def _draft_of(self, path: Path, source: SourceFile, name: str) -> Draft:
        key = _key(path, source, name)
        kept = self._drafts.get(key)
        if kept is not None and not _unmasked(kept.draft):
            return kept.draft
        turn = InTurn(target_in(source, name, path.name), path, self._state(folder_of(path)))
        with ends_within(_SECONDS):
            draft = turn.first()
        if kept is not None and (draft.missing or not _unmasked(draft) <= _unmasked(kept.draft)):
            return kept.draft
        if not draft.missing:  # what cannot be run now may run after the next edit
            self._drafts[key] = _Kept(draft, turn)
            while len(self._drafts) > _DRAFTS:
                self._drafts.popitem(last=False)
        return draft

    def _state(self, root: Path) -> State:
        if root not in self._states:
            self._states = {root: State(root)}
        return self._states[root]


def _unmasked(draft: Draft) -> set[str]:
    """What a draft asks of sizes because nothing masks an access: less, once a mask is there."""
    return {note.partition(UNMASKED)[0] for note in draft.assumed if UNMASKED in note}


def _key(path: Path, source: SourceFile, name: str) -> tuple[str, str, str]:
    kernel = source.kernel(name)
    signature = source.data[kernel.span.start : kernel.body_span.start] if kernel is not None else b""
    return str(path), name, hashlib.sha256(signature + source.around_kernels()).hexdigest()
