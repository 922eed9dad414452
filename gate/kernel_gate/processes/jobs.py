"""A command whose end an event loop waits for: what takes long or could crash never runs in a server.

Cancelling the coroutine ends the whole group: the command, and the compilers and kernels that it started.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernel_gate.processes.python import python_command
from kernel_gate.processes.seal import SECRET_BYTES, ForeignAnswerError, Seal
from kernel_gate.processes.surroundings import environment

GRACE = 2.0
"""Seconds between asking a group to end and ending it."""
LONGEST_LINE = 1 << 20
_GIVES_WAY = 10
"""The niceness of what runs in the background."""
KEPT_LINES = 40
MOST_BYTES = 1 << 30
"""The most that is read of stdout; the lineages of a large repository are tens of megabytes."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended."""

    code: int
    stdout: bytes
    last_lines: tuple[str, ...]
    """The end of stderr."""


async def run_python(
    module: str,
    *arguments: str,
    folder: Path,
    stdin: bytes = b"",
    more: Mapping[str, str] | None = None,
    on_line: Callable[[str], None] | None = None,
    background: bool = False,
) -> Finished:
    """Run a module of ours as `run` does. A stdout that is not all its own is left out, and `last_lines` says so."""
    secret = secrets.token_bytes(SECRET_BYTES)
    command = python_command(module, *arguments, sealed=True)
    try:
        finished = await run(
            command, folder=folder, stdin=secret + stdin, more=more, on_line=on_line, background=background
        )
        return replace(finished, stdout=Seal(secret).open_all(finished.stdout))
    except ForeignAnswerError as error:
        return Finished(-1, b"", (str(error),))


async def run(
    command: Sequence[str],
    *,
    folder: Path,
    stdin: bytes = b"",
    more: Mapping[str, str] | None = None,
    on_line: Callable[[str], None] | None = None,
    background: bool = False,
) -> Finished:
    """Run a command in a folder, and give each line of its stderr to `on_line` as it comes.

    `more` is added to its variables; in the `background` it gives way to what a person waits for. Raises `OSError`
    when it cannot be started.
    """
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env={**environment(), **(more or {})},
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        limit=LONGEST_LINE,
        start_new_session=True,
    )
    if background:
        with contextlib.suppress(ProcessLookupError):  # it has ended
            os.setpriority(os.PRIO_PROCESS, process.pid, _GIVES_WAY)
    try:
        _, stdout, last_lines = await asyncio.gather(
            _feed(process, stdin), _read(process), _read_lines(process, on_line)
        )
        return Finished(await process.wait(), stdout, last_lines)
    finally:
        if process.returncode is None:
            await asyncio.shield(_end(process))


async def _feed(process: Process, data: bytes) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(data)
        await process.stdin.drain()
    except (BrokenPipeError, ConnectionResetError):
        log.debug("the command did not read its input")
    finally:
        process.stdin.close()


async def _read(process: Process) -> bytes:
    assert process.stdout is not None
    parts, size = [], 0
    while part := await process.stdout.read(LONGEST_LINE):
        size += len(part)
        if size > MOST_BYTES:
            raise ForeignAnswerError(f"the command wrote more than {MOST_BYTES >> 20} MB")
        parts.append(part)
    return b"".join(parts)


async def _read_lines(process: Process, on_line: Callable[[str], None] | None) -> tuple[str, ...]:
    assert process.stderr is not None
    kept: list[str] = []
    while True:
        try:
            raw = await process.stderr.readline()
        except ValueError:  # longer than the limit: the reader has dropped it
            continue
        if not raw:
            return tuple(kept)
        line = raw.decode("utf-8", "replace").rstrip()
        kept = [*kept[1 - KEPT_LINES :], line]
        if on_line is not None:
            on_line(line)


async def _end(process: Process) -> None:
    _signal_group(process, signal.SIGTERM)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), GRACE)
    # The command may be gone while a compiler that it started is not.
    _signal_group(process, signal.SIGKILL)
    await process.wait()


def _signal_group(process: Process, number: signal.Signals) -> None:
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        log.debug("process group %d has ended", process.pid)
