"""Build: both programs to images, each in a child of its own; whose fault a failure is, is told apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

from kernel_gate.build.compile import compile_program
from kernel_gate.build.errors import BuildError, CompilerMissing
from kernel_gate.build.unit import Unit
from kernel_gate.devices.base import Image
from kernel_gate.launching import LaunchError, bind
from kernel_gate.program import Program
from kernel_gate.verdict import Stage, StageStatus
from kernel_gate.workload import Workload


@dataclass(frozen=True, slots=True)
class Built:
    """A program and its images."""

    program: Program
    images: Mapping[Unit, Image]

    @property
    def label(self) -> str:
        """For messages."""
        return self.program.name or self.program.entry


@dataclass(frozen=True, slots=True)
class BuildResult:
    """Both programs, or whose fault it is that there are none."""

    stage: Stage
    at_fault: Literal["none", "baseline", "candidate", "environment"] = "none"
    baseline: Built | None = None
    candidate: Built | None = None


def units_for(workload: Workload, program: Program, shapes: Iterable[Mapping[str, int]]) -> list[Unit]:
    """The units that these shapes need; a shape that cannot be bound is the check's to report."""
    units: dict[Unit, None] = {}
    for dims in shapes:
        try:
            units[bind(workload, program, dims).unit] = None
        except LaunchError:
            continue
    return list(units) or [Unit()]


def build(
    baseline: Program,
    candidate: Program,
    workload: Workload,
    shapes: Iterable[Mapping[str, int]],
    *,
    arch: str,
    want_cubin: bool,
) -> BuildResult:
    """Compile both, side by side."""
    wanted = list(shapes)

    def one(program: Program) -> Built:
        units = units_for(workload, program, wanted)
        return Built(program, compile_program(program, arch, units, want_cubin=want_cubin))

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(one, baseline), pool.submit(one, candidate)
        built_baseline, built_candidate = _outcome(first), _outcome(second)
    for who, built in (("baseline", built_baseline), ("candidate", built_candidate)):
        if isinstance(built, CompilerMissing):
            stage = Stage(name="build", status=StageStatus.UNAVAILABLE, reason=str(built))
            return BuildResult(stage, "environment")
        if isinstance(built, BuildError):
            lines = [
                {"line": d.line, "severity": d.severity, "message": d.message} for d in built.diagnostics
            ]
            details: dict[str, Any] = {"program": who, "diagnostics": lines[:20], "log": built.log[-4000:]}
            if who == "baseline":
                stage = Stage(
                    name="build",
                    status=StageStatus.UNAVAILABLE,
                    reason=f"the baseline does not build: {built}",
                    details=details,
                )
                return BuildResult(stage, "baseline")
            stage = Stage(name="build", status=StageStatus.FAIL, reason=str(built), details=details)
            return BuildResult(stage, "candidate")
    if not isinstance(built_baseline, Built) or not isinstance(built_candidate, Built):
        raise TypeError("a build is a program with images or an error")
    details = {"arch": arch, "baseline": _resources(built_baseline), "candidate": _resources(built_candidate)}
    return BuildResult(
        Stage(name="build", status=StageStatus.PASS, details=details), "none", built_baseline, built_candidate
    )


def _outcome(future: Future[Built]) -> Built | BuildError | CompilerMissing:
    try:
        return future.result()
    except (BuildError, CompilerMissing) as error:
        return error


def _resources(built: Built) -> dict[str, Any]:
    """What the images take, one entry per unit."""
    first = next(iter(built.images.values()))
    return {
        "images": len(built.images),
        "entry": first.entry,
        "registers": first.registers,
        "spill_bytes": first.spill_bytes,
        "static_shared_bytes": first.static_shared_bytes,
    }
