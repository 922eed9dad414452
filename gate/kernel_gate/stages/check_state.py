"""A check under way: what it knows so far, how programs are launched in it, and how it ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from kernel_gate.arguments import Argument
from kernel_gate.built import Built, LoadedProgram
from kernel_gate.cases import ALLOCATED, Case
from kernel_gate.deadline import TimeSpentError, seconds_left
from kernel_gate.devices.base import Device, DeviceError, Fault
from kernel_gate.devices.opening import open_emulated
from kernel_gate.dtypes import Array
from kernel_gate.execution import SANITIZER_KINDS, Execution, Run
from kernel_gate.kept_runs import KeptRuns
from kernel_gate.launching import LaunchError
from kernel_gate.oracle import OracleProcess
from kernel_gate.reasons import Reason
from kernel_gate.stages.algebra import Algebra, Expressions
from kernel_gate.stages.depth import Depths
from kernel_gate.tolerance import coarsest_arithmetic
from kernel_gate.workload import Workload

if TYPE_CHECKING:
    from kernel_gate.stages.callers import Reached

AtFault = Literal["none", "candidate", "baseline", "workload", "environment"]
Who = Literal["baseline", "candidate"]


class Stop(Exception):  # noqa: N818
    """Ends the check with a reason."""

    def __init__(
        self, at_fault: AtFault, code: Reason, reason: str, details: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(reason)
        self.at_fault: AtFault = at_fault
        self.code = code
        self.reason = reason
        self.details = dict(details or {})
        self.case: Case | None = None
        """Where it ended, if that is not the case that the check was at."""


class Dropped(Exception):  # noqa: N818
    """A case that says nothing about the candidate, because the baseline does not pass it."""

    def __init__(self, code: Reason, why: str) -> None:
        super().__init__(why)
        self.code = code


@dataclass(slots=True)
class CheckState:
    """One check under way."""

    device: Device
    baseline: Built
    candidate: Built
    workload: Workload
    oracle: OracleProcess | None
    loaded: dict[str, LoadedProgram] = field(default_factory=dict)
    """By `baseline` and `candidate`, and on the emulated device beside a GPU."""
    noticed: set[str] = field(default_factory=set)
    """Outputs for which some case would notice a constant."""
    changed: set[str] = field(default_factory=set)
    """Buffers that the baseline leaves with other elements than it was given, on some case."""
    findings: list[tuple[Fault, str]] = field(default_factory=list)
    guilty_at: float | None = None
    """When a detector first saw in the candidate's run what it did not see in the baseline's (`time.monotonic`)."""
    tolerances: dict[str, str] = field(default_factory=dict)
    usual: dict[str, float] = field(default_factory=dict)
    """Output → the scale of its rows on inputs as declared."""
    errors: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Output → worst relative error of the candidate and of the baseline."""
    dropped: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    conditions: dict[str, str] = field(default_factory=dict)
    """What must hold for the candidate and need not for the baseline → why."""
    rehearsal: Device | None = None
    """The emulated device beside a GPU, opened when it is needed."""
    rehearses_too_long: bool = False
    """Whether the rehearsal of a scalar came to no end in its time."""
    callers: Reached | None = None
    """How far the callers' sizes were checked, once they have been."""
    expressions: Expressions | None = None
    """What tells whether both programs compute the same; None: not asked."""
    algebra: list[Algebra] = field(default_factory=list)
    strict: bool = False
    """Whether a candidate is being held to a few roundings, since it computes another expression."""
    scheduled: int = 0
    """Cases that were run under other orders of warps."""
    compared: int = 0
    passed: list[Case] = field(default_factory=list)
    """Cases in which every element agreed, with buffers as an allocator places them."""
    launches: int = 0
    theirs: KeptRuns = field(default_factory=KeptRuns)
    """What the baseline did, also beside other candidates."""
    depths: Depths = field(init=False)
    arithmetic: float | None = field(init=False)
    """Unit roundoff of the baseline's coarsest arithmetic, where it is coarser than float32's."""

    @property
    def is_beside_itself(self) -> bool:
        """Whether both programs are one, on a device that computes the same each time: a run of one is the other's."""
        is_one = self.candidate.program.is_same_as(self.baseline.program)
        return self.device.kind == "emulated" and is_one

    def close(self) -> None:
        """Give back what the check opened itself."""
        if self.rehearsal is not None:
            self.rehearsal.close()

    def __post_init__(self) -> None:
        self.depths = Depths(self.baseline, self.workload)
        units = (coarsest_arithmetic(image.ptx) for image in self.baseline.images.values())
        self.arithmetic = max((u for u in units if u is not None), default=None)


