"""How many elements of its buffers a program reaches: seen on the emulated device, in buffers with room to spare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kernel_gate.build.errors import BuildError, CompilerMissing
from kernel_gate.building import build_program
from kernel_gate.built import LoadedProgram
from kernel_gate.cases import Case
from kernel_gate.deadline import seconds_left
from kernel_gate.devices.base import DeviceError
from kernel_gate.devices.emulated import EmulatedBuffer, EmulatedDevice
from kernel_gate.devices.opening import EMULATED_ARCH
from kernel_gate.dtypes import DTYPES
from kernel_gate.emulated.launch import Checks, Limits
from kernel_gate.emulated.refusal import UNBUILDABLE
from kernel_gate.expressions import ExpressionError
from kernel_gate.inputs import make_inputs
from kernel_gate.launching import LaunchError, bind
from kernel_gate.program import Program
from kernel_gate.variations import Variation
from kernel_gate.workload import Workload, WorkloadError

_SEED = 91


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a program does with one buffer."""

    elements: int
    """How many it must have: up to the last one that is touched, 0 for none."""
    reads: bool
    writes: bool


class FootprintError(Exception):
    """The program could not be run to its end; the message says why."""

    def __init__(
        self,
        message: str,
        *,
        of_order: bool = False,
        of_bounds: bool = False,
        of_build: bool = False,
        of_work: bool = False,
    ) -> None:
        super().__init__(message)
        self.of_work = of_work
        """Whether the program did not end within its steps, or its time."""
        self.of_build = of_build
        """Whether the program does not build, at these sizes or at all."""
        self.of_bounds = of_bounds
        """Whether an access lay outside of what it is made to."""
        self.of_order = of_order
        """Whether it may run to its end where nobody looks at the order of threads, which takes time and memory too."""


_OF_ORDER = frozenset({"race", "barrier", "timeout"})
"""Kinds of faults that may not end a run in which nobody looks at the order of threads."""


def footprints(
    program: Program,
    workload: Workload,
    shapes: Sequence[Mapping[str, int]],
    *,
    seconds: float = 10.0,
    races: bool = False,
    steps: int = Limits().steps,
    seed: int = _SEED,
    variation: Variation = Variation.DECLARED,
) -> Iterator[dict[str, Footprint]]:
    """For each shape, what the program does with each buffer.

    Buffers have the workload's shapes, so give those that are not known far more elements than they need. `seconds`
    is what one launch may take, under the caller's deadline, and `steps` are the basic blocks that a wave may run; with
    `races`, a race and a barrier in divergent code are faults too; inputs are drawn by `seed` and `variation`. Raises
    `FootprintError` at the first shape that cannot be built, launched or run without a fault.
    """
    seconds = seconds_left(seconds)
    device = EmulatedDevice(EMULATED_ARCH, Checks(races=races, uninitialised=False), Limits(steps, seconds))
    try:
        for dims in shapes:
            bind(workload, program, dims)
        # A kernel that fails at the first shape is not compiled for the others.
        for part in filter(None, (shapes[:1], shapes[1:])):
            built = build_program(program, workload, part, arch=EMULATED_ARCH)
            loaded = LoadedProgram(device, built, workload)
            for dims in part:
                yield _footprint(loaded, workload, Case(dims, seed, variation), races)
    except (
        BuildError,
        CompilerMissing,
        DeviceError,
        ExpressionError,
        LaunchError,
        WorkloadError,
    ) as error:
        raise FootprintError(str(error), of_build=isinstance(error, BuildError)) from error
    except MemoryError as error:
        message = (
            f"this machine's memory does not hold the buffers of a shape{f': {error}' if str(error) else ''}"
        )
        raise FootprintError(message, of_order=races) from error
    finally:
        device.close()


def _footprint(loaded: LoadedProgram, workload: Workload, case: Case, races: bool) -> dict[str, Footprint]:
    with loaded.execution(case.dims) as execution:
        execution.fill(make_inputs(workload, case), 0)
        reached = {n: b.measure() for n, b in execution.buffers.items() if isinstance(b, EmulatedBuffer)}
        done = execution.launch()
        # A barrier in divergent code ends no run, and what is reached is seen beyond it; threads that wait for ever do.
        faults = [f for f in done.faults if races or done.stopped or f.kind != "barrier"]
        if faults:
            sizes = ", ".join(f"{name} = {extent}" for name, extent in case.dims.items())
            kind = faults[0].kind
            raise FootprintError(
                f"{faults[0].message} at {sizes}",
                of_order=races and kind in _OF_ORDER,
                of_bounds=kind == "out_of_bounds",
                of_work=kind == "timeout",
                of_build=faults[0].message.startswith(UNBUILDABLE),
            )
    items = {a.name: DTYPES[a.dtype].itemsize for a in workload.args if a.is_pointer}
    return {
        name: Footprint(-(-seen.stop // items[name]), seen.reads, seen.writes)
        for name in items
        if (seen := reached.get(name)) is not None
    }
