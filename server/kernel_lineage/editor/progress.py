"""What a person sees of a job while it runs: its stage, how long it has run, and a way to stop it."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Coroutine
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from lsprotocol import types
from pydantic import ValidationError

from kernel_lineage.editor.runs import Repeat, RunState

if TYPE_CHECKING:
    from kernel_lineage.editor.server import EditorServer

TICK = 1.0
"""Seconds between two reports of the elapsed time."""

T = TypeVar("T")
log = logging.getLogger(__name__)


class JobProgress:
    """Work-done progress of one job: under the editor's token, or one of ours if the editor can show it.

    The job is one of the server's `runs`; `repeat` starts it again. One that nobody asked for is `about` a document: it
    is seen among the runs only, and takes the place of those about the same that have ended.
    """

    def __init__(
        self,
        server: EditorServer,
        token: types.ProgressToken | None,
        title: str,
        repeat: Repeat,
        about: str = "",
    ) -> None:
        self._server = server
        self._quiet = bool(about)
        self._running = server.runs.run(title, repeat, about)
        self._stopped = False
        self._token = token
        self._title = title
        self._stage = "starting"
        self._started = time.monotonic()
        self._ticking: asyncio.Task[None] | None = None

    async def __aenter__(self) -> JobProgress:
        if self._token is None and not self._quiet and _shows_progress(self._server):
            token = f"klineage-{uuid.uuid4().hex}"
            await self._server.work_done_progress.create_async(token)
            self._token = token
        self._run = self._running.__enter__()
        if self._token is not None:
            begin = types.WorkDoneProgressBegin(self._title, cancellable=True, message=self._stage)
            self._server.work_done_progress.begin(self._token, begin)
            self._ticking = asyncio.create_task(self._tick())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._ticking is not None and self._token is not None:
            self._ticking.cancel()
            self._server.work_done_progress.end(self._token, types.WorkDoneProgressEnd())
            self._server.work_done_progress.tokens.pop(self._token, None)
        self._running.__exit__(kind, error, trace)

    @property
    def run_id(self) -> str:
        """The run's, in `runs`."""
        return self._run.id

    def end(self, state: RunState, message: str, page: str = "", drawn: str = "") -> None:
        """Say what came of the job."""
        self._run.end(state, message, page, drawn)

    def stage(self, stage: str) -> None:
        """Say what the job does now."""
        self._stage = stage
        self._run.stage(stage)
        self._report()

    def line(self, line: str) -> None:
        """Take a line of the command's stderr: its progress, or something for the log."""
        from kernel_lineage.rewrite.document import Progress

        try:
            progress = Progress.model_validate_json(line)
        except ValidationError:
            log.info("%s: %s", self._title, line)
            return
        self.stage(f"{progress.stage}: {progress.message}" if progress.message else progress.stage)

    async def unless_cancelled(self, work: Coroutine[Any, Any, T]) -> T | None:
        """What the work gives; None when the person cancelled the progress, and the work with it."""
        task = asyncio.ensure_future(work)
        token = None if self._token is None else self._server.work_done_progress.tokens.get(self._token)
        loop = asyncio.get_running_loop()

        def stop() -> None:
            self._stopped = True
            task.cancel()

        self._run.stop = stop
        if token is not None:
            token.add_done_callback(lambda _: loop.call_soon_threadsafe(task.cancel))
        try:
            return await task
        except asyncio.CancelledError:
            asked = self._stopped or (token is not None and token.cancelled())
            if asked and not _being_cancelled():
                return None
            task.cancel()
            raise

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            self._report()

    def _report(self) -> None:
        if self._token is not None:
            message = f"{self._stage} · {time.monotonic() - self._started:.0f} s"
            self._server.work_done_progress.report(self._token, types.WorkDoneProgressReport(message=message))


def _being_cancelled() -> bool:
    """Whether the request itself, not only the work that it waits for, was cancelled."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _shows_progress(server: EditorServer) -> bool:
    window = server.client_capabilities.window
    return bool(window and window.work_done_progress)
