"""Kills and full disks at random points of a run, and what they cost.

`python -m attacks.interruptions --kills 200 --full-disks 50` (in tests/, or by `make attack`) prints a table: losses,
tracebacks, processes that outlive the kill, folders that the next run leaves. Each round starts from the same state,
is interrupted a few times at points drawn with a seed, and ends with a whole run whose result must be the one of a
run that nothing interrupted. A disk is full because it is a small one (tmpfs) that is filled up to a drawn rest; where
none can be mounted, no file may grow beyond that rest (RLIMIT_FSIZE), and the table says which it was.
"""

# It prints a table, and its random numbers are drawn with a seed for repetition, not for secrets.
# ruff: noqa: T201

from __future__ import annotations

import argparse
import ctypes
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from attacks.interrupted_jobs import JOBS, Job, Place

KILLS_A_ROUND = 5
DISKS_A_ROUND = 2
ORPHAN_SECONDS = 6.0
"""What a killed command started may take so long to notice."""
RUN_SECONDS = 300.0
DISK_BYTES = 64 << 20
_PR_SET_CHILD_SUBREAPER = 36
COUNTED = ("losses", "tracebacks", "orphans", "folders left")


@dataclass
class Tally:
    """What happened to one job."""

    kills: int = 0
    of_servers: int = 0
    """Kills that hit a fork server or what it has forked."""
    full_disks: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    words: list[str] = field(default_factory=list)

    def add(self, what: str, words: str) -> None:
        """Count one failure, with its words."""
        self.counts[what] += 1
        self.words.append(f"{what}: {words}")


class Attack:
    """One job that is interrupted again and again."""

    def __init__(self, job: Job, folder: Path, chance: random.Random, tally: Tally) -> None:
        self.job, self.chance, self.tally = job, chance, tally
        self.place = Place(folder)
        job.prepare(self.place)
        began = time.monotonic()
        self._run_whole()
        self.seconds = time.monotonic() - began
        self.expected = job.result(self.place)
        assert self.expected, f"{job.name}: a run that nothing interrupts has no result"

    def _reset(self) -> None:
        self.place.clear()
        self.job.prepare(self.place)

    def kill_some(self, times: int) -> None:
        """One round: kills, each going on from what the one before has left, and a whole run."""
        self._reset()
        for _ in range(times):
            self._interrupt()
        self._go_on()

    def fill_disks(self, rooms: list[int], mounted: bool) -> None:
        """One round: runs with so much room on the disk, each going on from the one before, and one with enough."""
        self._reset()
        ballast = self.place.folder / "ballast"
        for room in rooms:
            if mounted:
                usable = shutil.disk_usage(self.place.folder).free - room
                with ballast.open("wb") as file, suppress(OSError):
                    os.posix_fallocate(file.fileno(), 0, max(usable, 1))
            process = self.job.start(self.place, None if mounted else room)
            self.tally.full_disks += 1
            self._wait(process, f"a disk with room for {room} bytes")
            ballast.unlink(missing_ok=True)
        self._go_on()

    def _interrupt(self) -> None:
        at = self.chance.uniform(0, self.seconds)
        who, number = self.chance.choice(
            [("itself", signal.SIGKILL)] * 4
            + [("a process of it", signal.SIGKILL), ("a fork server of it", signal.SIGKILL)]
            + [("itself", signal.SIGTERM), ("itself", signal.SIGINT)]
        )
        process = self.job.start(self.place, None)
        with suppress(subprocess.TimeoutExpired):
            process.wait(at)
        below = descendants(process.pid) if who != "itself" else []
        if who == "a fork server of it":
            below = [pid for pid in below if is_of_server(pid)] or below
        victim = self.chance.choice(below) if below else process.pid
        self.tally.of_servers += is_of_server(victim)
        with suppress(ProcessLookupError):
            os.kill(victim, number)
        self.tally.kills += 1
        self._wait(process, f"{signal.Signals(number).name} to {who} after {at:.2f} s", killed=not below)

    def _wait(self, process: subprocess.Popen[bytes], how: str, *, killed: bool = False) -> None:
        try:
            process.wait(RUN_SECONDS)
        except subprocess.TimeoutExpired:
            self.tally.add("tracebacks", f"{self.job.name}, {how}: it hangs")
            process.kill()
            process.wait()
        printed = self.place.words()
        if _of_ours(printed):
            self.tally.add("tracebacks", f"{self.job.name}, {how}: {printed[-1500:]}")
        elif process.returncode < 0 and not killed:
            self.tally.add(
                "tracebacks", f"{self.job.name}, {how}: status {process.returncode}: {printed[-500:]}"
            )
        for command in orphans():
            self.tally.add("orphans", f"{self.job.name}, {how}: {command}")
        if lost := self.job.lost(self.place):
            self.tally.add("losses", f"{self.job.name}, {how}: {lost}")

    def _run_whole(self) -> None:
        process = self.job.start(self.place, None)
        self._wait(process, "nothing")

    def _go_on(self) -> None:
        self.job.before_last(self.place)
        self._run_whole()
        result = self.job.result(self.place)
        if result != self.expected:
            printed = self.place.words()[-800:]
            self.tally.add(
                "losses", f"{self.job.name}: {result[:600]!r} instead of {self.expected[:600]!r}: {printed}"
            )
        for left in self.place.left():
            self.tally.add("folders left", f"{self.job.name}: {left}")


