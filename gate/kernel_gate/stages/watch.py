"""Watch: the same question answered by the emulated device, in a process beside the GPU's work.

A GPU runs the cases of the check without detectors: a race or a read past an array need not show there. So a second
process judges the same programs on the emulated device, with the same seed and cases, while the GPU compiles, checks
and times. What it rejects is rejected. What it could not watch, for its time or for an instruction that it does not
know, is in the stage's words, and in those of an acceptance.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from kernel_gate.devices.base import DeviceError
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest
from kernel_gate.stages.check_coverage import not_executed
from kernel_gate.verdict import Stage, StageStatus, Verdict
from kernel_gate.worker import Worker
from kernel_gate.workload import Workload

_BESIDE = 30.0
"""Seconds beyond those for its cases that the process has to start, to compile and to answer."""
_MOST_NAMED = 3
_POLL = 0.05


class Watch:
    """A verdict of the emulated device that is on its way. A context manager: leaving it ends the wait."""

    def __init__(
        self,
        worker: Worker,
        baseline: Program,
        candidate: Program,
        workload: Workload,
        options: GateOptions,
    ) -> None:
        self._worker, self._seconds = worker, options.watch_seconds
        self._request = GateRequest.of(
            baseline,
            candidate,
            workload,
            device="emulated",
            options=options.model_copy(update={"check_seconds": max(options.watch_seconds, 0.001)}),
        )
        self._verdict: Verdict | None = None
        self._missing = ""
        self._cancelled = threading.Event()
        self._thread = threading.Thread(target=self._judge, daemon=True)

    def __enter__(self) -> Watch:
        if self._seconds > 0:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._cancelled.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _judge(self) -> None:
        try:
            self._verdict = self._worker.judge(
                self._request, timeout=self._seconds + _BESIDE, cancelled=self._cancelled.is_set
            )
        except (DeviceError, OSError) as error:
            self._missing = str(error)

    def rejected(self) -> bool:
        """Whether it has rejected the candidate already; does not wait."""
        return self._verdict is not None and self._stage(self._verdict).status is StageStatus.FAIL

    def stage(self) -> Stage:
        """What it saw; waits until it has an answer or its time is spent."""
        if self._thread.ident is None:
            return _not_watched("watching is off (--watch-seconds 0)", {})
        started = time.monotonic()
        while self._thread.is_alive():
            self._thread.join(_POLL)
        waited = {"waited_seconds": round(time.monotonic() - started, 3)}
        if self._verdict is None:
            return _not_watched(self._missing or "its process ended", waited)
        stage = self._stage(self._verdict)
        return stage.model_copy(update={"details": {**stage.details, **waited}})

    def _stage(self, verdict: Verdict) -> Stage:
        decisive = next(
            (s for s in verdict.stages if s.status in {StageStatus.FAIL, StageStatus.UNAVAILABLE}), None
        )
        check, sanitized = verdict.stage("check"), verdict.stage("sanitize")
        about: dict[str, Any] = dict(check.details) if check is not None else {}
        details: dict[str, Any] = {"seconds": {s.name: s.seconds for s in verdict.stages}}
        details |= {
            name: about[name]
            for name in ("cases", "passed", "unreached", "coverage", "callers", "conditions")
            if name in about
        }
        if decisive is not None and decisive.status is StageStatus.FAIL:
            reason = f"the emulated device saw on the same cases: {decisive.reason}"
            evidence = {**decisive.details, **details}
            return Stage(
                name="watch", status=StageStatus.FAIL, code=decisive.code, reason=reason, details=evidence
            )
        if decisive is None or decisive.name != "profile":
            why = decisive.reason if decisive is not None else verdict.reason
            shared = decisive is not None and decisive is sanitized and decisive.details.get("findings")
            if shared and decisive is not None:
                return decisive.model_copy(
                    update={"name": "watch", "details": {**decisive.details, **details}}
                )
            return _not_watched(why, details)
        unreached = about.get("unreached", [])
        if unreached:
            named = "; ".join(unreached[:_MOST_NAMED]) + (" …" if len(unreached) > _MOST_NAMED else "")
            total = len(unreached) + int(about.get("cases", 0))
            why = f"{len(unreached)} of {total} cases did not fit into {self._seconds:g} s: {named}"
            return _not_watched(why, details)
        return Stage(
            name="watch",
            status=StageStatus.PASS,
            reason=f"emulated device beside: {about.get('cases', 0)} cases, nothing found"
            + not_executed(about.get("coverage", {})),
            details=details,
        )


def _not_watched(why: str, details: dict[str, Any]) -> Stage:
    return Stage(
        name="watch",
        status=StageStatus.PASS,
        code=Reason.NOT_WATCHED,
        reason=f"not watched by the emulated device: {why}",
        details=details,
    )
