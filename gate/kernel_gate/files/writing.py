"""Writing state: each file whole or not at all, one process at a time where several write, and words when it fails."""

from __future__ import annotations

import errno
import glob
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from kernel_gate.files.reading import READING, RefusedFile, enclosing_repository

_ADVICE = {
    errno.ENOSPC: "the disk is full; make room there, or name a place on another disk",
    errno.EDQUOT: "this user's share of the disk is used up; make room there, or name a place on another disk",
    errno.EFBIG: "a file may not become that large here (ulimit -f); allow more, or name another place",
    errno.EROFS: "the disk is read-only; name a place where you may write",
    errno.EACCES: "permission denied; name a place where you may write",
    errno.EPERM: "not permitted; name a place where you may write",
    errno.ENOTDIR: "a folder is needed where a file lies; move it away, or name another place",
    errno.EEXIST: "a folder is needed where a file lies; move it away, or name another place",
    errno.EIO: "the disk reports an error; look after the disk, or name a place on another one",
}


PART = ".part"
"""How the name ends of what is not yet written whole. Its writer holds a lock on it, which ends with the process."""


def write_atomically(path: Path, data: bytes, mode: int | None = None) -> None:
    """The whole data or nothing: a temporary file beside it takes its place. Raises `OSError` that names the file.

    A link at `path` is replaced, never written through.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _half_written_file(path.parent, f".{path.name[:100]}.") as (file, temporary):
            try:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                temporary.chmod(0o644 if mode is None else mode)
                temporary.replace(path)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise


def write_in_repository(path: Path, data: bytes) -> None:
    """`write_atomically` of what belongs to a repository, also where the repository brings the folders along.

    Raises `OSError`; `RefusedFile` where a link leads out of the repository that the path lies in.
    """
    check_stays(path)
    write_atomically(path, data)


def check_stays(path: Path) -> None:
    """Raises `RefusedFile` where a link on the way to a file leads out of the repository that its path lies in."""
    root = enclosing_repository(path)
    if root is not None and not path.parent.resolve().is_relative_to(root.resolve()):
        raise RefusedFile(
            path, f"leads out of {root} by a link, and nothing is written there; remove the link"
        )


def remove_abandoned(folder: Path, stem: str) -> None:
    """Remove the files and folders that a killed run left half-written: those on which no process holds a lock."""
    for part in folder.glob(f"{glob.escape(stem)}*{PART}"):
        with suppress(OSError):
            handle = os.open(part, READING)
            try:
                if try_lock(handle):
                    shutil.rmtree(part) if part.is_dir() else part.unlink()
            finally:
                os.close(handle)


@contextmanager
def half_written_folder(folder: Path, stem: str) -> Iterator[Path]:
    """A locked folder for what is renamed to its place in `folder` once it is whole. Raises `OSError`."""
    remove_abandoned(folder, stem)
    with tempfile.TemporaryDirectory(prefix=stem, suffix=PART, dir=folder) as name:
        handle = os.open(name, READING)
        try:
            with _alone(handle):
                yield Path(name)
        finally:
            os.close(handle)


@contextmanager
def _half_written_file(folder: Path, stem: str) -> Iterator[tuple[IO[bytes], Path]]:
    remove_abandoned(folder, stem)
    while True:
        handle, name = tempfile.mkstemp(dir=folder, prefix=stem, suffix=PART)
        with os.fdopen(handle, "wb") as file, _alone(handle):
            if os.fstat(handle).st_nlink:  # else another process took it for abandoned before it was locked
                yield file, Path(name)
                return


def append_privately(path: Path, data: bytes) -> None:
    """Add to the end of a file that only this user may read; several processes may. Raises `OSError`.

    A link is not followed.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    flags = (
        os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    )
    handle = os.open(path, flags, 0o600)
    with os.fdopen(handle, "ab") as file, _alone(file.fileno()):
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def only_process(lock: Path) -> Iterator[None]:
    """One process at a time is in the block; the others wait. The lock ends with the process. Raises `OSError`."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    handle = os.open(lock, flags, 0o600)
    try:
        with _alone(handle):
            yield
    finally:
        os.close(handle)


def why_unwritable(error: OSError) -> str | None:
    """What happened to a file that could not be written, and what to do; None where the error is of another kind."""
    advice = _ADVICE.get(error.errno or 0)
    if advice is None:
        return None
    return f"{error.filename} cannot be written: {advice}" if error.filename else advice


def try_lock(handle: int) -> bool:
    """Whether the lock on what is open is ours now. Where the system has no locks it never is."""
    try:
        import fcntl
    except ImportError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextmanager
def _alone(handle: int) -> Iterator[None]:
    try:
        import fcntl
    except ImportError:  # Windows, where nothing of this is shared by design of the file system
        yield
        return
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)
