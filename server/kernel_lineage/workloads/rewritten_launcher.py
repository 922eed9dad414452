"""What a change makes of the function that launches a CUDA kernel: its launches in order, with its own buffers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernel_gate.program import LaunchStep, MemsetStep
from kernel_gate.workload import Workload
from kernel_lineage.kernels.source import Kernel, SourceFile
from kernel_lineage.workloads.following.sequence import Unreadable
from kernel_lineage.workloads.following.unit import unit_of
from kernel_lineage.workloads.host_program import (
    HostProgram,
    Unclear,
    buffer_of,
    check_numbers,
    constants_passed,
    over_dims,
    step_renamed,
    with_scalars,
)
from kernel_lineage.workloads.host_work import host_code
from kernel_lineage.workloads.launcher_reading import LauncherEnd, LauncherReading, check_same
from kernel_lineage.workloads.names_before import NamesBefore, names_before


def rewritten_launcher(
    launched: Sequence[tuple[Kernel, Sequence[str]]],
    former: SourceFile,
    source: SourceFile,
    path: Path,
    workload: Workload,
    root: Path,
) -> HostProgram:
    """What the function that launched kernels of the file `former` does in `source`, the file after a change.

    `launched` are these kernels in order, each with the workload's argument for each of its parameters. Raises
    `Unclear` with the reason where the function is no longer there, or does something that is not understood.
    """
    before, after = (host_code(path, root, file.data) for file in (former, source))
    own = unit_of(source.data.decode("utf-8", "replace"))
    names = {kernel.name for kernel, _ in launched}
    launchers = [f for fs in before.functions.values() for f in fs if f.of_host and names <= f.words]
    what = " and ".join(f"`{name}`" for name in sorted(names))
    reasons: list[str] = []
    for launcher in launchers:
        changed = [f for f in after.functions.get(launcher.name, ()) if f.of_host]
        if len(changed) != 1:
            reasons.append(f"`{launcher.name}`, which launches {what}, is gone")
            continue
        parts = [names_before(kernel, before, launcher, workload, order) for kernel, order in launched]
        bound = NamesBefore({}, {}, {})
        for part in parts:
            if part is not None:
                bound = bound.with_others(part)
        if None in parts:
            reasons.append(f"`{launcher.name}` launches {what} in a way that is not read")
            continue
        try:
            first = LauncherReading(former, before, before, workload, bound).end(launcher)
            then = LauncherReading(source, after, own, workload, bound).end(changed[0], is_called_again=True)
            return _program(first, then, launched, source, workload)
        except (Unclear, Unreadable) as error:
            reasons.append(f"`{launcher.name}`, {error}")
    raise Unclear("; ".join(reasons) or f"no function launches {what}")


def _program(
    before: LauncherEnd,
    after: LauncherEnd,
    launched: Sequence[tuple[Kernel, Sequence[str]]],
    source: SourceFile,
    workload: Workload,
) -> HostProgram:
    """The steps after a change over the workload's arguments: what is returned in the place of a buffer of the workload
    is that buffer.
    """
    launches = [step for step in before.steps if isinstance(step, LaunchStep)]
    if [step.entry for step in launches] != [kernel.name for kernel, _ in launched]:
        names = ", ".join(step.entry for step in launches) or "nothing"
        raise Unclear(f"launches {names} before the change, and the workload is of other launches")
    if before.copies != after.copies:
        raise Unclear("other data are copied to the device, or from it, than before the change")
    arguments: dict[str, str] = {}
    constants: dict[str, str] = {}
    dims = next(iter(workload.profile_dims), None) or next(workload.shapes())
    for step, (_, order) in zip(launches, launched, strict=True):
        check_numbers(step, order, workload.numbers(dims))
        arguments |= dict(zip(map(buffer_of, step.arguments), order, strict=False))
        constants |= constants_passed(step, order)
    made_before = {scratch.name for scratch in before.scratch}
    own: dict[str, str] = {}
    for old, new in zip(before.gives, after.gives, strict=False):
        if old in made_before and old in arguments and new:
            own.setdefault(new, arguments[old])
    used = {
        buffer_of(word) for step in after.steps if isinstance(step, LaunchStep) for word in step.arguments
    }
    for argument in workload.args:
        if argument.kind in ("output", "inout") and argument.name not in used | {
            own.get(name) for name in used
        }:
            raise Unclear(f"nothing gives `{argument.name}`")
    for one in after.scratch:
        if one.name in own:
            check_same(one, own[one.name], workload)
    steps: list[LaunchStep | MemsetStep] = []
    for done in after.steps:
        if isinstance(done, LaunchStep):
            kernel = source.kernel(done.entry)
            parameters = [p.name for p in kernel.parameters] if kernel is not None else []
            done = with_scalars(done, constants, parameters, workload)
        steps.append(step_renamed(done, own))
    scratch = tuple(one for one in after.scratch if one.name not in own)
    conditions = over_dims((c for c in after.conditions if c not in before.conditions), workload)
    return HostProgram(tuple(steps), scratch, conditions, after.calls, after.of_torch)
