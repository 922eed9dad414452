"""Runs of a program that records, at several sizes, in one sandbox; and its launches as they were."""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kernel_gate.build.compile import Limits
from kernel_gate.build.contained_run import run_contained
from kernel_gate.files.reading import read_file
from kernel_gate.sandbox.containment import ContainmentError
from kernel_lineage.workloads.recording.build import Built, RecordingError, check_room, readable_below
from kernel_lineage.workloads.recording.launches import Launch, launch_of

_MOST_RECORD = 16 << 20
_ADDRESSES = 1 << 46
"""Address space of a run: buffers of any size are mapped, and few of their pages are touched."""
_FOLDER_BYTES = 256 << 20
_PROCESSES = 24
_MOST_SAID = 2_000_000
"""Bytes of what a run prints."""
_SPARE_SECONDS = 5.0
_TIME_IS_UP = 124
_BY_ITSELF = "it ended with status"
_STATUS = re.compile(r"[0-9]{1,3}")


@dataclass(frozen=True, slots=True)
class Run:
    """What to run."""

    sizes: Mapping[str, int]
    """Values for the sizes that the code writes out, by their names."""
    arguments: tuple[str, ...] = ()
    last: int = 0
    """Launches after which it may end; 0 for all."""
    seconds: float = 2.0
    calls: str = ""
    """Lines that the program reads from its input."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What a run gave."""

    launches: tuple[Launch, ...]
    why: str
    """How it ended, in words; "" for status 0."""
    output: str

    @property
    def was_cut(self) -> bool:
        """Whether it was ended, so that what it did not come to says nothing."""
        return bool(self.why) and not self.why.startswith(_BY_ITSELF)


def run(built: Built, runs: Sequence[Run], folder: Path, root: Path, cwd: Path) -> list[Ended]:
    """Each run's launches. The program reads what is not hidden in `root`, writes in `folder` and starts in `cwd`.

    Raises `RecordingError` where nothing can be contained.
    """
    readable = [*readable_below(root, cwd), built.program]
    folder = Path(tempfile.mkdtemp(prefix="runs-", dir=folder))
    lines = []
    for number, one in enumerate(runs):
        record, output, calls = (folder / f"{kind}{number}" for kind in ("record", "said", "calls"))
        calls.write_text(one.calls, "utf-8")
        variables = {f"KLINEAGE_SIZE_{name}": str(size) for name, size in one.sizes.items()}
        variables |= {"KLINEAGE_RECORD": str(record), "KLINEAGE_LAST": str(one.last), "OMP_NUM_THREADS": "1"}
        pairs = " ".join(shlex.quote(f"{n}={v}") for n, v in variables.items())
        program = " ".join(shlex.quote(word) for word in (str(built.program), *one.arguments))
        limited = f"timeout --foreground -s KILL {one.seconds:g} {program}"
        status = shlex.quote(str(folder / f"status{number}"))
        lines.append(
            f"env {pairs} {limited} <{shlex.quote(str(calls))} 2>&1 | head -c {_MOST_SAID} >{shlex.quote(str(output))}"
            f"; echo ${{PIPESTATUS[0]}} >{status}"
        )
    script = folder / "runs.sh"
    script.write_text("ulimit -c 0\n" + "\n".join(lines) + "\n", "utf-8")
    seconds = sum(one.seconds for one in runs) + _SPARE_SECONDS
    limits = Limits(seconds, _ADDRESSES, folder_bytes=_FOLDER_BYTES, files=2000, processes=_PROCESSES)
    try:
        done = run_contained(["/bin/bash", str(script)], folder, readable=readable, cwd=cwd, limits=limits)
    except ContainmentError as error:
        raise RecordingError(f"host code is not run where it cannot be contained: {error}") from error
    except OSError as error:
        raise RecordingError(f"the recorded program cannot be started: {error.strerror or error}") from error
    check_room(folder)
    return [_ended(folder, number, done.excess) for number in range(len(runs))]


def _ended(folder: Path, number: int, excess: str) -> Ended:
    launches: list[Launch] = []
    for line in _lines(folder / f"record{number}"):
        with suppress(ValueError):  # the program may have written there itself
            launches.append(launch_of(line))
    output = "\n".join(_lines(folder / f"said{number}"))
    status = "".join(_lines(folder / f"status{number}"))
    return Ended(tuple(launches), _ending(status, excess), output)


def _ending(status: str, excess: str) -> str:
    if not status:
        return f"it {excess}" if excess else "it was not run"
    if not _STATUS.fullmatch(status) or int(status) == 0:
        return ""
    number = int(status)
    if number in (_TIME_IS_UP, 137):
        return "its time was up"
    return f"it ended with signal {number - 128}" if number > 128 else f"{_BY_ITSELF} {number}"


def _lines(path: Path) -> list[str]:
    try:
        # The program may have put a link there.
        return read_file(path, within=path.parent, most=_MOST_RECORD).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
