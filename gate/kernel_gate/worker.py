"""One gate run in a process of its own: a hang or a crash costs one verdict, not the caller."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from pydantic import ValidationError

from kernel_gate.build.compile import kill_group
from kernel_gate.devices.base import DeviceError
from kernel_gate.evidence import companion_files, hash_inputs
from kernel_gate.gate import conclude
from kernel_gate.request import GateRequest, ProgressLine
from kernel_gate.verdict import ExitCode, Stage, StageStatus, Verdict

_POLL_SECONDS = 0.1


def run_in_child(
    request: GateRequest,
    *,
    timeout: float = 600.0,
    on_progress: Callable[[str, str, float], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Verdict:
    """The verdict of `python -m kernel_gate` on a request.

    When the process takes longer than `timeout` seconds, dies, or `cancelled()` says so, its group is killed and the
    verdict is inconclusive, with that reason. Raises `DeviceError` when the device that was asked for is missing.
    """
    packages = [str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")]
    process = subprocess.Popen(
        [sys.executable, "-m", "kernel_gate"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, packages))},
        start_new_session=True,
    )
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    answer: list[bytes] = []
    threads = [
        threading.Thread(target=_feed, args=(process.stdin, request.model_dump_json().encode()), daemon=True),
        threading.Thread(target=_drain_lines, args=(process.stderr, lines), daemon=True),
        threading.Thread(target=_drain, args=(process.stdout, answer), daemon=True),
    ]
    for thread in threads:
        thread.start()
    at = "build"
    said: list[str] = []
    deadline = time.monotonic() + timeout
    ended = ""
    try:
        while process.poll() is None and not ended:
            at = _pass_on(lines, on_progress, said, at, wait=_POLL_SECONDS)
            if cancelled is not None and cancelled():
                ended = "cancelled"
            elif time.monotonic() > deadline:
                ended = f"ended after {timeout:g} s without a verdict: the kernel or the device hangs"
    finally:
        # Also when the caller is interrupted: the process has a group of its own and would go on.
        kill_group(process)
    for thread in threads:
        thread.join()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    at = _pass_on(lines, on_progress, said, at, wait=0.0)
    if process.returncode == ExitCode.ENVIRONMENT and not answer[0]:
        raise DeviceError(said[-1] if said else "the device is missing")
    if not ended:
        try:
            return Verdict.model_validate_json(answer[0])
        except ValidationError:
            last = f": {said[-1]}" if said else ""
            ended = f"the gate's process died (status {process.returncode}){last}"
    return _inconclusive(request, at, ended)


def _feed(pipe: IO[bytes] | None, data: bytes) -> None:
    if pipe is None:
        return
    try:
        pipe.write(data)
        pipe.close()
    except BrokenPipeError:
        return


def _drain(pipe: IO[bytes] | None, into: list[bytes]) -> None:
    into.append(pipe.read() if pipe is not None else b"")


def _drain_lines(pipe: IO[bytes] | None, into: queue.SimpleQueue[str]) -> None:
    for line in pipe or ():
        into.put(line.decode("utf-8", "replace").rstrip("\n"))


def _pass_on(
    lines: queue.SimpleQueue[str],
    on_progress: Callable[[str, str, float], None] | None,
    said: list[str],
    at: str,
    *,
    wait: float,
) -> str:
    """Hand on the progress that has come; other lines are kept for a death notice. The stage that the run is at."""
    while True:
        try:
            line = lines.get(timeout=wait) if wait else lines.get_nowait()
        except queue.Empty:
            return at
        try:
            progress = ProgressLine.model_validate_json(line)
        except ValidationError:
            said[:] = [*said[-20:], line]
            continue
        at = progress.stage
        if on_progress is not None:
            on_progress(progress.stage, progress.what, progress.share)
        wait = 0.0


def _inconclusive(request: GateRequest, at: str, reason: str) -> Verdict:
    """A verdict for a run that gave none: the stage that it was at is unavailable."""
    before: list[Stage] = []
    for name in ("build", "check", "sanitize", "profile"):
        if name == at:
            break
        before.append(Stage(name=name, status=StageStatus.SKIPPED, reason="its result was lost"))
    stage = Stage(name=at, status=StageStatus.UNAVAILABLE, reason=reason)
    baseline, candidate = request.baseline.program(), request.candidate.program()
    workload = request.workload.model_copy(update={"folder": request.folder})
    companions = companion_files(workload)
    return conclude(
        [*before, stage], None, {}, hash_inputs(baseline, candidate, workload, request.options, companions)
    )
