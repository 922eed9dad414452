"""A kernel that starts while the one before it still runs, and waits for it only where it needs its results."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_syntax import cuda_syntax
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import CUDA_ONLY, seen
from kernel_lineage.kernels.source import Kernel

ID = "dependent_launch"

_CALLS = (
    "cudaGridDependencySynchronize", "cudaTriggerProgrammaticLaunchCompletion", "griddepcontrol_wait",
    "griddepcontrol_launch_dependents", "launch_dependent_grids", "wait_on_dependent_grids",
)  # fmt: skip


def _detect(kernel: Kernel) -> Iterator[Site]:
    syntax = cuda_syntax(kernel)
    if syntax is not None:
        for call in syntax.calls(*_CALLS):
            yield seen(ID, call.node, f"{call.name} overlaps with the neighbouring launch")
        for unit in syntax.units:
            for code, node in unit.assembly:
                if "griddepcontrol" in code:
                    yield seen(ID, node, "inline PTX overlaps with the neighbouring launch")


MECHANISM = Mechanism(
    id=ID,
    title="Dependent launch",
    direction=Direction.LATENCY_HIDING,
    summary="Starts while the kernel before still runs, so that launching and setting up cost no time.",
    looks_for="`cudaGridDependencySynchronize`, `griddepcontrol` in inline PTX, and CUTLASS's names for them.",
    detect=_detect,
    languages=CUDA_ONLY,
    conditions=(
        validity("device.compute_capability >= (9, 0)", "hardware", "It came with Hopper."),
        profit("launch.grid.x >= device.sms", "hardware", "A short kernel gains most."),
    ),
)
