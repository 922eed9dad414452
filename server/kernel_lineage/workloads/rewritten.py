"""A change that makes other launches of one: the program of all that its host function launches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kernel_gate.program import LaunchStep, Program
from kernel_gate.workload import Workload
from kernel_lineage.kernels.naming import kernel_apart, qualified_name
from kernel_lineage.kernels.source import Kernel, Language, SourceFile
from kernel_lineage.workloads.argument_order import order_of
from kernel_lineage.workloads.device_code import device_code, triton_text
from kernel_lineage.workloads.host_program import Unclear, buffer_of
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
        launched = _launched(before, former, path, workload)
        if source.language is Language.TRITON:
            if len(launched) > 1:
                return "several launches of Triton kernels are not read as one"
            done = rewritten_steps(*launched[0], source, path, device, root, views)
            text, module, siblings = triton_text(source.data, done.kernels, path)
            program = Program("triton", text, before.name, includes=siblings, module=module, steps=done.steps)
        else:
            done = rewritten_launcher(launched, former, source, path, device, root)
            text, lacking = device_code(source, done.kernels, path, root, done.template_arguments)
            steps = done.as_compiled(source)
            text += done.of_torch.code
            program = Program("cuda", text, qualified_name(before), lacking=lacking, steps=steps)
    except (Unclear, ProgramError) as error:
        return str(error)
    return replace(
        program,
        scratch=done.scratch,
        launched_where=done.conditions,
        calls=done.calls,
        own_dims=own_dims(workload, done.numbers),
    )


def _launched(
    kernel: Kernel, former: SourceFile, path: Path, workload: Workload
) -> list[tuple[Kernel, Sequence[str]]]:
    """The kernels that the workload launches, in order, each with the workload's argument for each of its parameters.

    Raises `Unclear` and `ProgramError`.
    """
    if not workload.launches:
        return [(kernel, order_of(kernel, workload, path))]
    launched: list[tuple[Kernel, Sequence[str]]] = []
    for step in workload.steps:
        if isinstance(step, LaunchStep):
            before = kernel_apart(former, step.entry)
            if before is None:
                raise Unclear(f"the text before the change has no kernel `{step.entry}`")
            launched.append((before, tuple(map(buffer_of, step.arguments))))
    return launched
