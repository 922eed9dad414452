"""Temporary folders, all under one folder of this user; what a killed process left is removed by the next.

Each process has a folder with a lock that the system lets go when the process ends, however it ends. Who can take the
lock of another process's folder knows that nobody uses it.
"""

from __future__ import annotations

import atexit
import os
import secrets
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from kernel_gate.files.writing import only_process, try_lock

_LOCK = ".lock"
_DEAD = "dead-"


class TemporaryFolder(tempfile.TemporaryDirectory[str]):
    """A folder that goes with the block or with `cleanup`, and, where the process is killed, when the next one starts.

    Whatever was made of it is removed: nested thousands deep, or not readable. Raises `OSError` when there is no room.
    """

    def __init__(self, what: str, dir: Path | None = None) -> None:  # noqa: A002 - as its base class
        """`dir` is a folder that is temporary itself."""
        super().__init__(prefix=f"{what}-", dir=dir or _own_place(), ignore_cleanup_errors=True)

    @classmethod
    def _rmtree(cls, name: str, ignore_errors: bool = False, repeated: bool = False) -> None:  # noqa: ARG003
        remove_tree(Path(name))


def remove_tree(folder: Path) -> None:
    """Remove a folder with all that is in it, as far as this user may. No link is followed, no depth is too deep."""
    if folder.is_symlink():
        return
    with suppress(OSError):
        folder.chmod(0o700)
    waiting = [folder]
    while waiting:
        place = waiting.pop()
        try:
            entries = list(os.scandir(place))
        except OSError:
            continue
        for entry in entries:
            with suppress(OSError):
                if not entry.is_dir(follow_symlinks=False):
                    Path(entry.path).unlink()
                    continue
                Path(entry.path).chmod(0o700)
                # Every folder becomes one of the first level: paths stay short and nothing recurses.
                moved = folder / secrets.token_hex(8)
                Path(entry.path).rename(moved)
                waiting.append(moved)
        if place != folder:
            with suppress(OSError):
                place.rmdir()
    with suppress(OSError):
        folder.rmdir()


def temporary_root() -> Path:
    """Where the folders of all processes of this user lie. Raises `OSError` when it is another user's, or a link."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    root = Path(tempfile.gettempdir()) / f"klineage-{user}"
    root.mkdir(mode=0o700, exist_ok=True)
    status = root.lstat()
    if not stat.S_ISDIR(status.st_mode) or (hasattr(os, "getuid") and status.st_uid != user):
        raise NotADirectoryError(
            f"{root} is not a folder of this user; remove it, or set TMPDIR to another place"
        )
    return root


class _Own:
    """The folder of a process: made with the first need, gone at the end."""

    def __init__(self, root: Path) -> None:
        self.root, self.process = root, os.getpid()
        with only_process(root / _LOCK):  # nobody sweeps between the making and the locking
            self.folder = Path(tempfile.mkdtemp(prefix=f"{self.process}-", dir=root))
            self._handle = os.open(
                self.folder / _LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600
            )
            try_lock(self._handle)
        atexit.register(self.remove)

    def remove(self) -> None:
        """At the end of the process that made it; not of one that was forked off."""
        if os.getpid() == self.process:
            remove_tree(self.folder)


_OWN: list[_Own] = []


def remove_own() -> None:
    """Remove this process's folders, for one that ends without Python's own clearing up."""
    for own in _OWN:
        own.remove()


def _own_place() -> Path:
    root = temporary_root()
    own = next((o for o in _OWN if o.root == root and o.folder.is_dir()), None)
    if own is None:
        own = _Own(root)
        _OWN.append(own)
        sweep(root)
    return own.folder


def sweep(root: Path) -> None:
    """Remove the folders of processes that are gone."""
    with only_process(root / _LOCK):
        dead = [f for f in root.iterdir() if f.name != _LOCK and f.is_dir() and _is_abandoned(f)]
        gone = []
        for folder in dead:
            named = root / f"{_DEAD}{secrets.token_hex(8)}"
            with suppress(OSError):
                folder.rename(named)
                gone.append(named)
    for folder in gone:  # not under the lock: others need not wait for a large one
        remove_tree(folder)


def _is_abandoned(folder: Path) -> bool:
    if folder.name.startswith(_DEAD):
        return True
    if any(o.folder == folder for o in _OWN):
        return False
    try:
        handle = os.open(folder / _LOCK, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        return try_lock(handle)
    finally:
        os.close(handle)
