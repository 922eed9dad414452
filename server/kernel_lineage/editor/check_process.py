"""The processes behind the checks: one reads, drafts and proves, the gate's worker is asked for verdicts."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_gate.request import GateRequest
from kernel_gate.verdict import Verdict
from kernel_lineage.editor.checking import JUDGE

if TYPE_CHECKING:
    from kernel_lineage.editor.trust import Trust, Worker
    from kernel_lineage.learning.apart import Processes

_GRACE = 3.0
"""Seconds for ending a check in good order: to draft, to build, to say what was not reached."""
_FOR_VERDICTS = 0.5
"""The share of its time that a verdict has in any case, after a draft that has taken long."""
_ENDS = 5.0
"""Seconds after which a task that was cancelled, and is not at a verdict, is ended with its process: a new one takes
seconds to start, so the draft that it is at may better be waited for."""


class CheckProcess:
    """One task at a time."""

    def __init__(self, trust: Trust) -> None:
        self._trust = trust
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="check")
        self._worker: Worker | None = None
        self._processes: Processes | None = None
        self._numbers = itertools.count()

    @property
    def is_cold(self) -> bool:
        """Whether its processes have still to start."""
        return self._processes is None

    @contextmanager
    def stop_file(self) -> Iterator[Path]:
        """The path of a file that is made when the task to which it is given is cancelled."""
        processes = self._processes = self._processes or self._trust.processes()
        path = processes.folder / f"stop-{next(self._numbers)}"
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    async def do(
        self,
        work: str,
        task: str,
        seconds: float,
        stage: Callable[[str], None],
        stop_file: Path | None = None,
    ) -> str:
        """What a task gives. Cancelling ends the process that judges. Raises `LostWorkError`, `DeviceError`."""
        loop = asyncio.get_running_loop()
        stop = threading.Event()

        def report(name: str, what: str, _share: float) -> None:
            loop.call_soon_threadsafe(stage, f"{name}: {what}")

        done = loop.run_in_executor(self._thread, self._ask, work, task, seconds, stop.is_set, report)
        # Who cancels waits no more, and the task still ends with an error when its process is ended.
        done.add_done_callback(asyncio.Future.exception)
        late = loop.call_later((1 + _FOR_VERDICTS) * seconds + 2 * _GRACE, self._interrupt)
        try:
            await asyncio.wait([done])
            return done.result()
        except asyncio.CancelledError:
            stop.set()
            if stop_file is not None:
                stop_file.touch()
            await asyncio.wait([done], timeout=_ENDS)
            if not done.done():
                self._interrupt()
                await asyncio.wait([done])
            raise
        finally:
            late.cancel()

    def _interrupt(self) -> None:
        if self._processes is not None:
            self._processes.interrupt()

    def _ask(
        self,
        work: str,
        task: str,
        seconds: float,
        cancelled: Callable[[], bool],
        report: Callable[[str, str, float], None],
    ) -> str:
        """In the checking thread."""
        worker = self._worker = self._worker or self._trust.worker()
        processes = self._processes = self._processes or self._trust.processes()
        worker.prepare()  # its imports go on beside those of the process that drafts
        deadline = time.monotonic() + seconds + _GRACE

        def judge(request: GateRequest) -> Verdict:
            left = max(deadline - time.monotonic(), _FOR_VERDICTS * seconds, 1.0)
            return worker.judge(request.within(left), timeout=left, cancelled=cancelled, on_progress=report)

        return processes.do(work, task, {JUDGE: judge})
