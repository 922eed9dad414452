"""How long processors have worked for this process and for the processes that it started, those that run too."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

_FRESH = 0.5
"""Seconds for which an answer is good: looking at all processes takes milliseconds."""
_PROCESSES = Path("/proc")
_PARENT, _FIRST, _LAST = 1, 11, 15
"""Fields of a process's `stat` after its name: its parent; the ticks of itself and of its children that have ended."""


class _Latest:
    """The last answer, and when it was given."""

    at, seconds = -1.0, 0.0


def processor_seconds() -> float:
    """The seconds so far. Where running processes cannot be looked at, only those count that have ended."""
    now = time.monotonic()
    if now - _Latest.at > _FRESH or _Latest.at < 0:
        times = os.times()
        own = times.user + times.system + times.children_user + times.children_system
        # A process that ends between two looks is never counted less than before.
        _Latest.seconds = max(_Latest.seconds, own + _of_running(os.getpid()))
        _Latest.at = now
    return _Latest.seconds


def _of_running(top: int) -> float:
    """What the processes below one have taken."""
    children: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for folder in _PROCESSES.iterdir() if _PROCESSES.is_dir() else ():
        if folder.name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                children.setdefault(int(fields[_PARENT]), []).append(int(folder.name))
                ticks[int(folder.name)] = sum(map(int, fields[_FIRST:_LAST]))
    waiting, total = children.get(top, []), 0
    while waiting:
        one = waiting.pop()
        total += ticks[one]
        waiting += children.get(one, [])
    return total / os.sysconf("SC_CLK_TCK")
