"""What a child and all that it started take, and ending them when it is too much.

A contained child cannot leave its process group, so its group is all of it. Counting happens from outside, because a
limit of processes per user (RLIMIT_NPROC) counts the user's editor too and does not hold for root.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernel_gate.deadline import seconds_left
from kernel_gate.processes.forked import Forked

STEP_SECONDS = 0.01
"""Between two looks of a `Watch`: what multiplies itself is ended before it slows us."""
_POLL_SECONDS = 0.05
_SHARE = 20
"""Looking may take one part in so many of the time."""
_DEEPEST = 100
"""Folders within folders; a compiler makes a few."""
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class GroupLimits:
    """What a group may take together."""

    seconds: float
    processes: int
    resident_bytes: int
    files: int
    folder_bytes: int


def kill_group(process: subprocess.Popen[Any] | Forked) -> None:
    """End a child and everything that it started in its group."""
    if isinstance(process, Forked):
        process.end_group()
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def usage(group: int, most: int) -> tuple[int, int]:
    """Processes of a group, and the bytes of memory that they have resident. Counting stops above `most` processes."""
    count = resident = 0
    with os.scandir("/proc") as entries:
        numbers = sorted((int(entry.name) for entry in entries if entry.name.isdigit()), reverse=True)
    for number in numbers:  # what multiplies itself is the newest
        if count > most:
            break
        # Asking the kernel for a group is a hundredth of what reading a process's state costs.
        with contextlib.suppress(OSError):
            if os.getpgid(number) == group:
                fields = Path(f"/proc/{number}/stat").read_bytes().rpartition(b")")[2].split()
                count += 1
                resident += int(fields[21]) * _PAGE
    return count, resident


def _running() -> int:
    """Threads of the machine; 0 where nothing tells."""
    try:
        return int(Path("/proc/loadavg").read_bytes().split()[3].partition(b"/")[2])
    except (OSError, IndexError, ValueError):
        return 0


def folder_usage(folder: Path, most: int) -> tuple[int, int, int]:
    """Files beneath a folder, their bytes on disk, and how deep folders are nested.

    Counting stops above `most` files or below the deepest allowed folder.
    """
    files = size = depth = 0
    waiting = [(str(folder), 0)]
    while waiting and files <= most and depth <= _DEEPEST:
        place, depth_here = waiting.pop()
        depth = max(depth, depth_here)
        with contextlib.suppress(OSError), os.scandir(place) as entries:
            for entry in entries:
                files += 1
                with contextlib.suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append((entry.path, depth_here + 1))
                    else:
                        size += entry.stat(follow_symlinks=False).st_blocks * 512
    return files, size, depth


def excess_of(group: int, folder: Path, limits: GroupLimits) -> str:
    """What is over a limit, in words; "" for nothing."""
    processes, resident = usage(group, limits.processes) if Path("/proc/self/stat").exists() else (0, 0)
    if processes > limits.processes:
        return f"started more than {limits.processes} processes"
    if resident > limits.resident_bytes:
        return f"took more than {limits.resident_bytes / (1 << 30):.3g} GB of memory"
    files, size, depth = folder_usage(folder, limits.files)
    if depth > _DEEPEST:
        return f"nested folders more than {_DEEPEST} deep"
    if files > limits.files:
        return f"wrote more than {limits.files} files"
    if size > limits.folder_bytes:
        return f"wrote more than {limits.folder_bytes / (1 << 20):.4g} MB"
    return ""


class Watch:
    """Looks at what a group takes: now and then, and at once when the machine has many more threads than before."""

    def __init__(self, group: int, folder: Path, limits: GroupLimits) -> None:
        self._group, self._folder, self._limits = group, folder, limits
        self._look_at, self._usual = time.monotonic() + _POLL_SECONDS, _running()

    def excess(self) -> str:
        """What is over a limit, in words; "" for nothing. A group with such an excess is ended."""
        now, running = time.monotonic(), _running()
        self._usual = min(self._usual, running)
        if now < self._look_at and running <= self._usual + self._limits.processes:
            return ""
        excess = excess_of(self._group, self._folder, self._limits)
        if excess:  # ended here: a fork server may be slow to do it
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._group, signal.SIGKILL)
        self._usual = running
        self._look_at = now + max(_POLL_SECONDS, (_SHARE + 1) * (time.monotonic() - now))
        return excess


def wait_within(
    process: subprocess.Popen[Any] | Forked, folder: Path, limits: GroupLimits
) -> tuple[int | None, str]:
    """The child's exit status, or None and what it did too much of. Its group has ended in either case.

    A deadline that the caller stands under (`kernel_gate.deadline`) counts as well.
    """
    seconds = seconds_left(limits.seconds)
    deadline = time.monotonic() + seconds
    watch = Watch(process.pid, folder, limits)
    try:
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return None, f"took longer than {seconds:.3g} s"
            try:
                return process.wait(min(STEP_SECONDS, left)), ""
            except subprocess.TimeoutExpired:
                if excess := watch.excess():
                    return None, excess
    finally:
        kill_group(process)
