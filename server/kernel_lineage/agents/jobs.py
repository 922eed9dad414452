"""Long work for an agent: `klineage` commands in processes of their own, with progress, a handle and a way to end them.

Kernels run one at a time: two at once would spoil each other's timing. What a process answers is sealed, so that no
program that it compiles or runs can answer in its place.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from kernel_gate.processes.jobs import Finished, run_python
from kernel_gate.standing import ExitCode
from kernel_lineage.agents.answers import Answer

KEPT = 32
"""Jobs whose answers are kept; the oldest that has ended is forgotten."""
AT_ONCE = 8
"""Jobs that wait or run; another one is refused."""

log = logging.getLogger(__name__)

Shape = Callable[[bytes, ExitCode], tuple[BaseModel, str]]
"""What a command printed, and its status → the result, and what to do next. Raises `ValueError`."""


@dataclass(frozen=True, slots=True)
class Work:
    """A command and what its answer becomes."""

    arguments: tuple[str, ...]
    shape: Shape
    stdin: bytes = b""
    runs_kernels: bool = True


@dataclass(slots=True)
class Job:
    """One command that was asked for."""

    id: str
    work: Work
    started: float = field(default_factory=time.monotonic)
    state: Literal["running", "done", "failed", "cancelled"] = "running"
    stage: str = "waiting for the job before"
    seconds: float = 0.0
    document: bytes = b""
    result: BaseModel | None = None
    message: str = ""
    next: str = ""
    task: asyncio.Task[None] | None = None

    def answer(self) -> Answer[Any]:
        """How it stands."""
        running = self.state == "running"
        return Answer(
            state=self.state,
            job=self.id,
            seconds=round(time.monotonic() - self.started if running else self.seconds, 1),
            stage=self.stage if running else "",
            result=self.result,
            message=self.message,
            next="job_result with this job waits for it; cancel_job ends it" if running else self.next,
        )


class TooManyJobsError(Exception):
    """Nothing more is begun until one has ended."""


class Jobs:
    """The jobs of one server."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._kernels = asyncio.Lock()

    def start(self, work: Work) -> Job:
        """Begin a command. Raises `TooManyJobsError`."""
        if sum(job.state == "running" for job in self._jobs.values()) >= AT_ONCE:
            raise TooManyJobsError(f"{AT_ONCE} jobs run already; wait for one with job_result, or cancel_job")
        job = Job(secrets.token_hex(4), work)
        self._jobs[job.id] = job
        job.task = asyncio.get_running_loop().create_task(self._run(job))
        ended = [other.id for other in self._jobs.values() if other.state != "running"]
        for old in ended[: max(len(self._jobs) - KEPT, 0)]:
            del self._jobs[old]
        return job

    def get(self, name: str) -> Job | None:
        """The job of that name, if it is kept."""
        return self._jobs.get(name)

    async def wait(self, job: Job, seconds: float) -> None:
        """Until the job has ended, for so long at the most."""
        if job.task is not None:
            await asyncio.wait([job.task], timeout=seconds)

    async def cancel(self, job: Job) -> None:
        """End a job, with every process that it started."""
        if job.task is not None and not job.task.done():
            job.task.cancel()
            with suppress(asyncio.CancelledError):
                await job.task
        if job.state == "running":
            self._end(job, "cancelled", "cancelled; nothing was changed by it from then on")

    async def close(self) -> None:
        """End them all."""
        for job in list(self._jobs.values()):
            await self.cancel(job)

    async def _run(self, job: Job) -> None:
        try:
            if job.work.runs_kernels:
                async with self._kernels:
                    finished = await self._command(job)
            else:
                finished = await self._command(job)
        except OSError as error:
            self._end(job, "failed", f"klineage cannot be started: {error.strerror or error}")
            return
        try:
            job.result, job.next = job.work.shape(finished.stdout, _status(finished.code))
        except (ValueError, OSError):  # no document: the command has said why on stderr
            self._end(job, "failed", _why(finished))
            return
        job.document = finished.stdout
        self._end(job, "done")

    async def _command(self, job: Job) -> Finished:
        job.stage = "reading"

        def staged(line: str) -> None:
            job.stage = _stage_of(line) or job.stage

        return await run_python(
            "kernel_lineage",
            *job.work.arguments,
            folder=self._folder,
            stdin=job.work.stdin,
            more={"KLINEAGE_PROGRESS": "json"},
            on_line=staged,
        )

    def _end(self, job: Job, state: Literal["done", "failed", "cancelled"], message: str = "") -> None:
        job.seconds = time.monotonic() - job.started
        job.state, job.message = state, message
        log.info("%s: %s in %.1f s", job.work.arguments[0], state, job.seconds)


def _status(code: int) -> ExitCode:
    try:
        return ExitCode(code)
    except ValueError:
        return ExitCode.UNDECIDED


def _stage_of(line: str) -> str | None:
    """What a line of progress says; None for any other line."""
    try:
        event = json.loads(line)
        return f"{event['stage']}: {event['message']}"[:120]
    except (ValueError, KeyError, TypeError):
        return None


def _why(finished: Finished) -> str:
    """The last words of a command that has printed no document."""
    lines = [line for line in finished.last_lines if line.strip() and _stage_of(line) is None]
    return " ".join(lines[-3:]) if lines else f"klineage ended with status {finished.code} and said nothing"
