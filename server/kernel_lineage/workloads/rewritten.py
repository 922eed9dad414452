"""A change that makes other launches of one: the program of all that its host function launches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from kernel_gate.program import Program
from kernel_gate.workload import Workload
from kernel_lineage.kernels.naming import kernel_apart, qualified_name
from kernel_lineage.kernels.source import Language, SourceFile
from kernel_lineage.workloads.argument_order import order_of
from kernel_lineage.workloads.device_code import device_code, triton_text
from kernel_lineage.workloads.host_program import Unclear
from kernel_lineage.workloads.host_work import on_a_device, own_dims
from kernel_lineage.workloads.model import View
from kernel_lineage.workloads.program_errors import ProgramError
from kernel_lineage.workloads.rewritten_launcher import rewritten_launcher
from kernel_lineage.workloads.triton.rewritten import rewritten_steps


def rewritten_program(
    source: SourceFile,
    former: SourceFile,
    path: Path,
    kernel_name: str,
    workload: Workload,
    root: Path,
    views: Mapping[str, View],
) -> Program | str:
    """The program of all that a function launches after a change which launched one kernel before; or why it cannot be
    read. For `views` see `program_from_file`.
    """
    before = kernel_apart(former, kernel_name)
    if before is None:
        return f"the text before the change has no kernel `{kernel_name}`"
    device = on_a_device(workload)
    try:
        order = order_of(before, workload, path)
        if source.language is Language.TRITON:
            done = rewritten_steps(before, source, path, device, order, root, views)
            text, module, siblings = triton_text(source.data, done.kernels, path)
            program = Program("triton", text, before.name, includes=siblings, module=module)
        else:
            done = rewritten_launcher(before, former, source, path, device, order, root)
            text, lacking = device_code(source, done.kernels, path, root, done.template_arguments)
            program = Program("cuda", text, qualified_name(before), lacking=lacking)
    except (Unclear, ProgramError) as error:
        return str(error)
    return replace(
        program,
        steps=done.steps,
        scratch=done.scratch,
        launched_where=done.conditions,
        own_dims=own_dims(workload, done.numbers),
    )
