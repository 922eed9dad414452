"""Checks of kernels by what they are of, for a file that is closed and opened again: in memory, and in the cache file.

Kept is what is decided of a whole text in its surroundings; of another text or in others it is no answer.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from kernel_gate.files.reading import read_file
from kernel_lineage.cache_file import open_cache_file
from kernel_lineage.cache_folder import kept_in
from kernel_lineage.editor.check_targets import Target, targets
from kernel_lineage.editor.documents import Snapshot
from kernel_lineage.editor.judged import Judged
from kernel_lineage.editor.proving import Proved
from kernel_lineage.editor.surroundings import surroundings
from kernel_lineage.editor.text import Text
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.learning.check_document import CheckedDocument
from kernel_lineage.learning.version_checks import Reference, VersionState
from kernel_lineage.rewrite.signed_rows import SignedRows, secret_file, secret_in
from kernel_lineage.skills.library import repository_of

_TABLE = "editor_checks"
_MOST_KEPT = 1000

log = logging.getLogger(__name__)


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True)

    checked: CheckedDocument
    at: float
    proof: Proved | None
    is_proved: bool


class KeptChecks:
    """Used by one thread of its own: a disk may be slow."""

    def __init__(self) -> None:
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="kept")
        self._recent: OrderedDict[str, Judged] = OrderedDict()

    def recalled(self, snapshot: Snapshot, there: Sequence[Target], around: str) -> dict[str, Judged]:
        """By kernel, what was kept of exactly this text in these surroundings."""
        keys = {_key(snapshot, target, around): target for target in there}
        recalled = {target.name: self._recent[key] for key, target in keys.items() if key in self._recent}
        left = {key: target for key, target in keys.items() if target.name not in recalled}
        if left:
            recalled |= {left[key].name: one for key, one in _read(snapshot.path, left, around).items()}
        return recalled

    def of_disk(self, path: Path) -> dict[str, Judged]:
        """By kernel, what was kept of a file as the disk holds it; nothing where it cannot be read."""
        around = surroundings(path)
        try:
            data = read_file(path)
        except OSError:
            return {}
        source = read(data, Language.CUDA)
        snapshot = Snapshot(path.as_uri(), path, 0, Text(data), source)
        return self.recalled(snapshot, targets(snapshot), around) if around is not None else {}

    def keep(
        self, snapshot: Snapshot, there: Sequence[Target], judged: Mapping[str, Judged], around: str
    ) -> None:
        """Keep what is decided of a text. `judged` speaks of its lines."""
        new: dict[str, Judged] = {}
        for target in there:
            one = judged.get(target.name)
            if one is None or one.digest != target.digest or one.around != around:
                continue
            key = _key(snapshot, target, around)
            if one.checked.state is not VersionState.UNKNOWN and self._recent.get(key) != one:
                new[key] = one
        self._recent |= new
        while len(self._recent) > _MOST_KEPT:
            self._recent.popitem(last=False)
        if new:
            _write(snapshot.path, new)


def _key(snapshot: Snapshot, target: Target, around: str) -> str:
    parts = str(snapshot.path), snapshot.sha256, target.name, target.digest.hex(), around
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def _read(path: Path, wanted: Mapping[str, Target], around: str) -> dict[str, Judged]:
    with _rows(path) as rows:
        kept = {key: rows.get(_Row, key) for key in wanted} if rows is not None else {}
    return {
        key: Judged(
            row.checked,
            wanted[key].digest,
            row.at,
            proof=row.proof,
            is_proved=row.is_proved,
            around=around,
        )
        for key, row in kept.items()
        if row is not None
    }


def _write(path: Path, new: Mapping[str, Judged]) -> None:
    with _rows(path) as rows:
        for key, one in new.items():
            # What passed last is this session's; another one has nothing to show it beside.
            if rows is not None and not (one.is_wrong and one.checked.beside == Reference.PASSED):
                row = _Row(checked=one.checked, at=one.at, proof=one.proof, is_proved=one.is_proved)
                rows.put(row, key)


@contextmanager
def _rows(path: Path) -> Iterator[SignedRows | None]:
    """What is kept for the repository of a file; None without one, or where the cache file cannot be used."""
    root = repository_of(path.parent)
    if root is None:
        yield None
        return
    try:
        secret = secret_in(secret_file())
        db = open_cache_file(
            kept_in(root), lambda db: SignedRows(db, secret, _TABLE, _MOST_KEPT), log.warning
        )
    except (OSError, sqlite3.Error) as error:
        log.warning("checks are not kept in %s: %s", kept_in(root), error)
        yield None
        return
    with closing(db):
        rows = SignedRows(db, secret, _TABLE, _MOST_KEPT)
        yield rows
    if rows.problem is not None:
        log.warning("%s", rows.problem)
