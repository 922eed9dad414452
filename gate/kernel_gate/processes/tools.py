"""Programs of others that are asked one thing: compilers, demanglers, profilers that say their version."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_gate.processes.group import kill_group
from kernel_gate.processes.python import ANSWER_BYTES, NOWHERE, start
from kernel_gate.processes.surroundings import environment


@dataclass(frozen=True, slots=True)
class Ran:
    """How a program ended, and what it wrote."""

    status: int
    stdout: str
    stderr: str


def run_tool(
    command: Sequence[str],
    *,
    folder: Path = NOWHERE,
    seconds: float | None = None,
    more: Mapping[str, str] | None = None,
    own_group: bool = True,
) -> Ran:
    """Run a program without input; of what it writes, the first 64 MB of each stream are kept.

    `more` is added to its variables.
    A contained process cannot give it a group of its own, and is ended with it. Raises `OSError` when it cannot be
    started, `subprocess.TimeoutExpired` after `seconds`.
    """
    # Files, not pipes: a program that it leaves behind would keep a pipe open.
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        variables = {**environment(), **(more or {})}
        process = start(
            list(command), folder=folder, env=variables, stdout=stdout, stderr=stderr, own_group=own_group
        )
        try:
            status = process.wait(seconds)
        finally:
            if own_group:
                kill_group(process)
            else:
                process.kill()
                process.wait()
        texts = []
        for file in (stdout, stderr):
            file.seek(0)
            texts.append(file.read(ANSWER_BYTES).decode("utf-8", "replace"))
    return Ran(status, *texts)
