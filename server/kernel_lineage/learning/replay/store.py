"""What replaying gave, in the repository's cache file: read by whoever shows a transition. Never knowledge."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from kernel_gate.evidence import companion_files, toolchain
from kernel_gate.options import GateOptions
from kernel_gate.workload import Workload
from kernel_lineage.cache_file import open_cache_file
from kernel_lineage.history.cache import fingerprint_of
from kernel_lineage.history.model import Version
from kernel_lineage.learning.replay.claims import Claimed
from kernel_lineage.learning.replay.learners import Learned
from kernel_lineage.learning.replay.record import Record
from kernel_lineage.rewrite.signed_rows import SignedRows, secret_file, secret_in

_MOST = 50_000
_CODE = ("kernels", "rewrite", "learning/replay")
"""What decides, besides the gate, which programs and which workload a transition gives."""


class _Stored(BaseModel):
    question: str
    record: Record


class ReplayStore:
    """Records by transition and device, and what learners gave. Safe for several threads."""

    def __init__(self, db: sqlite3.Connection, secret: bytes) -> None:
        self._records = SignedRows(db, secret, "replays", _MOST)
        self._learned = SignedRows(db, secret, "replay_learned", _MOST)
        self._lock = threading.Lock()

    @property
    def problem(self) -> str | None:
        """Why something was not kept or found, if that happened."""
        return self._records.problem or self._learned.problem

    def record(self, transition: str, device: str, question: str) -> Record | None:
        """The record of a transition, if it answers the same question."""
        with self._lock:
            row = self._records.get(_Stored, transition, device)
        return row.record if row is not None and row.question == question else None

    def keep(self, record: Record, device: str, question: str) -> None:
        """Keep a record in the place of an older one on the same device."""
        with self._lock:
            self._records.put(_Stored(question=question, record=record), record.transition, device)

    def learned(self, question: str, learner: str) -> Learned | None:
        """What a learner gave for a transition as it is now."""
        with self._lock:
            return self._learned.get(Learned, question, learner)

    def keep_learned(self, learned: Learned, question: str, learner: str) -> None:
        """Keep what a learner gave."""
        with self._lock:
            self._learned.put(learned, question, learner)

    def records(self) -> Iterator[Record]:
        """All that is known, the newest record of a transition last."""
        with self._lock:
            records = [stored.record for _, _, stored in self._records.everything(_Stored)]
        yield from records


@contextmanager
def replay_store(
    folder: Path | None, say: Callable[[str], None], secret: Path | None = None
) -> Iterator[ReplayStore]:
    """The store in a repository's cache folder; one that forgets where there is none.

    `say` gets a note about a damaged file that was set aside; `secret` is the file with this user's key.
    Raises `OSError` or `sqlite3.Error` when the file cannot be used.
    """
    if folder is None:
        with closing(sqlite3.connect(":memory:", check_same_thread=False)) as db:
            yield ReplayStore(db, b"")
        return
    key = secret_in(secret or secret_file())
    with closing(open_cache_file(folder, lambda db: ReplayStore(db, key), say)) as db:
        yield ReplayStore(db, key)


def surroundings() -> dict[str, Any]:
    """What every record depends on: the compilers, and the code that prepares steps."""
    return {"toolchain": toolchain(), "code": fingerprint_of(_CODE)}


def question_of(
    item: Claimed,
    *,
    device: Any,
    options: GateOptions,
    workload: Workload | None,
    work_tree: str,
    here: Mapping[str, Any],
) -> str:
    """What a record must answer to be used again: states, workload, options, device, compilers and code.

    `work_tree` is the digest of what is not committed; it counts where a state is not. `here` are the `surroundings`.
    """
    document = {
        "transition": item.transition.id,
        "claim": item.claim,
        "states": [_state(v, work_tree) for v in (item.before, item.after)],
        "workload": workload.model_dump(mode="json") if workload is not None else None,
        "companions": companion_files(workload) if workload is not None else {},
        "options": options.model_dump(mode="json"),
        "device": device,
        **here,
    }
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def _state(version: Version, work_tree: str) -> list[str]:
    return [version.commit or work_tree, version.path, version.symbol, version.blob]
