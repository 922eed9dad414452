"""Build: both programs to images, each in a child of its own; whose fault a failure is, is told apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Literal

from kernel_gate.build import prelude
from kernel_gate.build.errors import BuildError, CompilerMissing
from kernel_gate.building import build_program
from kernel_gate.built import Built
from kernel_gate.cases import Case
from kernel_gate.deadline import Threads, TimeSpentError, seconds_left
from kernel_gate.devices.image import Image
from kernel_gate.launching import units_for
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.verdict import Stage, StageStatus
from kernel_gate.workload import Workload


@dataclass(frozen=True, slots=True)
class BuildResult:
    """Both programs, or whose fault it is that there are none."""

    stage: Stage
    at_fault: Literal["none", "baseline", "candidate", "environment"] = "none"
    baseline: Built | None = None
    candidate: Built | None = None


def build(
    baseline: Program,
    candidate: Program,
    workload: Workload,
    shapes: Iterable[Mapping[str, int]],
    *,
    arch: str,
    want_cubin: bool,
    options: GateOptions = GateOptions(),  # noqa: B008 - frozen
    cases: Sequence[Case] = (),
) -> BuildResult:
    """Compile both for these shapes and cases, side by side.

    A program that does not compile for a hidden case is built without them: where both run, its case tells. Raises
    `TimeSpentError` where the caller's deadline ended a compilation, which says nothing of the program.
    """
    wanted = list(shapes)
    named = [case for case in cases if case.required]

    def built_for(program: Program, cases: Sequence[Case]) -> Built:
        return build_program(
            program,
            workload,
            wanted,
            arch=arch,
            want_cubin=want_cubin,
            options=options,
            cases=cases,
        )

    def one(program: Program) -> Built:
        try:
            return built_for(program, cases)
        except BuildError as error:
            units = units_for(workload, program, wanted, cases)
            if error.code is not Reason.CANDIDATE_DOES_NOT_COMPILE or set(units) == set(
                units_for(workload, program, wanted, named)
            ):
                raise
            return built_for(program, named)

    with Threads(2) as pool:
        first, second = pool.submit(one, baseline), pool.submit(one, candidate)
        built_baseline, built_candidate = _outcome(first), _outcome(second)
    for who, built in (("baseline", built_baseline), ("candidate", built_candidate)):
        if isinstance(built, CompilerMissing):
            stage = Stage(name="build", status=StageStatus.UNAVAILABLE, code=built.code, reason=str(built))
            return BuildResult(stage, "environment")
        if isinstance(built, BuildError):
            program = baseline if who == "baseline" else candidate
            lines = [
                {"line": d.line, "severity": d.severity, "message": d.message} for d in built.diagnostics
            ]
            line = next((d.line for d in built.diagnostics if d.severity == "error" and d.line), None)
            details: dict[str, Any] = {
                "program": who,
                "line": line + program.first_line - 1 if line is not None else None,
                "diagnostics": lines[:20],
                "log": built.log[-4000:],
            }
            if who == "baseline":
                stage = Stage(
                    name="build",
                    status=StageStatus.UNAVAILABLE,
                    code=Reason.BASELINE_DOES_NOT_COMPILE
                    if built.code is Reason.CANDIDATE_DOES_NOT_COMPILE
                    else built.code,
                    reason=f"the baseline does not build: {built}",
                    details=details,
                )
                return BuildResult(stage, "baseline")
            stage = Stage(
                name="build", status=StageStatus.FAIL, code=built.code, reason=str(built), details=details
            )
            return BuildResult(stage, "candidate")
    if not isinstance(built_baseline, Built) or not isinstance(built_candidate, Built):
        raise TypeError("a build is a program with images or an error")
    details = {"arch": arch, "baseline": _resources(built_baseline), "candidate": _resources(built_candidate)}
    if notes := dict.fromkeys((*prelude.notes(baseline.source), *prelude.notes(candidate.source))):
        details["notes"] = list(notes)
    return BuildResult(
        Stage(name="build", status=StageStatus.PASS, details=details), "none", built_baseline, built_candidate
    )


def _outcome(future: Future[Built]) -> Built | BuildError | CompilerMissing:
    try:
        return future.result()
    except (BuildError, CompilerMissing) as error:
        if error.code is Reason.COMPILER_LIMIT and not seconds_left():
            raise TimeSpentError(str(error)) from error
        return error


def _resources(built: Built) -> dict[str, Any]:
    """What the kernels take; of Triton's specialisations the first one."""
    images: dict[str, Image] = {}
    for image in built.images.values():
        images.setdefault(image.entry, image)
    taken = [
        {
            "entry": image.entry,
            "registers": image.registers,
            "spill_bytes": image.spill_bytes,
            "static_shared_bytes": image.static_shared_bytes,
        }
        for image in images.values()
    ]
    about: dict[str, Any] = {
        "images": len(built.images),
        "sha256": sorted({image.sha256 for image in built.images.values()}),
        **taken[0],
    }
    if len(taken) > 1:
        about["kernels"] = taken
    return about
