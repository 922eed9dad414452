"""Verdicts and unfinished runs of the gate in `.klineage/cache.sqlite`. Deleting it loses time, never knowledge.

The file lies in a repository and may come with somebody else's, so every row carries a signature by a key that lies in
this user's own folder: a row that this user's gate did not write is as good as none.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import secrets
import sqlite3
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from platformdirs import user_state_path
from pydantic import BaseModel, ValidationError

from kernel_gate.request import GateRequest
from kernel_gate.reuse import OnStage, judge_once
from kernel_gate.verdict import Stage, Verdict
from kernel_lineage.skills.library import repository_of
from kernel_lineage.skills.writing import write_atomically

_KEPT_VERDICTS = 500
"""The oldest go first: the raw samples of a verdict take some ten kilobytes."""
_KEPT_STAGES = 200
_TABLES = (
    "gate_verdicts(key TEXT PRIMARY KEY, made TEXT NOT NULL, document BLOB NOT NULL, signature BLOB NOT NULL)",
    """gate_stages(key TEXT NOT NULL, name TEXT NOT NULL, made TEXT NOT NULL, document BLOB NOT NULL,
    signature BLOB NOT NULL, PRIMARY KEY (key, name))""",
)
_TRIM_VERDICTS, _TRIM_STAGES = (
    f"DELETE FROM {table} WHERE rowid NOT IN (SELECT rowid FROM {table} ORDER BY made DESC LIMIT ?)"
    for table in ("gate_verdicts", "gate_stages")
)
_Kept = TypeVar("_Kept", bound=BaseModel)


class VerdictCache:
    """Implements `kernel_gate.reuse.VerdictStore`. Use it as a context manager; every write is one transaction.

    A file that cannot be read or written (damaged, locked, a full disk) costs time, never a verdict: `problem` says so.
    """

    def __init__(self, connection: sqlite3.Connection, secret: bytes) -> None:
        self._db = connection
        self._secret = secret
        self.problem: str | None = None

    def __enter__(self) -> VerdictCache:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()

    def verdict(self, key: str) -> Verdict | None:
        """What was kept under a key, if this user's gate wrote it."""
        rows = self._rows("SELECT document, signature FROM gate_verdicts WHERE key = ?", key)
        return self._read(Verdict, f"verdict {key}", *rows[0]) if rows else None

    def keep_verdict(self, key: str, verdict: Verdict) -> None:
        """Keep a verdict."""
        row = key, _now(), *self._written(verdict, f"verdict {key}")
        self._change(
            ("INSERT OR REPLACE INTO gate_verdicts VALUES (?, ?, ?, ?)", row),
            (_TRIM_VERDICTS, (_KEPT_VERDICTS,)),
        )

    def stages(self, key: str) -> Sequence[Stage]:
        """The stages that an interrupted run had finished, in the order in which they were kept."""
        rows = self._rows(
            "SELECT name, document, signature FROM gate_stages WHERE key = ? ORDER BY made", key
        )
        found = [self._read(Stage, f"stage {key} {name}", *rest) for name, *rest in rows]
        return [stage for stage in found if stage is not None]

    def keep_stage(self, key: str, stage: Stage) -> None:
        """Keep a finished stage."""
        row = key, stage.name, _now(), *self._written(stage, f"stage {key} {stage.name}")
        self._change(
            ("INSERT OR REPLACE INTO gate_stages VALUES (?, ?, ?, ?, ?)", row),
            (_TRIM_STAGES, (_KEPT_STAGES,)),
        )

    def forget_stages(self, key: str) -> None:
        """The run has come to its end."""
        self._change(("DELETE FROM gate_stages WHERE key = ?", (key,)))

    def _rows(self, query: str, key: str) -> list[tuple[Any, ...]]:
        try:
            return self._db.execute(query, (key,)).fetchall()
        except sqlite3.Error as error:
            self.problem = f"cannot be read: {error}"
            return []

    def _change(self, *statements: tuple[str, tuple[Any, ...]]) -> None:
        try:
            with self._db:
                for statement, values in statements:
                    self._db.execute(statement, values)
        except sqlite3.Error as error:
            self.problem = f"cannot be written: {error}"

    def _written(self, value: BaseModel, about: str) -> tuple[bytes, bytes]:
        document = zlib.compress(value.model_dump_json().encode())
        return document, self._signature(about, document)

    def _read(self, model: type[_Kept], about: str, document: bytes, signature: bytes) -> _Kept | None:
        if not hmac.compare_digest(self._signature(about, document), signature):
            return None
        try:
            return model.model_validate_json(zlib.decompress(document))
        except (ValidationError, zlib.error):
            return None

    def _signature(self, about: str, document: bytes) -> bytes:
        return hmac.digest(self._secret, about.encode() + b"\0" + document, "sha256")


def judge_cached(
    request: GateRequest,
    near: Path,
    judge: Callable[[GateRequest, OnStage], Verdict],
    say: Callable[[str], None],
) -> Verdict:
    """`judge_once` with the cache of the repository that `near` lies in; without a repository nothing is kept."""
    root = repository_of(near)
    if root is None:
        return judge(request, lambda _stage: None)
    folder = root / ".klineage"
    try:
        cache = open_verdict_cache(folder, user_state_path("kernel-lineage", appauthor=False) / "verdict-key")
    except (OSError, sqlite3.Error) as error:
        say(f"The cache in {folder} cannot be used ({error}); nothing is reused or kept.")
        return judge(request, lambda _stage: None)
    with cache:
        verdict = judge_once(request, cache, judge)
        if cache.problem is not None:
            say(f"The cache in {folder} {cache.problem}; deleting cache.sqlite loses time, never knowledge.")
    if verdict.environment.get("reused"):
        made = verdict.environment.get("made")
        say(f"The same question was judged at {made} on the same machine; --no-cache judges it anew.")
    if resumed := verdict.environment.get("resumed"):
        say(f"The run went on where an earlier one was interrupted; {' and '.join(resumed)} had passed.")
    return verdict


def open_verdict_cache(folder: Path, secret_file: Path) -> VerdictCache:
    """The cache in `folder`, made if needed. Raises `OSError` or `sqlite3.Error` when it cannot be used."""
    secret = _secret(secret_file)
    folder.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(folder / "cache.sqlite", timeout=5)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA trusted_schema = OFF")
        with db:
            for table in _TABLES:
                db.execute(f"CREATE TABLE IF NOT EXISTS {table}")
    except BaseException:
        db.close()
        raise
    return VerdictCache(db, secret)


def _secret(path: Path) -> bytes:
    """The user's key; made on first use, readable by nobody else."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        write_atomically(path, secrets.token_bytes(hashlib.sha256().digest_size), 0o600)
        return path.read_bytes()


def _now() -> str:
    return dt.datetime.now(dt.UTC).isoformat()
