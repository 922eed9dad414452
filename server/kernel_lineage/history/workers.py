"""Processes that analyse versions while the history is being read: one per core.

They are started anew, not forked: the caller may have threads. A task that kills its process is answered with no facts;
the others are not affected.
"""

import json
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed

from kernel_gate.processes.closing import Closing
from kernel_gate.processes.python import Child
from kernel_gate.processes.seal import ForeignAnswerError
from kernel_lineage.history.facts import FACTS, Facts, Task

_BATCH = 20
_IN_PROCESS_AT_MOST = 40
"""So few tasks cost less than starting a process."""


class Workers(Closing):
    """Takes tasks at any time and gives their facts in the end. Use it as a context manager."""

    def __init__(self, jobs: int | None):
        self._jobs = jobs or os.cpu_count() or 1
        self._waiting: list[Task] = []
        self._running: dict[Future[list[Facts]], list[Task]] = {}
        self._threads: ThreadPoolExecutor | None = None
        self._local = threading.local()
        self._processes: list[Child] = []
        self._spare: list[Child] = []
        self._closing = False

    def close(self) -> None:
        self._closing = True
        for process in list(self._processes):
            process.kill()
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            process.close()

    def start(self) -> None:
        """Starts the processes now: there will be many tasks."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._jobs, thread_name_prefix="analysis")
            self._spare = [self._start() for _ in range(self._jobs)]

    def submit(self, task: Task) -> None:
        """Takes a task; work begins as soon as there are enough to be worth a process."""
        self._waiting.append(task)
        if len(self._waiting) > _IN_PROCESS_AT_MOST or (self._threads and len(self._waiting) >= _BATCH):
            self._start_waiting()

    def finish(self, keep: Callable[[Sequence[tuple[str, Facts]]], None]) -> None:
        """Waits for every task; `keep` is handed (digest, facts) in batches as they are done."""
        if self._threads is None:
            from kernel_lineage.history.analysis import analyse

            keep([(task.digest, analyse(task)) for task in self._waiting])
            self._waiting = []
            return
        self._start_waiting()
        for future in as_completed(list(self._running)):
            tasks = self._running.pop(future)
            keep([(task.digest, facts) for task, facts in zip(tasks, future.result(), strict=True)])

    def _start_waiting(self) -> None:
        self.start()
        threads = self._threads
        while threads and self._waiting:
            batch, self._waiting = self._waiting[:_BATCH], self._waiting[_BATCH:]
            self._running[threads.submit(self._ask, batch)] = batch

    def _ask(self, tasks: Sequence[Task]) -> list[Facts]:
        answer = self._answer(tasks)
        if answer is not None or self._closing:
            return answer or []
        if len(tasks) == 1:
            return [Facts()]
        return [facts for task in tasks for facts in self._ask([task])]

    def _answer(self, tasks: Sequence[Task]) -> list[Facts] | None:
        """What this thread's process says; None when it died of it."""
        process: Child | None = getattr(self._local, "process", None)
        if process is None or process.ended:
            process = self._local.process = self._spare.pop() if self._spare else self._start()
        request = json.dumps([[t.digest, t.language, t.symbol, t.parts, t.device_code] for t in tasks])
        try:
            process.send(request.encode())
            line = process.receive()
        except (BrokenPipeError, ValueError, ForeignAnswerError):
            line = None
        if line is None:
            process.kill()
            return None
        return [FACTS.value(row) for row in json.loads(line)]

    def _start(self) -> Child:
        process = Child("kernel_lineage.history.analysis")
        self._processes.append(process)
        return process
