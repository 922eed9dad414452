"""A contained process of Python that is asked in lines of JSON and answers in such lines, which may say anything."""

import json
import select
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kernel_gate.build.compile import Limits
from kernel_gate.build.contained_run import start_contained
from kernel_gate.files.temporary import TemporaryFolder
from kernel_gate.processes.closing import Closing
from kernel_gate.processes.group import STEP_SECONDS, Watch, kill_group
from kernel_gate.sandbox.containment import Containment


class ChildError(Exception):
    """No answer, or none that can be read; the message says so of the process by its name."""


class ContainedChild(Closing):
    """A running process. A context manager: the process ends with it. `called` is its name in messages."""

    def __init__(
        self,
        called: str,
        command: Sequence[str],
        *,
        limits: Limits,
        containment: Containment,
        answer_bytes: int,
        readable: Iterable[Path] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._called, self._answer_bytes = called, answer_bytes
        self._temporary = TemporaryFolder("child")
        self.folder = Path(self._temporary.name)
        """What it may write to."""
        self._process = start_contained(
            command,
            self.folder.resolve(),
            readable=readable,
            environment=environment,
            limits=limits,
            containment=containment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._watch = Watch(self._process.pid, self.folder, limits.of_the_group)

    @property
    def runs(self) -> bool:
        """Whether its process is there."""
        return self._process.poll() is None

    def close(self) -> None:
        """End it."""
        kill_group(self._process)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                pipe.close()
        self._temporary.cleanup()

    def say(self, message: Mapping[str, Any]) -> None:
        """Hand it a message. Raises `ChildError` when it has ended."""
        stdin = self._process.stdin
        try:
            if stdin is None:
                raise ChildError(f"{self._called}'s process has no pipes")
            stdin.write(json.dumps(message).encode() + b"\n")
            stdin.flush()
        except BrokenPipeError as error:
            raise ChildError(f"{self._called}'s process ended") from error

    def hear(self, seconds: float) -> dict[str, Any]:
        """Its next message. Raises `ChildError` when none comes in time, or when it has taken too much."""
        stdout = self._process.stdout
        if stdout is None:
            raise ChildError(f"{self._called}'s process has no pipes")
        deadline = time.monotonic() + seconds
        while not select.select([stdout], [], [], STEP_SECONDS)[0]:
            if time.monotonic() > deadline:
                raise ChildError(f"{self._called} took longer than {seconds:g} s")
            if excess := self._watch.excess():
                raise ChildError(f"{self._called} {excess}")
        line = stdout.readline(self._answer_bytes)
        if not line:
            raise ChildError(f"{self._called}'s process ended without an answer")
        try:
            message = json.loads(line)
        except ValueError as error:
            raise ChildError(f"{self._called}'s process gave an answer that cannot be read") from error
        if not isinstance(message, dict):
            raise ChildError(f"{self._called}'s process gave an answer that cannot be read")
        return message
