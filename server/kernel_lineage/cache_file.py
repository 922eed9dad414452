"""The cache file of a repository: an SQLite file of this user's own, which is set aside and begun anew when damaged.

Deleting it loses time, never knowledge. Several processes may use it at once.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernel_gate.files.writing import only_process
from kernel_lineage.cache_folder import make_private

CACHE = "cache.sqlite"
_LOCK = "cache.lock"
_WAIT_SECONDS = 10.0
"""For another process that writes."""
_ENVIRONMENT = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_NOLFS,
        sqlite3.SQLITE_PROTOCOL,
    }
)
"""What says something of the disk or of other processes, and nothing of the file's contents."""


class DamagedRow(sqlite3.DatabaseError):
    """A row that is not what was put there."""


class CacheConnection(sqlite3.Connection):
    """An open cache file that knows which file it is."""

    path: Path
    identity: tuple[int, int]

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        """As its base class; a file so damaged that its error cannot be decoded is damaged all the same."""
        try:
            return super().execute(*arguments)
        except UnicodeDecodeError as error:
            raise DamagedRow(f"its schema is no text: {error.reason}") from None


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file's contents are wrong, and not the disk or another process in the way."""
    if not isinstance(error, sqlite3.DatabaseError) or isinstance(error, sqlite3.ProgrammingError):
        return False
    code = getattr(error, "sqlite_errorcode", None)
    return code is None or code & 0xFF not in _ENVIRONMENT


def open_cache_file(
    folder: Path, prepare: Callable[[sqlite3.Connection], object], say: Callable[[str], None]
) -> CacheConnection:
    """The cache file in a folder, both made if needed, after `prepare` has made its tables.

    A damaged file is set aside and a new one begun, which `say` is told. Raises `OSError` or `sqlite3.Error` where
    the file cannot be used.
    """
    make_private(folder)
    path = folder / CACHE
    with only_process(folder / _LOCK):
        try:
            return _opened(path, prepare)
        except sqlite3.Error as error:
            if not is_damage(error):
                raise
            message = _moved_aside(path, error)
        db = _opened(path, prepare)
    say(message)
    return db


def set_aside(db: CacheConnection, error: sqlite3.Error) -> str:
    """Close a file that turned out to be damaged and put it aside, unless another process did; what to say of it."""
    db.close()
    try:
        with only_process(db.path.parent / _LOCK):
            if _identity(db.path) != db.identity:
                return f"The cache was damaged ({error}); it was set aside meanwhile."
            return _moved_aside(db.path, error)
    except OSError as problem:
        return f"The cache {db.path} is damaged ({error}) and cannot be set aside ({problem}); delete it."


def _opened(path: Path, prepare: Callable[[sqlite3.Connection], object]) -> CacheConnection:
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    handle = os.open(path, flags, 0o600)
    status = os.fstat(handle)
    os.close(handle)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(f"{path} is not a regular file; delete it")
    db = sqlite3.connect(path, timeout=_WAIT_SECONDS, check_same_thread=False, factory=CacheConnection)
    db.path, db.identity = path, (status.st_dev, status.st_ino)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA trusted_schema = OFF")
        prepare(db)
    except BaseException:
        db.close()
        raise
    return db


def _moved_aside(path: Path, error: sqlite3.Error) -> str:
    aside = path.with_name(f"{path.name}.broken")
    path.replace(aside)
    for rest in ("-wal", "-shm"):
        path.with_name(path.name + rest).unlink(missing_ok=True)
    return f"The cache was damaged ({error}); it is set aside as {aside} and built anew."


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
