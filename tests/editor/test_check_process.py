"""The task of a check: whoever cancels it hears no more of it, and neither does the log."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from typing import Any

import pytest

from kernel_lineage.editor import check_process
from kernel_lineage.editor.check_process import CheckProcess
from kernel_lineage.learning.apart import LostWorkError


class _Trust:
    """A worker that does nothing, and processes at a task until they are ended."""

    def __init__(self) -> None:
        self.at_work, self.ended = threading.Event(), threading.Event()

    def worker(self) -> _Trust:
        return self

    def processes(self) -> _Trust:
        return self

    def prepare(self) -> None:
        """Nothing is to be prepared."""

    def do(self, *_task: object) -> str:
        self.at_work.set()
        self.ended.wait(10)
        raise LostWorkError("its process ended without a result (status -9)")

    def interrupt(self) -> None:
        self.ended.set()


def _do(process: CheckProcess) -> Any:
    return process.do("a.module", "{}", 60.0, lambda _stage: None)


async def _at_work(trust: _Trust) -> None:
    while not trust.at_work.is_set():
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("cancels", [1, 2])
def test_a_cancelled_task_whose_process_is_ended_is_no_error_of_the_loop(monkeypatch, cancels):
    monkeypatch.setattr(check_process, "_ENDS", 0.2)
    heard: list[dict[str, Any]] = []

    async def cancelled() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: heard.append(context))
        trust = _Trust()
        task = asyncio.ensure_future(_do(CheckProcess(trust)))
        await _at_work(trust)
        for _ in range(cancels):
            task.cancel()
            await asyncio.sleep(0.05)
        trust.interrupt()
        with pytest.raises(asyncio.CancelledError):
            await task
        del task
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            gc.collect()
            await asyncio.sleep(0.05)

    asyncio.run(cancelled())
    assert heard == []


def test_a_task_whose_process_is_lost_is_the_callers_to_handle():
    async def lost() -> None:
        trust = _Trust()
        task = asyncio.ensure_future(_do(CheckProcess(trust)))
        await _at_work(trust)
        trust.interrupt()
        with pytest.raises(LostWorkError, match="status -9"):
            await task

    asyncio.run(lost())
