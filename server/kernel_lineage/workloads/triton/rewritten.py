"""What a change makes of the function that launches a Triton kernel: its launches in order, with its own buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from kernel_gate.expressions import ExpressionError
from kernel_gate.program import LaunchStep
from kernel_gate.workload import Workload
from kernel_lineage.kernels.source import Kernel, SourceFile
from kernel_lineage.workloads.host_program import (
    HostProgram,
    Unclear,
    buffer_of,
    check_numbers,
    constants_passed,
)
from kernel_lineage.workloads.model import View
from kernel_lineage.workloads.triton.host_function import Before, HostFunction
from kernel_lineage.workloads.triton.host_modules import HostModule, module_of
from kernel_lineage.workloads.triton.launch_site import (
    bindings_at,
    calls_of,
    grid_names,
    launched_at,
    optional_at,
)
from kernel_lineage.workloads.triton.values import Stride, Tensor


def rewritten_steps(
    kernel: Kernel,
    order: Sequence[str],
    source: SourceFile,
    path: Path,
    workload: Workload,
    root: Path,
    views: Mapping[str, View] = MappingProxyType({}),
) -> HostProgram:
    """What the function that launched `kernel`, which is the one before a change, does in `source`, the file after it.

    `order` names the workload's argument for each of the kernel's own parameters. Raises `Unclear` with the reason
    where the function is no longer there, or does something that is not understood.
    """
    if kernel.source is None or kernel.source.module is None or source.module is None:
        raise Unclear("the file does not parse")
    here = path.resolve()
    own, changed = module_of(here, kernel.source.module), module_of(here, source.module)
    kernels = {k.name: k for k in source.kernels}
    reasons: list[str] = []
    for name, call in calls_of(kernel.name, own):
        if name not in changed.functions:
            reasons.append(f"`{name}`, which launches `{kernel.name}`, is gone")
            continue
        bound = {
            **grid_names(own.functions[name], call, workload),
            **bindings_at(kernel, own.functions[name], call, workload, order, views),
        }
        optional = optional_at(kernel, call, workload, order, views)
        for also in (optional, {}) if optional else ({},):
            function = HostFunction(name, workload, root, {**also, **bound})
            try:
                before, already, filled = _before(function, kernel, own, order)
                program = function.program(before, changed, kernels, already)
                _check_taken(program, filled)
                return program
            except Unclear as unclear:
                reasons.append(f"`{name}`, {unclear}")
    raise Unclear("; ".join(reasons) or f"nothing launches `{kernel.name}`")


def _before(
    function: HostFunction, kernel: Kernel, own: HostModule, order: Sequence[str]
) -> tuple[Before, tuple[str, ...], list[str]]:
    """Where the function has the workload's arguments before the change, what it asks of sizes there, and those of the
    arguments that it makes itself and whose values the kernel reads: other launches fill them.
    """
    base, *_ = function.shapes()
    end = function.at(base, own, {kernel.name: kernel}, learns=True)
    if len(end.launches) != 1:
        raise Unclear(f"launches {len(end.launches)} kernels before the change, and the workload is of one")
    (launch,) = end.launches
    _check_launch(function.workload, launch, order, base)
    for value, name in zip(end.handed[0], order, strict=False):
        argument = function.workload.argument(name)
        if isinstance(value, Stride) and argument is not None and argument.kind == "scalar":
            function.strides[value.tensor, value.axis] = name
        if isinstance(value, Tensor) and argument is not None and value.buffer in end.untyped:
            function.types[end.untyped[value.buffer]] = argument.dtype
    filled: list[str] = []
    for value, name in zip(end.handed[0], order, strict=False):
        argument = function.workload.argument(name)
        is_read = argument is not None and argument.kind in ("input", "inout")
        if is_read and isinstance(value, Tensor) and value.buffer.startswith("#") and not value.cleared:
            filled.append(name)
    passed = dict(zip(map(buffer_of, launch.arguments), order, strict=False))
    return Before.of(end, passed, constants_passed(launch, order)), end.promises, filled


def _check_taken(program: HostProgram, filled: Sequence[str]) -> None:
    """Raises `Unclear` where a program takes no more what other launches have filled: those are not in the workload."""
    launches = (step for step in program.steps if isinstance(step, LaunchStep))
    taken = {buffer_of(word) for step in launches for word in step.arguments}
    for name in filled:
        if name not in taken:
            raise Unclear(f"which fills `{name}` in other launches before the change, and takes it no more")


def _check_launch(
    workload: Workload, step: LaunchStep, order: Sequence[str], dims: Mapping[str, int]
) -> None:
    """Raises `Unclear` where the function, as it is read, does not launch what the workload does."""
    sizes = workload.numbers(dims)
    try:
        same = launched_at(step.launch, sizes) == launched_at(workload.launch.spec(), sizes)
    except ExpressionError as error:
        raise Unclear(f"its launch before the change: {error}") from error
    if not same:
        raise Unclear("which does not launch what the workload does before the change")
    check_numbers(step, order, sizes)
