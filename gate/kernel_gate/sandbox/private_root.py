"""A root of the process's own, in which only what it may see has a name: nothing else can even be asked about.

Landlock says what may be opened, yet not what may be looked at by name. Where the kernel gives mount namespaces to this
user, the process moves into a tree of bind mounts, read-only but for its folder.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from kernel_gate.files.temporary import TemporaryFolder
from kernel_gate.processes.namespaces import MOUNTS, make
from kernel_gate.processes.python import python_command
from kernel_gate.processes.tools import run_tool

_RECURSIVE, _PRIVATE, _BIND = 0x4000, 1 << 18, 0x1000
_NO_SET_USER, _NO_DEVICES = 2, 4
_DETACH = 2
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_MOUNT_SETATTR = 442
_READ_ONLY = 1
_AT_RECURSIVE, _AT_FDCWD = 0x8000, -100
_PLACE = ".root"
_PROBE_SECONDS = 20


class _Attributes(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "user"))


def _checked(result: int, what: str) -> None:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _mount(source: str | None, target: Path, kind: str | None, flags: int) -> None:
    def raw(text: str | None) -> bytes | None:
        return None if text is None else os.fsencode(text)

    result = _libc().mount(raw(source), os.fsencode(target), raw(kind), ctypes.c_ulong(flags), None)
    _checked(result, f"mounting {target}")


def _make_read_only(target: Path, *, recursive: bool) -> None:
    attributes = _Attributes(_READ_ONLY, 0, 0, 0)
    flags = ctypes.c_uint(_AT_RECURSIVE if recursive else 0)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    result = _libc().syscall(
        ctypes.c_long(_MOUNT_SETATTR),
        ctypes.c_int(_AT_FDCWD),
        os.fsencode(target),
        flags,
        ctypes.byref(attributes),
        size,
    )
    _checked(result, f"making {target} read-only")


def _outermost(paths: Iterable[Path]) -> Iterator[Path]:
    """Existing absolute paths and what they resolve to, without those beneath another."""
    every = {place for path in paths if path.exists() for place in (path.absolute(), path.resolve())}
    kept: list[Path] = []
    for path in sorted(every, key=lambda p: len(p.parts)):
        if path.parent != path and not any(path.is_relative_to(above) for above in kept):
            kept.append(path)
            yield path


def enter(folder: Path, visible: Iterable[Path]) -> None:
    """Leave everything behind but `folder`, to write in, and `visible`, to read. Raises `OSError`.

    The process must have one thread. Its working directory becomes the folder.
    """
    folder = folder.resolve()
    root = folder / _PLACE
    root.mkdir()
    outer = list(_outermost(p for p in visible if not p.resolve().is_relative_to(folder)))
    make(MOUNTS)
    _mount(None, Path("/"), None, _RECURSIVE | _PRIVATE)
    _mount("tmpfs", root, "tmpfs", _NO_SET_USER | _NO_DEVICES)
    for path in [*outer, folder]:
        target = root / path.relative_to("/")
        if path.is_symlink():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(path.readlink())
            continue
        if path.is_dir():
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.touch()
        _mount(str(path), target, None, _BIND | (_RECURSIVE if path != folder else 0))
        if path != folder:
            _make_read_only(target, recursive=True)
    if not (root / "tmp").exists():
        (root / "tmp").symlink_to(folder)
    _make_read_only(root, recursive=False)
    os.chdir(root)
    here = ctypes.c_char_p(b".")
    _checked(_libc().syscall(ctypes.c_long(_PIVOT_ROOT[os.uname().machine]), here, here), "the private root")
    _checked(_libc().umount2(here, _DETACH), "leaving the machine's root")
    os.chdir(folder)
    (folder / _PLACE).rmdir()


def available(visible: Iterable[Path]) -> bool:
    """Whether this user is given one here, with these paths in it: tried in a process of its own."""
    if sys.platform != "linux" or os.uname().machine not in _PIVOT_ROOT:
        return False
    with TemporaryFolder("probe") as name:
        try:
            command = python_command(__name__, name, *map(str, visible))
            done = run_tool(command, seconds=_PROBE_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            return False
    return done.status == 0


if __name__ == "__main__":
    enter(Path(sys.argv[1]), [Path(path) for path in sys.argv[2:]])
