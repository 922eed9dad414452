"""Run a program that nobody has read: no network, no keys, no files but its own, and limits on all that it takes."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from kernel_gate.build.compile import Limits
from kernel_gate.processes.forked import Forked
from kernel_gate.processes.forking import start_python
from kernel_gate.processes.group import wait_within
from kernel_gate.processes.surroundings import bare_environment
from kernel_gate.sandbox.containment import REMEDY, Containment, ContainmentError, offered
from kernel_gate.sandbox.runner import CANNOT_ENTER

_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Ran:
    """How a contained program ended."""

    status: int | None
    """Exit status, negative for a signal; None when it was ended for `excess`."""
    excess: str
    """What it took too much of, in words; "" for nothing."""
    output: str
    """The end of what it printed, errors included; at most 1 MB."""
    contained: bool


def decided(containment: Containment | None = None, *, allow_uncontained: bool) -> Containment:
    """What contains foreign code here. Raises `ContainmentError` where that is not enough, unless it is allowed."""
    containment = containment or offered()
    if not containment.holds and not allow_uncontained:
        raise ContainmentError(f"{', '.join(containment.missing)} would not be contained; {REMEDY}")
    return containment


def start_contained(
    command: Sequence[str],
    folder: Path,
    *,
    containment: Containment,
    limits: Limits,
    readable: Iterable[Path] = (),
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
    stdout: int | IO[bytes] = subprocess.DEVNULL,
    stderr: int | IO[bytes] = subprocess.DEVNULL,
) -> subprocess.Popen[bytes] | Forked:
    """A process that shuts itself in and then becomes `command`. Raises `OSError` when it cannot be started."""
    request = {
        "command": list(command),
        "folder": str(folder),
        "cwd": str((cwd or folder).resolve()),
        "readable": [str(p.absolute()) for p in readable],
        "environment": {**bare_environment(folder), **(environment or {})},
        "limits": limits.of_one_process,
        "containment": containment.to_json(),
    }
    return start_python(
        "kernel_gate.sandbox.runner",
        json.dumps(request),
        imports="",
        env=bare_environment(folder),
        folder=folder,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
    )


def run_contained(
    command: Sequence[str],
    folder: Path,
    *,
    readable: Iterable[Path] = (),
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    containment: Containment | None = None,
    allow_uncontained: bool = False,
) -> Ran:
    """Run `command` and wait until it and all that it started have ended.

    It may write in `folder`, read there, in `readable` and in the system's programs, and run those and the file that
    `command` names. It sees a few named variables and `environment`, and starts in `cwd` (by default the folder).
    Raises `ContainmentError` where files, networks and other processes cannot be kept from it, unless
    `allow_uncontained`.
    """
    limits, folder = limits or Limits(), folder.resolve()
    containment = decided(containment, allow_uncontained=allow_uncontained)
    program = Path(command[0])
    own = [program.resolve()] if program.is_absolute() else []
    if own and own[0].is_relative_to(folder):
        make_executable(program)
    with tempfile.TemporaryFile() as output:
        process = start_contained(
            command,
            folder,
            readable=[*readable, *own],
            cwd=cwd,
            environment=environment,
            limits=limits,
            containment=containment,
            stdout=output,
            stderr=output,
        )
        status, excess = wait_within(process, folder, limits.of_the_group)
        output.seek(max(0, output.seek(0, os.SEEK_END) - _READ_BYTES))
        text = output.read().decode("utf-8", "replace")
    if status == CANNOT_ENTER and "cannot be entered" in text:
        raise ContainmentError(text.strip())
    return Ran(status, excess, text, containment.holds)


def make_executable(program: Path) -> None:
    """A contained linker may not change modes. Raises `OSError` for what is no plain file."""
    handle = os.open(program, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(f"{program} is no file that can be run")
        os.fchmod(handle, 0o700)
    finally:
        os.close(handle)
