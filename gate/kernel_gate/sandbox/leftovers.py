"""Folders of children: made, and removed whatever the child left in them."""

from __future__ import annotations

import itertools
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_OWNERS = stat.S_IRWXU


@contextmanager
def private_folder(prefix: str) -> Iterator[Path]:
    """A new folder that is gone afterwards. Raises `OSError` when it cannot be made or removed."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield folder
    finally:
        remove(folder)


def remove(folder: Path) -> None:
    """Remove a folder however deep it is nested and whatever its modes say. Links are removed, not followed.

    What lies in a nested folder is moved up beside it, so that neither names nor recursion grow with the depth.
    Raises `OSError` for what cannot be removed.
    """
    top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    fresh = (f".{number}" for number in itertools.count())
    try:
        waiting = _emptied(top)
        while waiting:
            name = waiting.pop()
            os.chmod(name, _OWNERS, dir_fd=top)
            handle = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
            try:
                for inner in _emptied(handle):
                    # A folder that is moved to another parent must be writable itself.
                    os.chmod(inner, _OWNERS, dir_fd=handle)
                    while (new := next(fresh)) in waiting:
                        pass
                    os.rename(inner, new, src_dir_fd=handle, dst_dir_fd=top)
                    waiting.append(new)
            finally:
                os.close(handle)
            os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)
    folder.rmdir()


def _emptied(handle: int) -> list[str]:
    """Remove the files of an open folder; the names of its folders."""
    os.fchmod(handle, _OWNERS)
    with os.scandir(handle) as entries:
        every = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in every:
        if not is_folder:
            os.unlink(name, dir_fd=handle)
    return [name for name, is_folder in every if is_folder]
