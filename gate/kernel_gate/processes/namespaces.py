"""Namespaces of Linux that this process makes for itself, or for those that it starts."""

from __future__ import annotations

import ctypes
import os
import re
from contextlib import suppress
from pathlib import Path

MOUNTS, PROCESSES = 0x00020000, 0x20000000
_USER = 0x10000000
_SYSTEM_ADMINISTRATOR = 21
_BOUND_OF_ITS_OWN = (6, 14)
"""The first Linux in which each namespace has its own bound for the numbers of its processes."""


def _may_make_them() -> bool:
    status = Path("/proc/self/status").read_text("ascii")
    effective = next(line.split()[1] for line in status.splitlines() if line.startswith("CapEff:"))
    return bool(int(effective, 16) >> _SYSTEM_ADMINISTRATOR & 1)


def make(kinds: int) -> None:
    """Make namespaces: `MOUNTS` for this process, `PROCESSES` for those that it forks from now on.

    Where this user may not, they come in a user namespace in which it is the same user. The process must have one
    thread. Raises `OSError` where the machine gives none.
    """
    user, group = os.geteuid(), os.getegid()
    own_user = 0 if _may_make_them() else _USER
    if ctypes.CDLL(None, use_errno=True).unshare(kinds | own_user) < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"a namespace: {os.strerror(code)}")
    if own_user:
        Path("/proc/self/setgroups").write_text("deny", "ascii")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1", "ascii")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1", "ascii")


def limit_processes(most: int) -> None:
    """Bound how many numbers the processes of this process's own namespace have; only where that is for it alone.

    Older kernels have one bound for the whole machine: there nothing is written, and what multiplies itself is only
    ended by who watches it.
    """
    version = re.match(r"(\d+)\.(\d+)", os.uname().release)
    if version is not None and tuple(map(int, version.groups())) >= _BOUND_OF_ITS_OWN:
        with suppress(OSError):  # the machine may still refuse it
            Path("/proc/sys/kernel/pid_max").write_text(str(most), "ascii")
