"""Reading files of a repository, which somebody else may have made to hurt whoever opens it.

What is read is a regular file, lies in the repository that its path lies in (a link may not lead out), and has a
bounded size; no FIFO, device or endless file is ever waited for. Every refusal is an `OSError` with words.
"""
# Paths as texts: a library of skills asks for hundreds of files, a history for thousands.
# ruff: noqa: PTH110, PTH115, PTH116, PTH118, PTH120

from __future__ import annotations

import errno
import os
import stat
import time
from pathlib import Path

MOST_TEXT = 16 << 20
"""Bytes of a source, a header, a card: a larger one is no text that a person wrote."""
MOST_WORKLOAD = 1 << 20
_SECONDS = 20.0
"""For one file: a disk that takes longer does not answer."""
_PIECE = 1 << 20
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}
READING = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOFOLLOW", "O_NOCTTY", "O_CLOEXEC", "O_BINARY")
)
"""How a file is opened to be read: nothing waits, and no link is followed."""


class RefusedFile(OSError):  # noqa: N818 - an `OSError` as those that the system raises
    """A file that is not read; `strerror` says why, the text names the file as well."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(errno.EINVAL, why, str(path))

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


def read_file(path: Path, *, within: Path | None = None, most: int = MOST_TEXT) -> bytes:
    """The contents of a regular file of at most `most` bytes.

    `within` is the folder that the file must lie in, links followed; by default the repository that the path lies in,
    when it lies in one. Raises `OSError`; `RefusedFile` for what is no such file, leads out, or is too large or slow.
    """
    handle = _open(path, _place_of(path, within))
    try:
        if os.fstat(handle).st_size > most:
            raise RefusedFile(path, _too_large(most))
        pieces, length, end = [], 0, time.monotonic() + _SECONDS
        while piece := os.read(handle, min(_PIECE, most + 1 - length)):
            pieces.append(piece)
            length += len(piece)
            if length > most:
                raise RefusedFile(path, _too_large(most))
            if time.monotonic() > end:
                raise RefusedFile(path, f"could not be read within {_SECONDS:g} s")
        return b"".join(pieces)
    finally:
        os.close(handle)


def read_text(
    path: Path, *, within: Path | None = None, most: int = MOST_TEXT, errors: str = "strict"
) -> str:
    """The contents as UTF-8 text, every line ended by a line feed.

    Raises `OSError` as `read_file` does, and `UnicodeDecodeError`.
    """
    text = read_file(path, within=within, most=most).decode("utf-8", errors)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def is_plain_file(path: Path, *, within: Path | None = None) -> bool:
    """Whether `read_file` would begin to read: a regular file that lies where it must. Opens nothing."""
    try:
        _real(path, _place_of(path, within))
    except OSError:
        return False
    return True


def enclosing_repository(path: Path) -> Path | None:
    """The repository that a path lies in by its text, no link followed: the nearest folder above with `.git`.

    Where there is none, the nearest with `.klineage`; None where there is none either.
    """
    above = [os.path.dirname(os.path.normpath(path.absolute()))]
    while (parent := os.path.dirname(above[-1])) != above[-1]:
        above.append(parent)
    for mark in (".git", ".klineage"):
        for folder in above:
            if os.path.exists(os.path.join(folder, mark)):
                return Path(folder)
    return None


def _place_of(path: Path, within: Path | None) -> str | None:
    """The folder that a file must lie in, links followed; None for one that may lie anywhere."""
    root = within if within is not None else enclosing_repository(path)
    return None if root is None else os.path.realpath(root)


def _open(path: Path, root: str | None) -> int:
    real = _real(path, root)
    handle = os.open(real, READING)
    try:
        _check_kind(path, os.fstat(handle).st_mode)
        # Between the look and the opening a folder on the way can have become a link: the open file itself decides.
        if root is not None and os.path.exists("/proc/self/fd"):
            _check_place(path, os.readlink(f"/proc/self/fd/{handle}"), root)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _real(path: Path, root: str | None) -> str:
    try:
        real = os.path.realpath(path, strict=True)
    except ValueError:
        raise RefusedFile(path, "is no name that a file can have") from None
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise RefusedFile(path, "is a link that leads back to itself") from None
    if root is not None:
        _check_place(path, real, root)
    _check_kind(path, os.stat(real).st_mode)
    return real


def _check_place(path: Path, real: str, root: str) -> None:
    if not os.path.normcase(os.path.join(real, "")).startswith(os.path.normcase(os.path.join(root, ""))):
        raise RefusedFile(path, f"leads out of {root} and is not read; put the file itself there")


def _check_kind(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise RefusedFile(path, f"is {_KINDS.get(stat.S_IFMT(mode), 'no regular file')}, not a regular file")


def _too_large(most: int) -> str:
    size = f"{most >> 20} MiB" if most >= 1 << 20 else f"{most} bytes"
    return f"is larger than {size}, the most that is read of such a file"
