"""A process that ends with the one that started it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def end_with_parent(parent: int | None = None) -> None:
    """End when the thread that started this process ends, however it ends; what it becomes by `exec` does, too.

    That thread must wait for this process; a fork server has no other. `parent` is its process as `os.getppid` sees it,
    for who knows it from before. Processes that this one starts are not covered: a fork server's are in a namespace
    that ends with it, and their time is limited (`sandbox.own_limits.limit`).
    """
    if sys.platform != "linux":
        return
    parent = os.getppid() if parent is None else parent
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