REPETITIONS: tuple[tuple[int, int | None], ...] = ((0, None), (1, 1), (0, 2))
"""Poison pattern and order of blocks of launches that must all give the same."""
_REHEARSAL_SECONDS = 20.0


def execution_of(run: CheckState, who: Who, case: Case) -> Execution:
    """The program on this case's shape and memory, with its own buffers. Raises `LaunchError` and `DeviceError`."""
    return _execution_on(run.device, who, run, who, case)


def rehearsal_of(run: CheckState, who: Who, case: Case) -> Execution:
    """The same on the emulated device, where a misaligned access costs nothing but the launch."""
    if run.device.kind == "emulated":
        return execution_of(run, who, case)
    if run.rehearsal is None:
        run.rehearsal = open_emulated(_REHEARSAL_SECONDS)
    return _execution_on(run.rehearsal, f"{who}, emulated", run, who, case)


def _execution_on(device: Device, loaded_as: str, run: CheckState, who: Who, case: Case) -> Execution:
    key = f"{loaded_as} {case.scalars}" if case.scalars else loaded_as
    if key not in run.loaded:
        run.loaded[key] = LoadedProgram(device, _built(run, who), case.applied(run.workload))
    return run.loaded[key].execution(case.dims, memory=case.memory)


def _built(run: CheckState, who: Who) -> Built:
    return run.baseline if who == "baseline" else run.candidate


def launch(
    run: CheckState, execution: Execution, inputs: Mapping[str, Array], pattern: int, order: int | None = None
) -> Run:
    """Fill, launch and look. `order`: the seed of the order in which blocks run, where the device lets one choose."""
    run.launches += 1
    run.device.reorder(order)
    return execution.run(inputs, pattern)


def launch_baseline(
    run: CheckState,
    case: Case,
    execution: Execution,
    inputs: Mapping[str, Array],
    pattern: int,
    order: int | None = None,
    *,
    done: Run | None = None,
) -> Run:
    """The same of the baseline, which need not run again where it has before; `done` is what it just did."""
    run.launches += done is None
    run.device.reorder(order)
    return run.theirs.run(run.device, case.setting, execution, inputs, pattern, done=done)


def promise_hint(case: Case) -> str:
    """What to do when no caller comes with a hidden shape."""
    if case.origin != "hidden" or case.memory != ALLOCATED:
        return ""
    return "; if no caller comes with such a shape, say so with promises in the workload"


def say(fault: Fault, label: str, case: Case) -> str:
    """A fault as one line for people."""
    line = f"; {label}:{fault.line}" if fault.line is not None else ""
    return f"{fault.message}; {case}{line}{promise_hint(case)}"


def stop_for_the_environment(error: LaunchError | DeviceError, case: Case) -> None:
    """Raise `Stop` for what is neither program's doing: too little memory, a driver that is too old."""
    if error.code in {Reason.OUT_OF_MEMORY, Reason.TOOLKIT_NEWER_THAN_DRIVER}:
        raise Stop("environment", error.code, f"{error}; {case}") from error


def unusable_baseline(
    case: Case, code: Reason, why: str, about: Mapping[str, Any] | None = None
) -> Stop | Dropped:
    """How a case ends that the baseline does not pass: the check where the workload names it, else the case alone."""
    if case.required:
        reason = f"the baseline does not pass its own check: {why}"
        return Stop("baseline", Reason.BASELINE_FAILS_CHECK, reason, {"cause": code, **(about or {})})
    return Dropped(code, f"the baseline does not pass it: {why}")


def hard_fault(run: Run) -> Fault | None:
    """The first fault that ends a launch, if there is one. Raises `TimeSpentError` where the deadline ended it."""
    fault = next((f for f in run.faults if f.kind not in SANITIZER_KINDS), None)
    if fault is not None and fault.kind == "timeout" and not seconds_left():
        raise TimeSpentError(fault.message)
    return fault


def argument_of(workload: Workload, name: str) -> Argument:
    """An argument of the workload by its name."""
    argument = workload.argument(name)
    if argument is None:
        raise KeyError(name)
    return argument
