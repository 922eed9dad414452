"""Python processes of our own: started isolated, spoken to over pipes, ended with all that they started."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from kernel_gate.files.temporary import sweep, temporary_root
from kernel_gate.processes.group import kill_group
from kernel_gate.processes.seal import SECRET_BYTES, Seal
from kernel_gate.processes.surroundings import environment, package_folders

ANSWER_BYTES = 64 << 20
"""The longest line of an answer; a longer one ends the process that writes it."""
NOWHERE = Path("/")
"""Where processes run that need no folder: nothing of a workspace lies beside them."""

_START = """\
import sys, json
setup = json.loads(sys.argv.pop(1))
sys.path.extend(p for p in setup["packages"] if p not in sys.path)
sys.prefix, sys.exec_prefix = setup["prefixes"]
if setup["answers"]:
    from kernel_gate.processes.parent import watch_parent
    from kernel_gate.processes.seal import seal_stdout
    watch_parent(setup["answers"])
    seal_stdout()
import runpy
runpy.run_module(setup["module"], run_name="__main__", alter_sys=True)
"""
"""The first and only thing that a process reads by itself: -I and -S leave it the standard library alone, without
variables, working directory, user's folder, `sitecustomize` and `.pth` files."""


def python_command(
    module: str, *arguments: str, sealed: bool = False, writes_bytecode: bool = True
) -> list[str]:
    """The words that start a module as `python -m` would, isolated.

    A sealed one takes its secret from stdin first, and ends with this process.
    """
    top = sys.modules.get(module.partition(".")[0])
    own = [Path(top.__file__).resolve().parents[1]] if top is not None and top.__file__ else []
    setup = {
        "module": module,
        "packages": package_folders(*own),
        "prefixes": [sys.prefix, sys.exec_prefix],
        "answers": os.getpid() if sealed else None,
    }
    options = ["-I", "-S", "-X", "utf8", *([] if writes_bytecode else ["-B"])]
    return [sys.executable, *options, "-c", _START, json.dumps(setup), *arguments]


def start(
    command: list[str],
    *,
    folder: Path = NOWHERE,
    env: Mapping[str, str] | None = None,
    stdin: int | IO[Any] = subprocess.DEVNULL,
    stdout: int | IO[Any] | None = subprocess.DEVNULL,
    stderr: int | IO[Any] | None = subprocess.DEVNULL,
    own_group: bool = True,
) -> subprocess.Popen[bytes]:
    """A process in a group of its own, by default with this process's cleaned variables. Raises `OSError`."""
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment() if env is None else env,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=own_group,
    )


class Child:
    """A Python process of ours that reads lines and answers with sealed ones. Ended by `close`."""

    def __init__(
        self,
        module: str,
        *,
        more: Mapping[str, str] | None = None,
        stderr: int | None = None,
        answer_bytes: int = ANSWER_BYTES,
    ) -> None:
        secret = secrets.token_bytes(SECRET_BYTES)
        self.process = start(
            python_command(module, sealed=True),
            env={**environment(), **(more or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
        )
        self._seal = Seal(secret)
        self._answer_bytes = answer_bytes
        with suppress(BrokenPipeError):  # it has ended, which the first answer will say
            self._write(secret)

    def send(self, line: bytes) -> None:
        """Hand it a line. Raises `BrokenPipeError` when it has ended, `ValueError` when it was closed."""
        self._write(line + b"\n")

    def receive(self) -> bytes | None:
        """Its next line; None when there is none to come. Raises `ForeignAnswerError`."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline(self._answer_bytes)
        return self._seal.open(line) if line else None

    @property
    def ended(self) -> bool:
        """Whether the process has ended."""
        return self.process.poll() is not None

    def kill(self) -> int:
        """End it and all that it started, and remove its temporary folders; its exit status."""
        kill_group(self.process)
        with suppress(OSError):  # where no temporary folder can be used, it has made none
            sweep(temporary_root())
        return self.process.returncode

    def close(self) -> None:
        """End it and close the pipes."""
        self.kill()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):  # what was written last is read by nobody
                    pipe.close()

    def _write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()
