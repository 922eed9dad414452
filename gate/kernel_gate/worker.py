"""Gate runs in a process of their own: a hang or a crash costs one verdict, not the caller.

The process stays up between verdicts, with its imports done and its device open, so that the next one starts warm. It
is replaced after a hang, a death, or a kernel that made the device's context unusable.
"""

from __future__ import annotations

import queue
import re
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, TypedDict, Unpack

from pydantic import ValidationError

from kernel_gate.conclusion import conclude
from kernel_gate.deadline import seconds_left
from kernel_gate.devices.error import DeviceError
from kernel_gate.processes.closing import Closing
from kernel_gate.processes.python import Child
from kernel_gate.processes.seal import ForeignAnswerError
from kernel_gate.reasons import Reason
from kernel_gate.request import FinishedLine, GateRequest, ProgressLine
from kernel_gate.reuse import inputs_hash_of
from kernel_gate.standing import ExitCode
from kernel_gate.threads import ONE_THREAD
from kernel_gate.verdict import Stage, StageStatus, Verdict

Progress = Callable[[str, str, float], None]
"""Stage, what it is at, share done of the stage (0 … 1)."""
_POLL_SECONDS = 0.1
_EXCEPTION = re.compile(r"[\w.]*(?:Error|Exception|Interrupt)\b")
_KEPT_MESSAGES = 20
_LONGEST_MESSAGE = 1 << 20
_FINISHED, _LEAVING = '{"finished":', '{"leaving":'
"""How a `FinishedLine` and a `LeavingLine` begin, and no verdict."""


class Judging(TypedDict, total=False):
    """How a verdict is waited for; see `Worker.judge`."""

    timeout: float
    on_progress: Progress | None
    cancelled: Callable[[], bool] | None
    on_stage: Callable[[Stage], None] | None


@dataclass(frozen=True, slots=True)
class _Event:
    """A line that the process wrote, or the end of its answers."""

    kind: Literal["answer", "message", "foreign", "end"]
    text: str = ""


