"""Running compute-sanitizer: finding it, starting its tools side by side, and what each of them said.

A tool writes its records when it ends, but it says at once that there is something to record: on an H200 with version
2025.3 each message of each tool was in its file when the call that waits for the launch came back. So a process that
has said nothing watches one recording after the other: most of a tool's time is its context, and drivers make one
after the other. One that has said something is ended, and its records are read; they are of its last recording alone.
"""

import contextlib
import itertools
import json
import os
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kernel_gate.build.toolkit import toolkit_roots
from kernel_gate.files.temporary import TemporaryFolder
from kernel_gate.processes.closing import Closing
from kernel_gate.processes.group import kill_group
from kernel_gate.processes.python import python_command
from kernel_gate.processes.python import start as start_process
from kernel_gate.processes.surroundings import environment, find_program
from kernel_gate.processes.tools import run_tool
from kernel_gate.sanitizer.recording import ASKED, DONE, LEAVE, write_whole
from kernel_gate.sanitizer.records import Record, RecordsError, read_records
from kernel_gate.threads import ONE_THREAD

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
HOW_TO_GET = "it comes with the CUDA toolkit: install it, or set CUDA_HOME or PATH to where it is"
_MOST_RECORDS = 20
_PADDING = 256
"""Bytes that memcheck leaves after each allocation, so that a write just beyond one does not land in the next."""
_FIRST_PORT, _PORTS, _PER_RUN = 49152, 16000, 10
_numbers = itertools.count(os.getpid() * len(TOOLS))
_RECORDS, _MESSAGES = "records.xml", "messages.txt"
_SILENCE = ["========= COMPUTE-SANITIZER"]
"""All that a tool says which has nothing to say."""
_POLL_SECONDS = 0.002


class SanitizerMissing(Exception):  # noqa: N818
    """There is no compute-sanitizer; the message says how to get it."""


@cache
def find_tool() -> Path:
    """The compute-sanitizer to use. Raises `SanitizerMissing`."""
    name = "compute-sanitizer"
    on_path = find_program(name)
    places = [root / sub / name for root in toolkit_roots() for sub in ("bin", "compute-sanitizer")]
    for path in [*([Path(on_path)] if on_path else []), *places]:
        if path.is_file() and os.access(path, os.X_OK):
            return path
    raise SanitizerMissing(f"compute-sanitizer was not found; {HOW_TO_GET}")


@cache
def tool_version() -> str | None:
    """`2025.3.1.0`, None without the tool."""
    try:
        done = run_tool([str(find_tool()), "--version"], seconds=20)
    except (SanitizerMissing, OSError, subprocess.TimeoutExpired):
        return None
    return next((line.split()[1] for line in done.stdout.splitlines() if line.startswith("Version ")), None)


@dataclass(frozen=True, slots=True)
class Answer:
    """What one tool said of one recording."""

    tool: str
    records: tuple[Record, ...]
    addresses: tuple[int, ...]
    """Where the recording's buffers lay while it was replayed."""
    launches: int
    seconds: float
    unusable: str = ""
    """Why there is no answer; "" when there is one."""


