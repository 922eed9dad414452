"""A kernel that starts while the one before it still runs, and waits for it only where it needs its results."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import in_assembly, seen
from kernel_lineage.kernels.units import in_units

_CALLS = (
    "cudaGridDependencySynchronize", "cudaTriggerProgrammaticLaunchCompletion", "griddepcontrol_wait",
    "griddepcontrol_launch_dependents", "launch_dependent_grids", "wait_on_dependent_grids",
)  # fmt: skip


def _detect_in(unit: Unit) -> Iterator[Site]:
    for call in unit.calls:
        if call.name in _CALLS:
            yield seen(call.node, f"{call.name} overlaps with the neighbouring launch")
    for _, node in in_assembly(unit, "griddepcontrol"):
        yield seen(node, "inline PTX overlaps with the neighbouring launch")


MECHANISM = Mechanism(
    title="Dependent launch",
    direction=Direction.LATENCY_HIDING,
    summary="Starts while the kernel before still runs, so that launching and setting up cost no time.",
    looks_for="`cudaGridDependencySynchronize`, `griddepcontrol` in inline PTX, and CUTLASS's names for them.",
    detect=in_units(_detect_in),
    conditions=(
        validity("device.compute_capability >= (9, 0)", "hardware", "It came with Hopper."),
        profit("launch.grid.x >= device.sms", "hardware", "A short kernel gains most."),
    ),
)
