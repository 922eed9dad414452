"""What mining has worked out, in the repository's cache file, so that a new commit costs what it changed.

Every row carries a checksum. Everything is text or JSON: nothing read from a cache is ever executed.
"""

import json
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import kernel_lineage
from kernel_gate.processes.closing import Closing
from kernel_lineage.cache_file import CacheConnection, DamagedRow, is_damage, open_cache_file, set_aside

SCHEMA = 3
_SEAL = 4
"""Bytes of the checksum before each row."""
_TABLES = {
    "files": "blob TEXT PRIMARY KEY, seen BLOB NOT NULL",
    "pieces": "key TEXT PRIMARY KEY, names BLOB NOT NULL",
    "texts": "digest TEXT PRIMARY KEY, text BLOB NOT NULL",
    "facts": "digest TEXT PRIMARY KEY, facts BLOB NOT NULL",
    "walks": "key TEXT PRIMARY KEY, state BLOB NOT NULL",
}


class Cache(Closing):
    """An open cache. Use it as a context manager; every `put_*` is one transaction."""

    def __init__(self, connection: sqlite3.Connection, fingerprint: str, messages: list[str]):
        self._db = connection
        self._fingerprint = fingerprint
        self.messages = messages
        """What the user should know: the cache was set aside, or is not kept."""

    def close(self) -> None:
        self._db.close()

    def files(self, blobs: Iterable[str]) -> Iterator[tuple[str, Any]]:
        """(blob, what was put for it) for those that are known."""
        for blob in blobs:
            row = self._db.execute("SELECT seen FROM files WHERE blob = ?", (blob,)).fetchone()
            if row is not None:
                yield blob, _value(blob, row[0])

    def known_files(self) -> set[str]:
        """Every blob that has been read."""
        return {row[0] for row in self._db.execute("SELECT blob FROM files")}

    def pieces(self, keys: Iterable[str]) -> dict[str, Any]:
        """What was put for pieces of files. Raises `DamagedRow` for one that is not there."""
        pieces = {}
        for key in keys:
            row = self._db.execute("SELECT key, names FROM pieces WHERE key = ?", (key,)).fetchone()
            if row is None:  # it was put with the file that refers to it
                raise DamagedRow("a piece is gone")
            pieces[row[0]] = _value(row[0], row[1])
        return pieces

    def put_files(
        self, seen: Mapping[str, Any], texts: Mapping[str, str], pieces: Mapping[str, Any] | None = None
    ) -> None:
        """Keeps what blobs say, with the texts and pieces that they refer to."""
        self._put(
            ("pieces", ((k, _row(k, v)) for k, v in (pieces or {}).items())),
            ("texts", ((k, _sealed(k, v.encode("utf-8", "surrogatepass"))) for k, v in texts.items())),
            ("files", ((k, _row(k, v)) for k, v in seen.items())),
        )

    def text(self, digest: str) -> str | None:
        """A text by its digest."""
        row = self._db.execute("SELECT text FROM texts WHERE digest = ?", (digest,)).fetchone()
        try:
            return None if row is None else _opened(digest, row[0]).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise DamagedRow("a text is no text") from error

    def facts(self) -> dict[str, Any]:
        """All facts, by the digest of the version that they are of."""
        return {row[0]: _value(row[0], row[1]) for row in self._db.execute("SELECT digest, facts FROM facts")}

    def put_facts(self, facts: Mapping[str, Any]) -> None:
        """Keeps facts of versions."""
        self._put(("facts", ((k, _row(k, v)) for k, v in facts.items())))

    def walk(self, key: str) -> Any | None:
        """The state of an earlier walk over the history."""
        row = self._db.execute("SELECT state FROM walks WHERE key = ?", (key,)).fetchone()
        return None if row is None else _value(key, row[0])

    def put_walk(self, key: str, state: object) -> None:
        """Keeps the state of a walk."""
        self._put(("walks", [(key, _row(key, state))]))

    def given_up(self, error: sqlite3.Error) -> str:
        """Close it after an error and put it aside where it is damaged; what to say of it."""
        if isinstance(self._db, CacheConnection) and is_damage(error):
            return set_aside(self._db, error)
        self._db.close()
        return f"The cache cannot be used ({error}); going on without: the next run starts over."

    def _put(self, *tables: tuple[str, Iterable[tuple[str, bytes]]]) -> None:
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            if _fingerprint_in(self._db) != self._fingerprint:
                raise sqlite3.InterfaceError("another version of Kernel Lineage has taken it over")
            for table, rows in tables:
                self._db.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", rows)