@dataclass(slots=True)
class Running:
    """One tool's process; it makes its context, then waits for a recording. Its files are its own."""

    tool: str
    process: subprocess.Popen[Any]
    folder: TemporaryFolder
    started: float
    waits: bool = True
    """Whether it can be given a recording."""

    @property
    def out(self) -> Path:
        """Where it writes."""
        return Path(self.folder.name)

    def begin(self, plan: Path) -> None:
        """Let it replay the recording in a folder."""
        self.started, self.waits = time.monotonic(), False
        (self.out / DONE).unlink(missing_ok=True)
        write_whole(self.out / ASKED, str(plan))

    def close(self) -> None:
        """End the process and remove its files."""
        self.waits = False
        kill_group(self.process)
        self.folder.cleanup()

    def answer(self, deadline: float) -> Answer:
        """Wait for the tool until `deadline` (of time.monotonic()). Unless it waits for more then, it has ended."""
        done = self._replayed(deadline)
        if done is not None and not done["failed"] and self._says() == _SILENCE:
            self.waits = True
            seconds = time.monotonic() - self.started
            return Answer(self.tool, (), tuple(done["addresses"]), done["launches"], seconds)
        try:
            write_whole(self.out / ASKED, LEAVE)
            self.process.wait(max(0.1, deadline - time.monotonic()))
            why = ""
        except subprocess.TimeoutExpired:
            why = f"{self.tool} did not end within {time.monotonic() - self.started:.0f} s"
        finally:
            kill_group(self.process)
        return self._recorded(why)

    def _replayed(self, deadline: float) -> dict[str, Any] | None:
        """What came of the replay; None when the process has ended or the time is over."""
        while True:
            ended = self.process.poll() is not None
            with contextlib.suppress(FileNotFoundError):
                done: dict[str, Any] = json.loads((self.out / DONE).read_text("utf-8"))
                return done
            if ended or time.monotonic() > deadline:
                return None
            time.sleep(_POLL_SECONDS)

    def _says(self) -> list[str]:
        return (self.out / _MESSAGES).read_text("utf-8", "replace").splitlines()

    def _recorded(self, why: str) -> Answer:
        """The answer of a process that has ended; `why` it was ended, if it was."""
        seconds = time.monotonic() - self.started
        if why:
            return Answer(self.tool, (), (), 0, seconds, why)
        try:
            records = read_records((self.out / _RECORDS).read_bytes())
            done = json.loads((self.out / DONE).read_text("utf-8"))
        except (OSError, ValueError, RecordsError) as error:
            return Answer(
                self.tool, (), (), 0, seconds, f"{self.tool} gave nothing: {self._last_words(error)}"
            )
        if done["failed"] and not records:
            return Answer(self.tool, (), (), 0, seconds, f"{self.tool}: {done['failed']}")
        return Answer(self.tool, tuple(records), tuple(done["addresses"]), done["launches"], seconds)

    def _last_words(self, error: Exception) -> str:
        lines = [line.lstrip("= ") for line in self._says() if line.lstrip("= ")]
        return next((line for line in lines if "rror" in line and "SUMMARY" not in line), str(error))


def start(one: str) -> Running:
    """Start one of the tools. Raises `SanitizerMissing`, and `OSError` when a process or a file cannot be made."""
    tool = find_tool()
    folder = TemporaryFolder(one)
    out = Path(folder.name)
    port = _FIRST_PORT + next(_numbers) * _PER_RUN % _PORTS
    command = [
        str(tool),
        *("--tool", one, "--xml", "--save", str(out / _RECORDS)),
        *("--show-backtrace", "no", "--print-limit", str(_MOST_RECORDS)),
        *("--port", str(port), "--max-connections", str(_PER_RUN)),
        *(("--padding", str(_PADDING)) if one == "memcheck" else ()),
        *python_command("kernel_gate.sanitizer.replay", str(out), str(os.getpid()), writes_bytecode=False),
    ]
    try:
        with (out / _MESSAGES).open("wb") as messages:
            process = start_process(
                command,
                folder=out,
                env={**environment(), **ONE_THREAD, "TMPDIR": str(out)},
                stdout=messages,
                stderr=messages,
            )
    except BaseException:
        folder.cleanup()
        raise
    return Running(one, process, folder, time.monotonic())


class SpareTools(Closing):
    """Tools that have their context before there is anything to watch: most of their time goes there.

    A context manager.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, Running] = {}

    def close(self) -> None:
        """End those that wait."""
        while self._waiting:
            self._waiting.popitem()[1].close()

    def prepare(self, tools: Iterable[str] = TOOLS) -> None:
        """Start those that are not waiting already. What keeps them from starting is said when they are needed."""
        for one in tools:
            if one not in self._waiting:
                with contextlib.suppress(SanitizerMissing, OSError):
                    self._waiting[one] = start(one)

    def waiting(self, one: str) -> int | None:
        """The process of a tool that waits; None when none does."""
        running = self._waiting.get(one)
        return running.process.pid if running is not None else None

    def take(self, one: str) -> Running:
        """A tool, for the caller to give back: a waiting one, else a fresh one. Raises as `start`."""
        spare = self._waiting.pop(one, None)
        if spare is None:
            return start(one)
        if spare.process.poll() is None:
            return spare
        spare.close()
        return start(one)

    def give_back(self, running: Running) -> None:
        """Keep a tool that waits for more, and end any other."""
        if running.waits and running.tool not in self._waiting:
            self._waiting[running.tool] = running
        else:
            running.close()
