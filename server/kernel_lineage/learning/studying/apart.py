"""A study in a process of its own, which asks for verdicts here."""

from __future__ import annotations

from pydantic import BaseModel

from kernel_gate.verdict import Speedup
from kernel_lineage.learning.apart import Ask, Processes
from kernel_lineage.learning.probes.asking import Budget
from kernel_lineage.learning.replay.record import KeptStep
from kernel_lineage.learning.steps import Judge, Step
from kernel_lineage.learning.studying.parts import Studied
from kernel_lineage.learning.studying.study import PROBES, SECONDS, study
from kernel_lineage.workloads.proof import Device


class Task(BaseModel, frozen=True):
    """What a study is asked to do."""

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
    processes: Processes,
    *,
    device: Device,
    probes: Budget = PROBES,
    seconds: float = SECONDS,
    effect: Speedup | None = None,
) -> Studied:
    """As `study`. Raises `LostWorkError` when its process gives no result, and what `judge` raises."""
    task = Task(
        transition=step.transition,
        step=KeptStep.of(step),
        device=device,
        runs=probes.runs,
        probe_seconds=probes.seconds,
        seconds=seconds,
        effect=effect,
    )
    return Studied.model_validate_json(processes.do(__name__, task.model_dump_json(), {"probe": judge}))


def work(message: str, ask: Ask) -> str:
    """In the process: a `Task` → what the step teaches."""
    task = Task.model_validate_json(message)
    studied = study(
        task.step.step(task.transition),
        lambda request: ask("probe", request),
        device=task.device,
        probes=Budget(runs=task.runs, seconds=task.probe_seconds),
        seconds=task.seconds,
        effect=task.effect,
    )
    return studied.model_dump_json()
