"""A command in a process group of its own: what takes long or could crash never runs in the server.

Cancelling the coroutine ends the whole group: the command, and the compilers and kernels that it started.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

GRACE = 2.0
"""Seconds between asking a group to end and ending it."""
LONGEST_LINE = 1 << 20
KEPT_LINES = 40

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended."""

    code: int
    stdout: bytes
    last_lines: tuple[str, ...]
    """Of stderr."""


def klineage(*arguments: str) -> list[str]:
    """The words that start `klineage ARGUMENTS` with the interpreter of this server."""
    # Without -P the folder that it runs in, which is the user's, would come first among the places of modules.
    return [sys.executable, "-P", "-m", "kernel_lineage", *arguments]


async def run(
    command: Sequence[str],
    *,
    folder: Path,
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
    on_line: Callable[[str], None] | None = None,
) -> Finished:
    """Run a command in a folder, and give each line of its stderr to `on_line` as it comes."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env={**os.environ, **(environment or {})},
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        limit=LONGEST_LINE,
        start_new_session=True,
    )
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
    return await process.stdout.read()


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
