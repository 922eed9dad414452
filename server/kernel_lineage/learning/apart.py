"""Work in processes of their own, which ask for verdicts here: many at once do not wait for one interpreter.

Most of what replaying and studying compute is Python and proofs; in threads of one process only one goes on at a time.
A process reads tasks and answers from its input and writes lines to its output: a question (`?`, which judge, a
request), the end of a task (`=` and what came of it), or why there is none (`!`). An answer is a verdict, or `!` and
why the device is missing.
"""

from __future__ import annotations

import importlib
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path

from kernel_gate.devices.error import DeviceError
from kernel_gate.files.temporary import TemporaryFolder
from kernel_gate.processes.closing import Closing
from kernel_gate.processes.loading import loading
from kernel_gate.processes.python import Child
from kernel_gate.processes.seal import ForeignAnswerError
from kernel_gate.request import GateRequest
from kernel_gate.threads import ONE_THREAD
from kernel_gate.verdict import Verdict
from kernel_lineage.learning.steps import Judge

_MODULE = "kernel_lineage.learning.apart"
_TASKS = 32
"""What one process does before another takes its place: no leak grows for long."""

Ask = Callable[[str, GateRequest], Verdict]
"""From a process: which judge is asked, and what. Raises `DeviceError`."""


class LostWorkError(Exception):
    """A task without a result: its process died, was ended, or raised something; the message says which."""


class Processes(Closing):
    """Processes for tasks, each started when no other is idle. A context manager, safe for several threads."""

    def __init__(self) -> None:
        self._idle: list[_Process] = []
        self._all: set[_Process] = set()
        self._change = threading.Lock()
        self._closed = False
        self._folder = TemporaryFolder("apart")
        self.folder = Path(self._folder.name)
        """For what they leave to each other; removed with what they leave else."""

    def close(self) -> None:
        """End all processes, whatever they are at, with all that they started and left on the disk."""
        with self._change:
            self._closed = True
            for process in self._all:
                process.kill()
            for process in self._idle:
                process.close()
            self._all.clear()
            self._idle.clear()
        self._folder.cleanup()

    def do(self, work: str, task: str, judges: Mapping[str, Judge]) -> str:
        """What a task gives: `work` is a module with a `work(task, ask)`; task and result are one line of text each.

        Raises `LostWorkError`, and what a judge raises.
        """
        process = self._take()
        whole = False
        try:
            result = process.do(work, task, judges)
            whole = True
            return result
        finally:
            self._give(process, whole)

    def interrupt(self) -> None:
        """End the processes that are at a task: each loses it. The idle ones stay."""
        with self._change:
            for process in self._all.difference(self._idle):
                process.kill()

    def _take(self) -> _Process:
        with self._change:
            if self._closed:
                raise LostWorkError("the run was ended")
            if self._idle:
                return self._idle.pop()
            process = _Process(self.folder)
            self._all.add(process)
            return process

    def _give(self, process: _Process, whole: bool) -> None:
        with self._change:
            if whole and process.tasks < _TASKS and not self._closed:
                self._idle.append(process)
                return
            self._all.discard(process)
            process.kill()
        process.close()


class _Process:
    """One process, which does one task at a time."""

    def __init__(self, folder: Path) -> None:
        self.tasks = 0
        # What it leaves on the disk when it is ended is removed with the folder.
        self._child = Child(_MODULE, more={**ONE_THREAD, "TMPDIR": str(folder)})

    def do(self, work: str, task: str, judges: Mapping[str, Judge]) -> str:
        self.tasks += 1
        missing: DeviceError | None = None
        with suppress(BrokenPipeError):
            self._child.send(f"{work} {task}".encode())
            while (line := self._receive()) is not None:
                kind, rest = line[0], line[1:]
                if kind == "=":
                    return rest
                if kind == "!":
                    raise missing or LostWorkError(rest)
                name, _, question = rest.partition(" ")
                try:
                    answer = judges[name](GateRequest.model_validate_json(question)).model_dump_json()
                except DeviceError as error:
                    missing = error
                    answer = f"!{_line(error)}"
                self._child.send(answer.encode())
        status = self._child.process.wait()
        raise LostWorkError(f"its process ended without a result (status {status})")

    def _receive(self) -> str | None:
        try:
            line = self._child.receive()
        except ForeignAnswerError as error:
            raise LostWorkError(str(error)) from error
        return None if line is None else line.decode("utf-8")

    def kill(self) -> None:
        self._child.kill()

    def close(self) -> None:
        self._child.close()


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def main() -> None:
    """The process: tasks from its input, until it ends."""
    tell = sys.stdout
    sys.stdout = sys.stderr  # what a library prints is no answer

    def say(line: str) -> None:
        tell.write(line + "\n")
        tell.flush()

    def ask(judge: str, request: GateRequest) -> Verdict:
        say(f"?{judge} {request.model_dump_json()}")
        answer = sys.stdin.readline()
        if not answer:
            sys.exit("who asked for this work is gone")
        if answer.startswith("!"):
            raise DeviceError(answer[1:].rstrip("\n"))
        return Verdict.model_validate_json(answer)

    for line in sys.stdin:
        work, _, task = line.rstrip("\n").partition(" ")
        try:
            with nullcontext() if work in sys.modules else loading():
                module = importlib.import_module(work)
            result = module.work(task, ask)
        except Exception as error:  # noqa: BLE001 - one task is lost, with its reason
            if not isinstance(error, DeviceError):
                traceback.print_exc()
            say(f"!{type(error).__name__}: {_line(error)}")
        else:
            say(f"={result}")


if __name__ == "__main__":
    main()
