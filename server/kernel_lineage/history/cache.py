"""`.klineage/cache.sqlite`: what mining has worked out, so that a new commit costs what it changed.

Deleting it loses time, never knowledge. Everything is text or JSON: nothing read from a cache is ever executed, since
a cache may come with somebody else's repository.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import kernel_lineage
from kernel_lineage.cache_folder import CACHE, make_cache_folder

SCHEMA = 2
_TABLES = {
    "files": "blob TEXT PRIMARY KEY, seen TEXT NOT NULL",
    "pieces": "key TEXT PRIMARY KEY, names TEXT NOT NULL",
    "texts": "digest TEXT PRIMARY KEY, text BLOB NOT NULL",
    "facts": "digest TEXT PRIMARY KEY, facts TEXT NOT NULL",
    "walks": "key TEXT PRIMARY KEY, state TEXT NOT NULL",
}


class Cache:
    """An open cache. Use it as a context manager; every `put_*` is one transaction."""

    def __init__(self, connection: sqlite3.Connection, messages: list[str]):
        self._db = connection
        self.messages = messages
        """What the user should know: the cache was set aside, or is not kept."""

    def __enter__(self) -> Cache:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()

    def files(self, blobs: Iterable[str]) -> Iterator[tuple[str, Any]]:
        """(blob, what was put for it) for those that are known."""
        for blob in blobs:
            row = self._db.execute("SELECT seen FROM files WHERE blob = ?", (blob,)).fetchone()
            if row is not None:
                yield blob, json.loads(row[0])

    def known_files(self) -> set[str]:
        """Every blob that has been read."""
        return {row[0] for row in self._db.execute("SELECT blob FROM files")}

    def pieces(self, keys: Iterable[str]) -> dict[str, Any]:
        """What was put for pieces of files."""
        rows = (
            self._db.execute("SELECT key, names FROM pieces WHERE key = ?", (k,)).fetchone() for k in keys
        )
        return {row[0]: json.loads(row[1]) for row in rows if row is not None}

    def put_files(
        self, seen: Mapping[str, Any], texts: Mapping[str, str], pieces: Mapping[str, Any] | None = None
    ) -> None:
        """Keeps what blobs say, with the texts and pieces that they refer to."""
        with self._db:
            self._db.executemany(
                "INSERT OR IGNORE INTO pieces VALUES (?, ?)",
                ((k, _dumps(v)) for k, v in (pieces or {}).items()),
            )
            self._db.executemany(
                "INSERT OR REPLACE INTO texts VALUES (?, ?)",
                ((k, v.encode("utf-8", "surrogatepass")) for k, v in texts.items()),
            )
            self._db.executemany(
                "INSERT OR REPLACE INTO files VALUES (?, ?)", ((k, _dumps(v)) for k, v in seen.items())
            )

    def text(self, digest: str) -> str | None:
        """A text by its digest."""
        row = self._db.execute("SELECT text FROM texts WHERE digest = ?", (digest,)).fetchone()
        return None if row is None else bytes(row[0]).decode("utf-8", "surrogatepass")

    def facts(self) -> dict[str, Any]:
        """All facts, by the digest of the version that they are of."""
        return {row[0]: json.loads(row[1]) for row in self._db.execute("SELECT digest, facts FROM facts")}

    def put_facts(self, facts: Mapping[str, Any]) -> None:
        """Keeps facts of versions."""
        with self._db:
            self._db.executemany(
                "INSERT OR REPLACE INTO facts VALUES (?, ?)", ((k, _dumps(v)) for k, v in facts.items())
            )

    def walk(self, key: str) -> Any | None:
        """The state of an earlier walk over the history."""
        row = self._db.execute("SELECT state FROM walks WHERE key = ?", (key,)).fetchone()
        return None if row is None else json.loads(row[0])

    def put_walk(self, key: str, state: object) -> None:
        """Keeps the state of a walk."""
        with self._db:
            self._db.execute("INSERT OR REPLACE INTO walks VALUES (?, ?)", (key, _dumps(state)))


def open_cache(folder: Path | None, fingerprint: str) -> Cache:
    """The cache in `folder` (made if needed), or one that is not kept when `folder` is None or cannot be written.

    A cache of another schema or of an older analyser is emptied; one that is damaged is set aside as
    `cache.sqlite.broken` and a new one begun. Both are said in `messages`.
    """
    messages: list[str] = []
    if folder is not None:
        path = folder / CACHE
        try:
            make_cache_folder(folder)
            try:
                return Cache(_prepared(path, fingerprint), messages)
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError):
                    raise
                path.replace(path.with_name("cache.sqlite.broken"))
                for rest in ("cache.sqlite-wal", "cache.sqlite-shm"):
                    (folder / rest).unlink(missing_ok=True)
                messages.append(
                    f"The cache was damaged ({error}); it is set aside as {path}.broken and built anew."
                )
                return Cache(_prepared(path, fingerprint), messages)
        except (OSError, sqlite3.OperationalError) as error:
            messages.append(
                f"The cache {path} cannot be used ({error}); going on without: the next run starts over."
            )
    return Cache(_prepared("", fingerprint), messages)


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


def _prepared(path: Path | str, fingerprint: str) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=5)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA trusted_schema = OFF")
        with db:
            db.execute(
                "CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
            )
            row = db.execute("SELECT value FROM meta WHERE key = 'fingerprint'").fetchone()
            if row is None or row[0] != fingerprint:
                for name, columns in _TABLES.items():
                    db.execute(f"DROP TABLE IF EXISTS {name}")
                    db.execute(f"CREATE TABLE {name}({columns}) WITHOUT ROWID")
                db.execute("INSERT OR REPLACE INTO meta VALUES ('fingerprint', ?)", (fingerprint,))
    except BaseException:
        db.close()
        raise
    return db


def _dumps(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
