"""What is known of a transition after it was replayed: one document, kept in the cache and read by whoever shows it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from kernel_gate.program import Program
from kernel_gate.verdict import Speedup
from kernel_gate.workload import Workload
from kernel_lineage.learning.steps import Step

Status = Literal["reproduced", "narrower", "failed", "unbuildable", "undecided"]
"""`narrower`: right on less than before, and where is known: on what the workload names, or where conditions hold."""
FaultIn = Literal["earlier", "later"]


class Label(StrEnum):
    """How much is known of a transition."""

    INFERRED = "inferred"
    """Only history speaks of it."""
    REPRODUCED = "reproduced"
    """It was run, and does what history says of its results."""
    MEASURED = "measured here"
    """A GPU timed both states."""


class Counterexample(BaseModel, frozen=True):
    """Where a state was seen to fail."""

    what: str
    """In one line, as the gate says it."""
    code: str
    dims: dict[str, int] = Field(default_factory=dict)
    seed: int | None = None
    inputs: str = ""
    line: int | None = None
    """The line of the state that fails."""


class Effect(Speedup):
    """Time of the earlier state over that of the later one, with the device that timed both."""

    device: str


class KeptStep(BaseModel, frozen=True):
    """A step as the gate got it."""

    before: Program
    after: Program
    workload: Workload
    folder: Path | None = None
    """The workload's, where its oracle and data files are."""
    mechanisms: tuple[str, ...] = ()

    def step(self, transition: str) -> Step:
        """The step, ready to run."""
        workload = self.workload.model_copy(update={"folder": self.folder})
        return Step(transition, self.before, self.after, workload, self.mechanisms)

    @classmethod
    def of(cls, step: Step) -> KeptStep:
        """The document of a step."""
        return cls(
            before=step.before,
            after=step.after,
            workload=step.workload,
            folder=step.workload.folder,
            mechanisms=step.mechanisms,
        )


class StageRecord(BaseModel, frozen=True):
    """How one stage of the gate ended."""

    name: str
    status: str
    code: str | None
    reason: str
    seconds: float | None


class Record(BaseModel, frozen=True):
    """A replayed transition."""

    transition: str
    claim: str
    status: Status
    code: str
    """A code of the gate, or of `replay.codes`."""
    reason: str
    label: Label
    device: str
    made: str
    """ISO 8601, UTC."""
    seconds: float
    workload: str = ""
    """Where it comes from: `.klineage/workloads/rmsnorm.toml`, or which state told it."""
    assumed: tuple[str, ...] = ()
    sees: dict[str, str] = Field(default_factory=dict)
    """Mutant → killed, survived, …: what the drafted workload notices."""
    effect: Effect | None = None
    counts: dict[str, Any] | None = None
    """Counts of both states on one case: sectors, wavefronts, instructions."""
    counterexample: Counterexample | None = None
    fault_in: FaultIn | None = None
    """The state that was seen to fail, or does not build."""
    stages: tuple[StageRecord, ...] = ()
    step: KeptStep | None = None
    """None when no programs could be made of the states."""
    toolchain: dict[str, Any] = Field(default_factory=dict)
