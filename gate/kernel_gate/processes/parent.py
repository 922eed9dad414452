"""A process that ends with the one that started it, or with the one that it answers."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time

_PR_SET_PDEATHSIG = 1
_LOOK_SECONDS = 0.5
_GRACE = 2.5
"""Seconds for an orderly end, which gives jobs `jobs.GRACE`."""


def end_with_parent(parent: int | None = None) -> None:
    """End when the thread that started this process ends, however it ends; what it becomes by `exec` does, too.

    That thread must wait for this process; a fork server has no other. `parent` is its process as `os.getppid` sees it,
    for who knows it from before. Processes that this one starts are not covered: a fork server's are in a namespace
    that ends with it, and their time is limited (`sandbox.own_limits.limit`).
    """
    if sys.platform != "linux":
        return
    import ctypes  # slow to load, for a server that does not ask for this

    parent = os.getppid() if parent is None else parent
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def watch_parent(parent: int) -> None:
    """End soon after the process `parent`, which started this one, whichever of its threads did. Takes a thread."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def end_with_stdin() -> None:
    """End soon after nobody is left who could write to stdin, whatever this process is at. Takes a thread."""
    if not hasattr(select, "poll"):
        return
    hang_up = select.poll()
    try:
        hang_up.register(sys.stdin, 0)
    except (AttributeError, OSError):  # there is none, or it is no file
        return

    def watch() -> None:
        hang_up.poll()
        time.sleep(_GRACE)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
