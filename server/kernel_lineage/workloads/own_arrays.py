"""The arrays of a host function's own in a workload: it copies them to the device and from it, no caller gives them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from kernel_gate.expressions import Number, evaluate
from kernel_gate.program import LaunchStep, MemsetStep
from kernel_gate.workload import Workload
from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.workloads.following.functions import PROGRAM, HostCode, declared_values
from kernel_lineage.workloads.following.host_arrays import statements_about
from kernel_lineage.workloads.following.structures import field_name, structure_of
from kernel_lineage.workloads.following.unit import Unit
from kernel_lineage.workloads.host_copies import is_copy
from kernel_lineage.workloads.host_program import Unclear, buffer_of

_FOLDS = re.compile(r"[-+*|&^]=|\b(?:std::)?(?:accumulate|reduce|f?max\w*|f?min\w*)\b")
"""What makes one number of an array's elements."""


def own_arrays(function: HostCode, unit: Unit, workload: Workload) -> frozenset[str]:
    """The arguments of a workload that are arrays of a function's own: neither parameters nor fields of such."""
    taken = {p.name for p in function.parameters}
    taken |= {field_name(p, f) for p in function.parameters for f in structure_of(p, unit)}
    return frozenset(a.name for a in workload.args if a.is_pointer and a.name in function.words - taken)


def check_own_arrays(before: Unit, after: Unit, name: str, workload: Workload) -> None:
    """Raises `Unclear` where a function fills arrays of its own in another way than before a change, or makes something
    else of them: what the workload compares would not be the same.
    """
    former, function = (next((f for f in unit.hosts(name) if f.of_host), None) for unit in (before, after))
    if former is None or function is None or not (arrays := own_arrays(former, before, workload)):
        return
    sizes = workload.dims.keys() | {a.name for a in workload.args if a.kind == "scalar"}
    if name == PROGRAM and _written(former, before, sizes) != _written(function, after, sizes):
        raise Unclear(f"`{name}` has other sizes than before the change")
    if statements_about(former, arrays, before) != statements_about(function, arrays, after):
        raise Unclear(
            f"`{name}` does something else with {', '.join(f'`{a}`' for a in sorted(arrays))} on the host"
        )


def check_results(
    function: HostCode,
    arrays: Collection[str],
    steps: Iterable[LaunchStep | MemsetStep],
    unit: Unit,
    workload: Workload,
    shapes: Collection[dict[str, Number]],
) -> None:
    """Raises `Unclear` where the host makes one number of what each block leaves in an array: blocks that share the
    work otherwise leave other elements, and the same number.
    """
    steps = [*steps]
    used = {b for s in steps if isinstance(s, LaunchStep) for b in map(buffer_of, s.arguments)}
    used |= {step.buffer for step in steps if isinstance(step, MemsetStep)}
    launches = [step for step in steps if isinstance(step, LaunchStep) and not is_copy(step)]
    copies = [step for step in steps if isinstance(step, LaunchStep) and is_copy(step)]
    for array in arrays:
        argument = workload.argument(array)
        if argument is not None and argument.kind != "input" and array not in used:
            raise Unclear(f"`{function.name}`, nothing gives `{array}`")
        count = _product((argument.shape if argument is not None else None) or ("1",))
        held = {array} | {buffer_of(c.arguments[0]) for c in copies if buffer_of(c.arguments[1]) == array}
        grids = [
            _product(s.launch.grid) for s in launches if not held.isdisjoint(map(buffer_of, s.arguments))
        ]
        is_of_blocks = any(all(evaluate(g, s) == evaluate(count, s) for s in shapes) for g in grids)
        if is_of_blocks and any(map(_FOLDS.search, statements_about(function, frozenset({array}), unit))):
            raise Unclear(f"`{function.name}` makes one number of what each block leaves in `{array}`")


def _written(function: HostCode, unit: Unit, names: Collection[str]) -> dict[str, str]:
    """What sizes are set to where they are declared: in a program, or outside of it."""
    macros = {name: macro.body for name, macro in unit.macros.items()}
    values = {**macros, **{n: text_of(c) for n, c in unit.constants.items()}, **declared_values(function)}
    return {name: "".join(value.split()) for name, value in values.items() if name in names}


def _product(extents: Iterable[str | int]) -> str:
    return " * ".join(f"({extent})" for extent in extents)
