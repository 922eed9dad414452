"""Landlock: a process gives up rights over files for itself and all that it starts. No root, no helper program.

Numbers are those of linux/landlock.h; the system calls have the same numbers on every architecture.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from pathlib import Path

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_ASK_VERSION = 1
_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE = 1 << 14
_OF_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
_RIGHTS_SINCE = {1: (1 << 13) - 1, 2: 1 << 13, 3: _TRUNCATE, 5: 1 << 15}
_TCP_SINCE, _SCOPE_SINCE = 4, 6
_READ = _READ_FILE | _READ_DIR
_RUN = _READ | _EXECUTE


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("tcp", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def _call(number: int, *arguments: object) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    result = int(libc.syscall(ctypes.c_long(number), *arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"Landlock: {os.strerror(code)}")
    return result


def version() -> int:
    """The kernel's Landlock version; 0 where there is none or it is switched off."""
    try:
        return _call(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_ASK_VERSION))
    except (OSError, AttributeError):
        return 0


def keeps_signals_inside(landlock: int) -> bool:
    """Whether that version stops signals to processes outside."""
    return landlock >= _SCOPE_SINCE


def restrict(landlock: int, *, readable: Iterable[Path], writable: Iterable[Path]) -> None:
    """Give up all rights over files but reading and running beneath `readable`, reading and writing beneath `writable`.

    TCP, abstract sockets and signals to processes outside go too, where that version can do it. The calling thread must
    be the only one and must have set no_new_privs. Paths that do not exist are left out. Raises `OSError`.
    """
    handled = 0
    for since, rights in _RIGHTS_SINCE.items():
        handled |= rights if since <= landlock else 0
    rules = _Ruleset(
        handled, 0b11 if landlock >= _TCP_SINCE else 0, 0b11 if keeps_signals_inside(landlock) else 0
    )
    size = 24 if keeps_signals_inside(landlock) else 16 if landlock >= _TCP_SINCE else 8
    ruleset = _call(_CREATE, ctypes.byref(rules), ctypes.c_size_t(size), ctypes.c_uint32(0))
    try:
        for path in readable:
            _allow(ruleset, path, _RUN & handled)
        for path in writable:
            _allow(ruleset, path, handled & ~_EXECUTE)
        _call(_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        granted = rights if path.is_dir() else rights & _OF_A_FILE
        rule = _Beneath(granted, handle)
        _call(_ADD, ctypes.c_int(ruleset), ctypes.c_int(_BENEATH), ctypes.byref(rule), ctypes.c_uint32(0))
    finally:
        os.close(handle)
