"""A study in a process of its own, which asks for verdicts here: many at once do not wait for one interpreter.

About half of what a study computes is Python and proofs; in threads of one process no more than a few go on at a time.
Its process writes lines to its output, a question (`?` and a request) or the end (`=` and what was learned), and reads
an answer for each question: a verdict, or `!` and why the device is missing.
"""

from __future__ import annotations

import os
import subprocess
import sys

from pydantic import BaseModel, ConfigDict

from kernel_gate.devices.base import DeviceError
from kernel_gate.request import GateRequest
from kernel_gate.threads import ONE_THREAD
from kernel_gate.verdict import Speedup, Verdict
from kernel_lineage.learning.probes.asking import Budget
from kernel_lineage.learning.replay.record import KeptStep
from kernel_lineage.learning.steps import Judge, Step
from kernel_lineage.learning.studying.parts import Studied
from kernel_lineage.learning.studying.study import PROBES, SECONDS, study
from kernel_lineage.rewrite.drafting.proof import Device

_MODULE = "kernel_lineage.learning.studying.apart"


class Task(BaseModel):
    """What a study is asked to do."""

    model_config = ConfigDict(frozen=True)

    transition: str
    step: KeptStep
    device: Device
    runs: int
    probe_seconds: float
    seconds: float
    effect: Speedup | None


def study_apart(
    step: Step,
    judge: Judge,
    *,
    device: Device,
    probes: Budget = PROBES,
    seconds: float = SECONDS,
    effect: Speedup | None = None,
) -> Studied:
    """As `study`. A process that dies costs what the step teaches. Raises what `judge` raises besides `DeviceError`."""
    task = Task(
        transition=step.transition,
        step=KeptStep.of(step),
        device=device,
        runs=probes.runs,
        probe_seconds=probes.seconds,
        seconds=seconds,
        effect=effect,
    )
    process = subprocess.Popen(
        [sys.executable, "-m", _MODULE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **ONE_THREAD},
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        print(task.model_dump_json(), file=process.stdin, flush=True)
        for line in process.stdout:
            if line.startswith("="):
                return Studied.model_validate_json(line[1:])
            if line.startswith("?"):
                print(_answer(line[1:], judge), file=process.stdin, flush=True)
        return Studied(compound=f"its study ended without a result (status {process.wait()})")
    except BrokenPipeError:
        return Studied(compound=f"its study ended without a result (status {process.wait()})")
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            try:
                pipe.close()
            except BrokenPipeError:  # what was written last is read by nobody
                continue


def _answer(question: str, judge: Judge) -> str:
    try:
        return judge(GateRequest.model_validate_json(question)).model_dump_json()
    except DeviceError as error:
        return f"!{' '.join(str(error).split())}"


def main() -> None:
    """The process: one task from its input."""
    task = Task.model_validate_json(sys.stdin.readline())

    def judge(request: GateRequest) -> Verdict:
        print(f"?{request.model_dump_json()}", flush=True)  # noqa: T201
        answer = sys.stdin.readline()
        if answer.startswith("!"):
            raise DeviceError(answer[1:].strip())
        return Verdict.model_validate_json(answer)

    studied = study(
        task.step.step(task.transition),
        judge,
        device=task.device,
        probes=Budget(runs=task.runs, seconds=task.probe_seconds),
        seconds=task.seconds,
        effect=task.effect,
    )
    print(f"={studied.model_dump_json()}", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
