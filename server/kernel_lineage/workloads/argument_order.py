"""Which argument of a workload each of a kernel's own parameters is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernel_gate.workload import Workload
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.workloads.program_errors import ArgumentsDifferError
from kernel_lineage.workloads.triton.launch_site import own_parameters
from kernel_lineage.workloads.triton.roles import roles_of, touches_of


def order_of(kernel: Kernel, workload: Workload, path: Path, is_changed: bool = False) -> tuple[str, ...]:
    """The workload's argument for each parameter: by name when the workload knows all names, else by position, where a
    change has left names at theirs.

    "" where the workload has none: a change may give a kernel more numbers, which its launch tells. It may take inputs
    and numbers from it too, where the parameters that are left have their names still.
    """
    parameters = own_parameters(kernel, workload)
    declared = [a.name for a in workload.args]
    if set(parameters) <= set(declared):
        return tuple(parameters)
    moved = any(p in declared and p != d for p, d in zip(parameters, declared, strict=False))
    if len(parameters) == len(declared) and not (is_changed and moved):
        return tuple(declared)
    left = {a.name for a in workload.args if a.kind in ("output", "inout")} if is_changed else {*declared}
    if left <= set(parameters):
        return tuple(p if p in declared else "" for p in parameters)
    raise arguments_differ(kernel, workload, path)


def order_by_names(kernel: Kernel, workload: Workload) -> tuple[str, ...] | None:
    """The order of a kernel of as many arguments as the workload with other names for some: pointers by position, ""
    for numbers that the workload does not name; None where names agree, or stand for two arguments.
    """
    parameters, declared = own_parameters(kernel, workload), [a.name for a in workload.args]
    if len(parameters) != len(declared) or {*parameters} <= {*declared} or not {*parameters} & {*declared}:
        return None
    order = [
        p if p in declared else argument.name if argument.is_pointer else ""
        for p, argument in zip(parameters, workload.args, strict=True)
    ]
    named = [name for name in order if name]
    return tuple(order) if "" in order and len({*named}) == len(named) else None


def arguments_differ(kernel: Kernel, workload: Workload, path: Path) -> ArgumentsDifferError:
    """The error for a kernel that takes other arguments than a workload has."""
    parameters, declared = own_parameters(kernel, workload), [a.name for a in workload.args]
    more = [p for p in parameters if p not in declared] if set(declared) <= set(parameters) else []
    return ArgumentsDifferError(
        f"{path}: `{kernel.name}` takes {len(parameters)} arguments ({', '.join(parameters)}), the workload declares "
        f"{len(declared)} ({', '.join(declared)}); make them agree"
        + (f", or pass {', '.join(more)} as numbers over these" if more else "")
    )


def takes_memory_for_numbers(
    kernel: Kernel, before: Kernel, workload: Workload, order: Sequence[str], former_order: Sequence[str]
) -> bool:
    """Whether a changed kernel has a pointer where it had a number: a seed that is loaded since is another argument."""
    now, then = _pointers(kernel), _pointers(before)
    had = {place: name for name, place in zip(own_parameters(before, workload), former_order, strict=False)}
    for name, place in zip(own_parameters(kernel, workload), order, strict=False):
        argument = workload.argument(place)
        is_number = argument is not None and argument.kind == "scalar"
        if is_number and name in now and place in had and had[place] not in then:
            return True
    return False


def _pointers(kernel: Kernel) -> frozenset[str]:
    if kernel.language is Language.TRITON:
        return frozenset(roles_of(touches_of(kernel)))
    return frozenset(p.name for p in kernel.parameters if p.pointer)
