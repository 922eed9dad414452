"""The gate process's request: both programs, the workload and the options as one JSON document."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.verdict import Stage
from kernel_gate.workload import Workload

_ANSWERING = 0.15
"""The share of the time that is kept for ending what is under way, and for the answer."""


class GateRequest(BaseModel, extra="forbid", frozen=True):
    """What `python -m kernel_gate` reads on stdin."""

    baseline: Program
    candidate: Program
    workload: Workload
    folder: Path | None = None
    """The workload's folder, where its oracle and data files are."""
    device: Literal["auto", "cuda", "emulated"] = "auto"
    options: GateOptions = GateOptions()
    seconds: float | None = None
    """The verdict is there within these seconds, whatever takes them; None: each stage has its own limits alone."""
    last: bool = False
    """No other request follows: nothing is made ready for one."""
    finished: tuple[Stage, ...] = ()
    """Stages that an interrupted run on the same inputs and the same machine has finished."""
    tell_stages: bool = False
    """Whether to tell every stage that passes before the run goes on."""

    def within(self, seconds: float) -> GateRequest:
        """The same that ends in a verdict within these seconds; cases that it does not reach are named."""
        return self.model_copy(update={"seconds": (1 - _ANSWERING) * seconds, "tell_stages": True})

    @classmethod
    def of(
        cls,
        baseline: Program,
        candidate: Program,
        workload: Workload,
        *,
        device: Literal["auto", "cuda", "emulated"] = "auto",
        options: GateOptions | None = None,
    ) -> GateRequest:
        """The request for `judge(baseline, candidate, workload, …)`, at shapes for which the candidate's instance of a
        template is launched.
        """
        return cls(
            baseline=baseline,
            candidate=candidate,
            workload=workload.only_where(candidate.launched_where),
            folder=workload.folder,
            device=device,
            options=options or GateOptions(),
        )


class FinishedLine(BaseModel, extra="forbid", frozen=True):
    """A stage that has passed: a line before the verdict's, where nothing but the gate itself writes."""

    finished: Stage


class LeavingLine(BaseModel, extra="forbid", frozen=True):
    """The process ends after the verdict of the next line: another request would not be read."""

    leaving: Literal[True] = True


class ProgressLine(BaseModel):
    """One line of progress on the process's stderr."""

    stage: str
    what: str
    share: float