class Worker(Closing):
    """One process that judges one request after another. Not for several threads at once.

    `environment` is added to the process's own: `{"CUDA_VISIBLE_DEVICES": "1"}` gives it one GPU.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = dict(environment or {})
        self._child: Child | None = None
        self._events: queue.SimpleQueue[_Event] = queue.SimpleQueue()
        self._readers: list[threading.Thread] = []

    @property
    def process_id(self) -> int | None:
        """The process that the next request goes to; None when it would be a new one."""
        return self._child.process.pid if self._child is not None and not self._child.ended else None

    def prepare(self) -> None:
        """Start the process, when none runs: its imports are done by the time that a request comes."""
        if self._child is None:
            self._running()

    def close(self) -> None:
        """End the process and everything that it started."""
        if self._child is None:
            return
        self._child.kill()
        for reader in self._readers:
            reader.join()
        self._child.close()
        self._child = None

    def judge(
        self,
        request: GateRequest,
        *,
        timeout: float = 600.0,
        on_progress: Progress | None = None,
        cancelled: Callable[[], bool] | None = None,
        on_stage: Callable[[Stage], None] | None = None,
    ) -> Verdict:
        """The verdict on a request; `on_stage` gets each stage that passes, when the request says `tell_stages`.

        When it takes longer than `timeout` seconds, the process dies, or `cancelled()` says so, the verdict is
        inconclusive with that reason, and the next request gets a new process. Raises `DeviceError` when the device
        that was asked for is missing.
        """
        child = self._running()
        if request.folder is not None:  # the process runs in another folder than this one
            request = request.model_copy(update={"folder": request.folder.absolute()})
        feeder = threading.Thread(target=_feed, args=(child, request.model_dump_json().encode()), daemon=True)
        feeder.start()
        watch = _Watch(on_progress)
        leaves = False
        deadline = time.monotonic() + timeout
        try:
            while True:
                if cancelled is not None and cancelled():
                    return without_answer(request, watch.at, Reason.CANCELLED, "cancelled")
                if time.monotonic() > deadline:
                    why = f"ended after {timeout:.3g} s without a verdict{watch.last_seen()}: "
                    # Where the caller's deadline comes first, nothing points at the kernel.
                    why += "the kernel hangs, or it needs more time" if seconds_left() else "the time is up"
                    return without_answer(request, watch.at, Reason.HANG, why, finished=watch.finished)
                try:
                    event = self._events.get(timeout=_POLL_SECONDS)
                except queue.Empty:
                    continue
                if event.kind == "message":
                    watch.message(event.text)
                elif event.kind == "end":
                    return self._ended(child, request, watch)
                elif event.kind == "foreign":
                    return without_answer(request, watch.at, Reason.WORKER_DIED, event.text)
                elif event.text.startswith(_FINISHED):
                    watch.finished.append(FinishedLine.model_validate_json(event.text).finished)
                    if on_stage is not None:
                        on_stage(watch.finished[-1])
                elif event.text.startswith(_LEAVING):
                    leaves = True
                else:
                    verdict = Verdict.model_validate_json(event.text)
                    watch.answered = True
                    return verdict
        finally:
            # Also when the caller is interrupted: the process has a group of its own and would go on.
            # One that leaves would read no other request, and may take long to give a lost device back.
            if leaves or not watch.answered:
                self.close()
            feeder.join()

    def _running(self) -> Child:
        """The process; a new one when there is none, or the last one has ended."""
        if self._child is not None and self._child.ended:
            self.close()
        if self._child is None:
            more = {**ONE_THREAD, **self._environment}
            self._child = Child("kernel_gate", more=more, stderr=subprocess.PIPE)
            self._events = queue.SimpleQueue()
            self._readers = [
                threading.Thread(target=read, args=(self._child, self._events), daemon=True)
                for read in (_read_answers, _read_messages)
            ]
            for reader in self._readers:
                reader.start()
        else:
            self._forget_late_messages()
        return self._child

    def _forget_late_messages(self) -> None:
        while True:
            try:
                self._events.get_nowait()
            except queue.Empty:
                return

    def _ended(self, child: Child, request: GateRequest, watch: _Watch) -> Verdict:
        """What a process that ended without an answer means."""
        status = child.process.wait()
        self._readers[1].join()
        while not self._events.empty():
            event = self._events.get()
            if event.kind == "message":
                watch.message(event.text)
        if status == ExitCode.ENVIRONMENT:
            message = watch.lines[-1] if watch.lines else "the device is missing"
            raise DeviceError(message, code=Reason.DEVICE_MISSING)
        reason = f"the gate's process died (status {status}){watch.last_words()}"
        return without_answer(request, watch.at, Reason.WORKER_DIED, reason)


def run_in_child(request: GateRequest, **how: Unpack[Judging]) -> Verdict:
    """The verdict of a process that judges this request alone; see `Worker.judge`."""
    with Worker() as worker:
        return worker.judge(request.model_copy(update={"last": True}), **how)


class _Watch:
    """What the process said about one request."""

    def __init__(self, on_progress: Progress | None) -> None:
        self.at = "build"
        self.what = ""
        self.finished: list[Stage] = []
        """Stages that it told."""
        self.lines: list[str] = []
        self.answered = False
        self._on_progress = on_progress

    def last_seen(self) -> str:
        """What it was at."""
        return f", at {self.what}" if self.what else ""

    def last_words(self) -> str:
        """What it died of: its last exception, which a driver's complaints may follow, or its last line."""
        if not self.lines:
            return ""
        return ": " + next((line for line in reversed(self.lines) if _EXCEPTION.match(line)), self.lines[-1])

    def message(self, line: str) -> None:
        """Hand on a line of progress; keep another one for a death notice."""
        try:
            progress = ProgressLine.model_validate_json(line)
        except ValidationError:
            self.lines[:] = [*self.lines[-_KEPT_MESSAGES:], line]
            return
        self.at, self.what = progress.stage, progress.what
        if self._on_progress is not None:
            self._on_progress(progress.stage, progress.what, progress.share)


def _feed(child: Child, line: bytes) -> None:
    with suppress(BrokenPipeError, ValueError):  # it has ended, which its readers say
        child.send(line)


def _read_answers(child: Child, into: queue.SimpleQueue[_Event]) -> None:
    try:
        while (line := child.receive()) is not None:
            into.put(_Event("answer", line.decode("utf-8", "replace")))
    except ForeignAnswerError as error:
        into.put(_Event("foreign", f"{error}; no verdict of it is taken"))
    else:
        into.put(_Event("end"))


def _read_messages(child: Child, into: queue.SimpleQueue[_Event]) -> None:
    assert child.process.stderr is not None
    while line := child.process.stderr.readline(_LONGEST_MESSAGE):
        into.put(_Event("message", line.decode("utf-8", "replace").rstrip("\n")))


def without_answer(
    request: GateRequest, at: str, code: Reason, reason: str, *, finished: Sequence[Stage] = ()
) -> Verdict:
    """A verdict for a run that gave none: the stage that it was at is unavailable, and `finished` are those before."""
    ended = {stage.name: stage for stage in finished}
    before: list[Stage] = []
    for name in ("build", "check", "sanitize", "profile"):
        if name == at:
            break
        if name in ended:
            before.append(ended[name])
            continue
        lost = Stage(
            name=name, status=StageStatus.SKIPPED, code=Reason.RESULT_LOST, reason="its result was lost"
        )
        before.append(lost)
    stage = Stage(name=at, status=StageStatus.UNAVAILABLE, code=code, reason=reason)
    return conclude([*before, stage], None, {}, inputs_hash_of(request))
