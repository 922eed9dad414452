"""Drafts of versions, each made once for all processes of a run: a version is an end of some steps, and near others."""

from __future__ import annotations

import os
import pickle
import tempfile
from dataclasses import dataclass
from pathlib import Path

from kernel_lineage.history.model import Version
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.of_state import NoDraft


@dataclass(frozen=True, slots=True)
class KeptDrafts:
    """What is known in a folder that is the run's own, and gone with it."""

    folder: Path

    def of(self, version: Version, *, measured: bool) -> tuple[str, Draft | NoDraft] | None:
        """The name of a version's own state, and its draft there; None where it is not known."""
        try:
            # Only processes of this run write here.
            entry: tuple[str, Draft | NoDraft] = pickle.loads(self._file(version, measured).read_bytes())
        except OSError:
            return None
        return entry

    def keep(self, version: Version, state: str, draft: Draft | NoDraft, *, measured: bool) -> None:
        """Keep a draft with the name of its state."""
        handle, name = tempfile.mkstemp(dir=self.folder)
        with os.fdopen(handle, "wb") as file:
            pickle.dump((state, draft), file)
        Path(name).rename(self._file(version, measured))

    def _file(self, version: Version, measured: bool) -> Path:
        return self.folder / f"{version.id}{' measured' if measured else ''}"