def _of_ours(printed: str) -> bool:
    """Whether it ends with a traceback. Ctrl-C before the first line of ours is the interpreter's own affair."""
    if "Fatal Python error" in printed:
        return True
    ours = "/kernel_lineage/" in printed or "/kernel_gate/" in printed
    return "Traceback (most recent call last)" in printed and (ours or "KeyboardInterrupt" not in printed)


def descendants(root: int) -> list[int]:
    """The living processes below one, in no order that matters."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    below, waiting = [], [root]
    while waiting:
        above = waiting.pop()
        children = [pid for pid, parent in parents.items() if parent == above]
        below += children
        waiting += children
    return sorted(below)


def is_of_server(pid: int) -> bool:
    """Whether a process is a fork server, or one that it has forked and that has not become another program."""
    with suppress(OSError):
        return b"processes.fork_server" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def orphans() -> list[str]:
    """The command lines of what has outlived its parent. This process inherits them all, waits, and ends them."""
    until = time.monotonic() + ORPHAN_SECONDS
    while living := _living_children():
        if time.monotonic() > until:
            break
        time.sleep(0.02)
    commands = []
    for pid in living:
        with suppress(OSError):
            commands.append(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()[:300])
            os.kill(pid, signal.SIGKILL)
    _living_children()
    return commands


def _living_children() -> list[int]:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    return descendants(os.getpid())


def inherit_orphans() -> None:
    """Become the parent of every process below whose own parent ends."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_CHILD_SUBREAPER")


@contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """A small disk at a folder; whether one could be mounted."""
    folder.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder)]
    mounted = subprocess.run(mount, capture_output=True).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)


def attack(
    kills: int, full_disks: int, seed: int, names: list[str], folder: Path
) -> tuple[dict[str, Tally], str]:
    """Interrupt each job its share of the times; gives what happened, and what filled the disk."""
    jobs = [JOBS[name] for name in names]
    inherit_orphans()
    tallies: dict[str, Tally] = {}
    means = ""
    share = sum(job.weight for job in jobs)
    for job in jobs:
        chance = random.Random(f"{seed} {job.name}")
        tally = tallies[job.name] = Tally()
        rounds = Attack(job, folder / job.name, chance, tally)
        for left in range(-(-kills * job.weight // share), 0, -KILLS_A_ROUND):
            rounds.kill_some(min(left, KILLS_A_ROUND))
        with small_disk(folder / f"disk-{job.name}") as mounted:
            means = "a full tmpfs" if mounted else "RLIMIT_FSIZE"
            filled = Attack(job, folder / f"disk-{job.name}" / "place", chance, tally)
            for left in range(-(-full_disks * job.weight // share), 0, -DISKS_A_ROUND):
                rooms = [
                    int(chance.choice([0, 2 ** chance.uniform(10, 23)]))
                    for _ in range(min(left, DISKS_A_ROUND))
                ]
                filled.fill_disks(rooms, mounted)
        hit = f"{tally.kills} kills, {tally.of_servers} of them in fork servers"
        counted = ", ".join(f"{what} {tally.counts[what]}" for what in COUNTED)
        print(f"{job.name}: {hit}, {tally.full_disks} full disks; {counted}", file=sys.stderr, flush=True)
        print("\n".join(tally.words), file=sys.stderr, flush=True)
    return tallies, means


def table(tallies: dict[str, Tally], means: str) -> str:
    """The figures as Markdown."""
    lines = [f"| what ran | kills | full disks ({means}) | " + " | ".join(COUNTED) + " |", "|---" * 7 + "|"]
    for name, tally in tallies.items():
        counts = " | ".join(str(tally.counts[what]) for what in COUNTED)
        lines.append(f"| {JOBS[name].title} | {tally.kills} | {tally.full_disks} | {counts} |")
    totals = " | ".join(str(sum(t.counts[what] for t in tallies.values())) for what in COUNTED)
    kills, disks = sum(t.kills for t in tallies.values()), sum(t.full_disks for t in tallies.values())
    return "\n".join([*lines, f"| **all** | {kills} | {disks} | {totals} |"])


def main() -> None:
    """Print the table, and the words of every failure on stderr; status 1 when there is one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--full-disks", type=int, default=50)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--jobs", nargs="+", choices=sorted(JOBS), default=list(JOBS))
    asked = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory(prefix="klineage-interruptions-") as name:
        tallies, means = attack(asked.kills, asked.full_disks, asked.seed, asked.jobs, Path(name))
    print(table(tallies, means))
    sys.exit(1 if any(tally.words for tally in tallies.values()) else 0)


if __name__ == "__main__":
    main()
