"""The program of a host function over tensors of PyTorch, over a workload whose arguments are its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from kernel_gate.program import LaunchStep
from kernel_gate.workload import Workload
from kernel_lineage.kernels.source import SourceFile
from kernel_lineage.workloads.following.functions import HostCode, HostParameter
from kernel_lineage.workloads.following.unit import Unit, unit_of
from kernel_lineage.workloads.following.values import Pointer, Value
from kernel_lineage.workloads.host_program import HostProgram, Unclear, buffer_of, over_dims, step_renamed
from kernel_lineage.workloads.host_work import host_code
from kernel_lineage.workloads.launcher_reading import LauncherEnd, LauncherReading, check_same
from kernel_lineage.workloads.model import View
from kernel_lineage.workloads.names_before import NamesBefore


def tensor_function_steps(
    name: str,
    former: SourceFile,
    source: SourceFile,
    path: Path,
    workload: Workload,
    root: Path,
    views: Mapping[str, View] = MappingProxyType({}),
) -> HostProgram:
    """What a function does in `source`; `former` is the file that the workload is of, the same one for a baseline.

    `views`: argument → the tensor that the function is given, where that is a part of the workload's buffer.

    Raises `Unclear` and `Unreadable` with the reason where it does something that is not understood.
    """
    unit = host_code(path, root, former.data)
    function = _function(name, unit)
    before = _end(function, function, former, unit, workload, views)
    if former is source:
        after, already = before, []
    else:
        unit = host_code(path, root, source.data)
        after, already = (
            _end(_function(name, unit), function, source, unit, workload, views),
            before.conditions,
        )
    for unread in (*before.unread, *after.unread):
        raise Unclear(f"gives back {unread}")
    places, outputs = _results(before), _outputs(function, workload)
    if len(places) != len(outputs):
        raise Unclear(
            f"gives back {len(places)} tensors that it has made, the workload has {len(outputs)} outputs"
        )
    results = dict(zip(places, outputs, strict=True))
    own: dict[str, str] = {}
    for place, output in results.items():
        made = after.gives[place] if place < len(after.gives) else ""
        scratch = next((one for one in after.scratch if one.name == made), None)
        if scratch is None or made in own:
            raise Unclear(f"does not make `{output}` and give it back")
        check_same(scratch, output, workload)
        own[made] = output
    written = {
        buffer_of(word) for step in after.steps if isinstance(step, LaunchStep) for word in step.arguments
    }
    for output in _changed(workload):
        if output not in written | {own.get(buffer) for buffer in written}:
            raise Unclear(f"launches nothing with `{output}`")
    return HostProgram(
        tuple(step_renamed(step, own) for step in after.steps),
        tuple(one for one in after.scratch if one.name not in own),
        over_dims((c for c in after.conditions if c not in already), workload),
        after.calls,
        after.of_torch,
    )


def _function(name: str, unit: Unit) -> HostCode:
    functions = [f for f in unit.hosts(name) if f.of_host and not f.template]
    if len(functions) != 1:
        raise Unclear("is gone" if not functions else "has several definitions")
    return functions[0]


def _outputs(function: HostCode, workload: Workload) -> list[str]:
    """The arguments of the workload that the function makes."""
    parameters = {p.name for p in function.parameters}
    return [a.name for a in workload.args if a.kind == "output" and a.name not in parameters]


def _changed(workload: Workload) -> list[str]:
    return [a.name for a in workload.args if a.kind in ("output", "inout")]


def _results(end: LauncherEnd) -> list[int]:
    """The places of what a function gives back that it has made, and launched kernels with."""
    launched = {
        buffer_of(word) for step in end.steps if isinstance(step, LaunchStep) for word in step.arguments
    }
    made = {one.name for one in end.scratch} & launched
    return [place for place, result in enumerate(end.gives) if result in made]


def _end(
    function: HostCode,
    former: HostCode,
    source: SourceFile,
    unit: Unit,
    workload: Workload,
    views: Mapping[str, View],
) -> LauncherEnd:
    """What a function comes to; a parameter of another name than `former` has it is the one in its place."""
    before, names = ([p.name for p in f.parameters] for f in (former, function))
    by_name = set(names) <= set(before) or len(names) != len(before)
    meant = dict(zip(names, names if by_name else before, strict=True))
    own = unit_of(source.data.decode("utf-8", "replace"))
    arguments = {a.name: a for a in workload.args}
    buffers = {n: m for n, m in meant.items() if m in arguments and arguments[m].is_pointer}
    bound = NamesBefore(
        {n: m for n, m in meant.items() if n not in buffers and (m in arguments or m in workload.dims)},
        buffers,
        {n: tuple(map(str, arguments[m].shape or ())) for n, m in buffers.items()},
        views={n: views[m] for n, m in buffers.items() if m in views},
    )
    return _FunctionReading(source, unit, own, workload, bound).end(function, is_called_again=True)


class _FunctionReading(LauncherReading):
    """Follows a function exactly, with a workload's arguments for its parameters."""

    def parameter_before(self, parameter: HostParameter) -> Value:
        """What a parameter is; a tensor that may be left out is left out where the workload has none."""
        if (
            parameter.name not in self.bound.buffers
            and "optional<" in parameter.type
            and "Tensor" in parameter.type
        ):
            return Pointer(None)
        return super().parameter_before(parameter)
