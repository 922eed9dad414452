"""The gate process's request: both programs, the workload and the options as one JSON document."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from kernel_gate.options import GateOptions
from kernel_gate.program import LaunchSpec, LaunchStep, MemsetStep, Program, Scratch
from kernel_gate.verdict import Stage
from kernel_gate.workload import Workload


class LaunchModel(BaseModel):
    """`LaunchSpec` as JSON."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    grid: tuple[str, ...]
    block: tuple[str, ...] = ("128",)
    shared_bytes: str = "0"
    constexpr: dict[str, str] = Field(default_factory=dict)
    num_warps: int = 4
    num_stages: int = 3


class ProgramModel(BaseModel):
    """`Program` as JSON."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    language: Literal["cuda", "triton"]
    source: str
    entry: str
    launch: LaunchModel | None = None
    template_arguments: tuple[str, ...] = ()
    includes: dict[str, str] = Field(default_factory=dict)
    defines: dict[str, str] = Field(default_factory=dict)
    name: str = ""
    first_line: int = 1
    compiler: Literal["nvrtc", "nvcc"] = "nvrtc"
    flags: tuple[str, ...] = ()
    arguments: tuple[str, ...] | None = None
    module: str = ""
    steps: tuple[LaunchStep | MemsetStep, ...] = ()
    scratch: tuple[Scratch, ...] = ()
    lacking: tuple[str, ...] = ()

    @classmethod
    def of(cls, program: Program) -> ProgramModel:
        """The model of a program."""
        values = {name: getattr(program, name) for name in program.__slots__}
        launch = program.launch
        if launch is not None:
            parts = {name: getattr(launch, name) for name in launch.__slots__}
            values["launch"] = LaunchModel(**{**parts, "constexpr": dict(launch.constexpr)})
        return cls(**{**values, "includes": dict(program.includes), "defines": dict(program.defines)})

    def program(self) -> Program:
        """The program."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        if self.launch is not None:
            values["launch"] = LaunchSpec(**self.launch.model_dump())
        return Program(**values)


class GateRequest(BaseModel):
    """What `python -m kernel_gate` reads on stdin."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    baseline: ProgramModel
    candidate: ProgramModel
    workload: Workload
    folder: Path | None = None
    """The workload's folder, where its oracle and data files are."""
    device: Literal["auto", "cuda", "emulated"] = "auto"
    options: GateOptions = GateOptions()
    last: bool = False
    """No other request follows: nothing is made ready for one."""
    finished: tuple[Stage, ...] = ()
    """Stages that an interrupted run on the same inputs and the same machine has finished."""
    tell_stages: bool = False
    """Whether to tell every stage that passes before the run goes on."""

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
        """The request for `judge(baseline, candidate, workload, …)`."""
        return cls(
            baseline=ProgramModel.of(baseline),
            candidate=ProgramModel.of(candidate),
            workload=workload,
            folder=workload.folder,
            device=device,
            options=options or GateOptions(),
        )


class FinishedLine(BaseModel):
    """A stage that has passed: a line before the verdict's, where nothing but the gate itself writes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    finished: Stage


class LeavingLine(BaseModel):
    """The process ends after the verdict of the next line: another request would not be read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    leaving: Literal[True] = True


class ProgressLine(BaseModel):
    """One line of progress on the process's stderr."""

    stage: str
    what: str
    share: float
