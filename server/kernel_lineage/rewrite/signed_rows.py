"""Documents in a repository's cache file that only this user's own runs can have written.

The file may be kept where others write (`--keep-in`), so every row carries a signature by a key that lies in this
user's own folder: a row that this user's gate did not write is as good as none.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import secrets
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from platformdirs import user_state_path
from pydantic import BaseModel, ValidationError

from kernel_gate.files.writing import write_atomically
from kernel_lineage.cache_file import CacheConnection, is_damage, set_aside

_COLUMNS = ["key", "name", "made", "document", "signature"]
_STATEMENTS = {
    "columns": "PRAGMA table_info({table})",
    "drop": "DROP TABLE {table}",
    "create": "CREATE TABLE IF NOT EXISTS {table}(key TEXT NOT NULL, name TEXT NOT NULL, made TEXT NOT NULL, "
    "document BLOB NOT NULL, signature BLOB NOT NULL, PRIMARY KEY (key, name))",
    "under": "SELECT name, document, signature FROM {table} WHERE key = ? ORDER BY made",
    "everything": "SELECT key, name, document, signature FROM {table} ORDER BY made",
    "put": "INSERT OR REPLACE INTO {table} VALUES (?, ?, ?, ?, ?)",
    "trim": "DELETE FROM {table} WHERE rowid NOT IN (SELECT rowid FROM {table} ORDER BY made DESC LIMIT ?)",
    "forget": "DELETE FROM {table} WHERE key = ?",
}
"""By what they do; the table's name is ours."""
_Kept = TypeVar("_Kept", bound=BaseModel)


class SignedRows:
    """One table of documents, each under a key and a name. Every write is one transaction.

    A file that cannot be read or written (damaged, locked, a full disk) costs time, never a verdict: `problem` says so.
    """

    def __init__(self, db: sqlite3.Connection, secret: bytes, table: str, most: int) -> None:
        """`most` rows are kept; the oldest go first. Raises `sqlite3.Error`."""
        self._db, self._secret, self._table, self._most = db, secret, table, most
        self._sql = {what: text.format(table=table) for what, text in _STATEMENTS.items()}
        self.problem: str | None = None
        with db:
            columns = [row[1] for row in db.execute(self._sql["columns"])]
            if columns and columns != _COLUMNS:  # an older form: it costs time, never knowledge
                db.execute(self._sql["drop"])
            db.execute(self._sql["create"])

    def get(self, model: type[_Kept], key: str, name: str = "") -> _Kept | None:
        """What was kept under a key and a name, if this user wrote it."""
        return next((kept for n, kept in self.under(model, key) if n == name), None)

    def under(self, model: type[_Kept], key: str) -> Iterator[tuple[str, _Kept]]:
        """Name and document of everything under a key, in the order in which it was kept."""
        for name, *rest in self._rows(self._sql["under"], (key,)):
            if (kept := self._read(model, self._about(key, name), *rest)) is not None:
                yield name, kept

    def everything(self, model: type[_Kept]) -> Iterator[tuple[str, str, _Kept]]:
        """Key, name and document of all rows, oldest first."""
        for key, name, *rest in self._rows(self._sql["everything"], ()):
            if (kept := self._read(model, self._about(key, name), *rest)) is not None:
                yield key, name, kept

    def put(self, value: BaseModel, key: str, name: str = "") -> None:
        """Keep a document in the place of what is there."""
        document = zlib.compress(value.model_dump_json().encode())
        row = key, name, _now(), document, self._signature(self._about(key, name), document)
        self._change((self._sql["put"], row), (self._sql["trim"], (self._most,)))

    def forget(self, key: str) -> None:
        """Leave nothing under a key."""
        self._change((self._sql["forget"], (key,)))

    def _about(self, key: str, name: str) -> str:
        return f"{self._table} {key} {name}"

    def _rows(self, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        try:
            return self._db.execute(query, values).fetchall()
        except sqlite3.Error as error:
            self._give_up(error)
            return []

    def _change(self, *statements: tuple[str, tuple[Any, ...]]) -> None:
        try:
            with self._db:
                for statement, values in statements:
                    self._db.execute(statement, values)
        except sqlite3.Error as error:
            self._give_up(error)

    def _give_up(self, error: sqlite3.Error) -> None:
        if isinstance(self._db, CacheConnection) and is_damage(error):
            message = set_aside(self._db, error)
        else:
            message = f"The cache cannot be used ({error}); deleting it loses time, never knowledge."
        self.problem = self.problem or message

    def _read(self, model: type[_Kept], about: str, document: bytes, signature: bytes) -> _Kept | None:
        if not hmac.compare_digest(self._signature(about, document), signature):
            return None
        try:
            return model.model_validate_json(zlib.decompress(document))
        except (ValidationError, zlib.error):
            return None

    def _signature(self, about: str, document: bytes) -> bytes:
        return hmac.digest(self._secret, about.encode() + b"\0" + document, "sha256")


def secret_file() -> Path:
    """Where this user's key lies."""
    return user_state_path("kernel-lineage", appauthor=False) / "verdict-key"


def secret_in(path: Path) -> bytes:
    """The user's key; made on first use, readable by nobody else. Raises `OSError`."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        write_atomically(path, secrets.token_bytes(hashlib.sha256().digest_size), 0o600)
        return path.read_bytes()


def _now() -> str:
    return dt.datetime.now(dt.UTC).isoformat()