def open_cache(folder: Path | None, fingerprint: str) -> Cache:
    """The cache in `folder` (made if needed), or one that is not kept when `folder` is None or cannot be written.

    A cache of another schema or of an older analyser is emptied; one that is damaged is set aside as
    `cache.sqlite.broken` and a new one begun. Both are said in `messages`.
    """
    messages: list[str] = []
    if folder is not None:
        try:
            db = open_cache_file(folder, _preparing(fingerprint), messages.append)
            return Cache(db, fingerprint, messages)
        except (OSError, sqlite3.Error) as error:
            messages.append(
                f"The cache in {folder} cannot be used ({error}); going on without: the next run starts over."
            )
    memory = sqlite3.connect(":memory:")
    _preparing(fingerprint)(memory)
    return Cache(memory, fingerprint, messages)


def analyser_fingerprint() -> str:
    """Changes with the code that a cache's contents depend on."""
    return f"{SCHEMA}:{fingerprint_of(('kernels', 'history'))}"


def fingerprint_of(folders: Iterable[str]) -> str:
    """Changes with the code in these folders of the package: size and time of its source files."""
    root = Path(kernel_lineage.__file__).parent
    parts = []
    for folder in folders:
        for file in sorted((root / folder).rglob("*.py")):
            stat = file.stat()
            parts.append(f"{file.relative_to(root)}:{stat.st_size}:{stat.st_mtime_ns}")
    return f"{zlib.crc32(' '.join(parts).encode()):08x}"


def _preparing(fingerprint: str) -> Callable[[sqlite3.Connection], None]:
    def prepare(db: sqlite3.Connection) -> None:
        with db:
            db.execute("BEGIN IMMEDIATE")
            db.execute(
                "CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
            )
            if _fingerprint_in(db) != fingerprint:
                for name, columns in _TABLES.items():
                    db.execute(f"DROP TABLE IF EXISTS {name}")
                    db.execute(f"CREATE TABLE {name}({columns}) WITHOUT ROWID")
                db.execute("INSERT OR REPLACE INTO meta VALUES ('fingerprint', ?)", (fingerprint,))

    return prepare


def _fingerprint_in(db: sqlite3.Connection) -> str | None:
    row = db.execute("SELECT value FROM meta WHERE key = 'fingerprint'").fetchone()
    return None if row is None else str(row[0])


def _row(key: str, value: object) -> bytes:
    return _sealed(key, json.dumps(value, separators=(",", ":")).encode())


def _sealed(key: str, data: bytes) -> bytes:
    return _checksum(key, data) + data


def _opened(key: object, row: object) -> bytes:
    if not isinstance(row, bytes) or _checksum(str(key), row[_SEAL:]) != row[:_SEAL]:
        raise DamagedRow("a row is not what was put there")
    return row[_SEAL:]


def _value(key: object, row: object) -> Any:
    try:
        return json.loads(_opened(key, row))
    except (ValueError, RecursionError) as error:
        raise DamagedRow(f"a row is no JSON ({error})") from error


def _checksum(key: str, data: bytes) -> bytes:
    return zlib.crc32(data, zlib.crc32(key.encode("utf-8", "surrogatepass"))).to_bytes(_SEAL, "little")
