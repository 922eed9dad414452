"""Limits that a child sets for itself; the kernel keeps them for all that it starts."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys

_CPU_SECONDS_MORE = 10
_PR_SET_PDEATHSIG = 1


def end_with_parent(parent: int | None = None) -> None:
    """End when the thread that started this process ends, however it ends; what it becomes by `exec` does, too.

    That thread must wait for this process; a fork server has no other. `parent` is its process, for who knows it from
    before. Processes that this one starts are not covered: their time is (`limit`).
    """
    if sys.platform != "linux":
        return
    parent = os.getppid() if parent is None else parent
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def limit(limits: dict[str, int]) -> None:
    """Memory, CPU seconds and bytes per file, for this process and those that it starts."""
    resource.setrlimit(resource.RLIMIT_AS, (limits["address_bytes"],) * 2)
    # The parent ends what takes too long, and says so; this is for a child whose parent is gone.
    resource.setrlimit(resource.RLIMIT_CPU, (limits["seconds"] + _CPU_SECONDS_MORE,) * 2)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits["output_bytes"],) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
