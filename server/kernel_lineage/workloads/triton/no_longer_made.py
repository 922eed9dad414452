"""Tensors that a Triton kernel takes before a change, and that its host function has no longer.

A forward pass that keeps no activation for its backward pass, which works it out again, is right with the backward pass
alone: by itself the one leaves an output unwritten, and the other does not follow an input.
"""

from __future__ import annotations

import ast
from pathlib import Path

from kernel_gate.program import LaunchStep, Pointer, Program
from kernel_gate.workload import Workload
from kernel_lineage.kernels.naming import kernel_apart
from kernel_lineage.kernels.source import SourceFile
from kernel_lineage.workloads.argument_order import order_of
from kernel_lineage.workloads.program_errors import ArgumentsDifferError
from kernel_lineage.workloads.triton.host_modules import module_of
from kernel_lineage.workloads.triton.launch_site import calls_of, own_parameters, written_for


def check_made(
    program: Program, former: SourceFile, source: SourceFile, kernel: str, path: Path, workload: Workload
) -> None:
    """Raises `ArgumentsDifferError` for a changed program that does not take a tensor which the launch of `kernel`
    before the change passes by a name that its host function does not have any more.
    """
    before = kernel_apart(former, kernel)
    if before is None or workload.launches or before.function is None or former.module is None:
        return
    if source.module is None:
        return
    taken = {a.name for a in workload.args} if program.arguments is None else {*program.arguments}
    if program.steps:
        launches = (step for step in program.steps if isinstance(step, LaunchStep))
        words = [word for step in launches for word in step.arguments]
        taken = {w.buffer if isinstance(w, Pointer) else w for w in words if isinstance(w, (Pointer, str))}
    places = dict(zip(own_parameters(before, workload), order_of(before, workload, path), strict=False))
    changed = module_of(path.resolve(), source.module).functions
    for function, call in calls_of(before.name, module_of(path.resolve(), former.module)):
        nodes = [*ast.walk(changed[function])] if function in changed else []
        names = {
            n.id if isinstance(n, ast.Name) else n.arg for n in nodes if isinstance(n, (ast.Name, ast.arg))
        }
        for parameter, host in written_for(before, call).items():
            argument = workload.argument(places.get(parameter, ""))
            gone = bool(nodes) and isinstance(host, ast.Name) and host.id not in names
            if argument is not None and argument.is_pointer and gone and argument.name not in taken:
                does = "reads" if argument.kind == "input" else "writes"
                raise ArgumentsDifferError(
                    f"{path}: `{function}` no longer has `{ast.unparse(host)}`, which `{kernel}` {does} before the "
                    "change; whoever makes it and whoever takes it are right together alone: compare what both give"
                )
