"""What the names of a function that launches a kernel are, over the workload of that kernel."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kernel_gate.program import LaunchStep
from kernel_gate.workload import Workload
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.words import WORD
from kernel_lineage.workloads.following.functions import HostCode, bare_type
from kernel_lineage.workloads.following.launch_site import (
    meanings_of,
    meanings_of_fields,
    reached_launch,
    translated,
)
from kernel_lineage.workloads.following.types import cpp_type_of
from kernel_lineage.workloads.following.unit import Unit
from kernel_lineage.workloads.following.values import Buffer, Pointer, Tensor
from kernel_lineage.workloads.model import View

_CAST = re.compile(
    r"^\s*(?:\((?:const\s+)?[\w:]+\)|static_cast\s*<[\w:\s]+>|(?:float|double|int|int64_t|size_t)(?=\())"
)
_FIELD = re.compile(r"[A-Za-z_]\w*\.[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class NamesBefore:
    """What names of a launcher are before a change."""

    meanings: Mapping[str, str]
    """Name → an expression of the workload."""
    buffers: Mapping[str, str]
    """Pointer or tensor → the workload's argument."""
    extents: Mapping[str, tuple[str, ...]]
    """Tensor → its extents, as expressions of the workload."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """Field of a structure as it is written, `params.rows` → the workload's argument."""
    template: Mapping[str, str] = field(default_factory=dict)
    """Parameter of the launcher's template → the C++ type, or the number, that it stands for."""
    views: Mapping[str, View] = field(default_factory=dict)
    """Tensor → how it lies in the workload's buffer, where that is not row by row."""

    def with_others(self, other: NamesBefore) -> NamesBefore:
        """These names and others, where the others are not among these."""
        return NamesBefore(
            {**other.meanings, **self.meanings},
            {**other.buffers, **self.buffers},
            {**other.extents, **self.extents},
            {**other.fields, **self.fields},
            {**other.template, **self.template},
            {**other.views, **self.views},
        )


def names_before(
    kernel: Kernel,
    unit: Unit,
    launcher: HostCode,
    workload: Workload,
    order: Sequence[str],
) -> NamesBefore | None:
    """What the names of a launcher are where it launches a kernel; None where the launch is not read.

    `order` names the workload's argument for each of the kernel's parameters.
    """
    leading = unit.leading_to(kernel.name)
    reached = reached_launch(
        kernel, unit, launcher, leading, order, {}, {}, compiled=workload.launch.constexpr
    )
    if reached is None:
        return None
    launch = reached[0]
    meanings = meanings_of(launch, workload, order, meanings_of_fields(kernel, unit, launch, workload))
    buffers: dict[str, str] = {}
    extents: dict[str, tuple[str, ...]] = {}
    fields: dict[str, str] = {}
    for argued, name in zip(launch.arguments, order, strict=True):
        argument, value = workload.argument(name), argued.value
        written = _CAST.sub("", argued.written).strip("() ")
        if argument is not None and _FIELD.fullmatch(written):
            fields.setdefault(written, name)
        elif argument is not None and argument.kind == "scalar" and WORD.fullmatch(written):
            meanings.setdefault(written, name)
        buffer = value.buffer if isinstance(value, (Pointer, Tensor)) else None
        buffer = value if isinstance(value, Buffer) else buffer
        if argument is None or not argument.is_pointer or buffer is None or not buffer.name:
            continue
        if isinstance(value, Pointer) and value.offset is not None and value.offset.value != 0:
            continue
        buffers.setdefault(buffer.name, name)
        shape = buffer.tensor.shape if buffer.tensor is not None else None
        texts = [translated(extent, meanings) for extent in shape or ()]
        is_read = bool(texts) and None not in texts
        extents[buffer.name] = (
            tuple(t for t in texts if t) if is_read else tuple(map(str, argument.shape or ()))
        )
    return NamesBefore(
        meanings, buffers, extents, fields, _template_before(kernel, launcher, workload, order)
    )


def _template_before(
    kernel: Kernel, launcher: HostCode, workload: Workload, order: Sequence[str]
) -> dict[str, str]:
    """What the parameters of a launcher's template stand for: by the workload's instance of the kernel, else by the
    types of its arguments.
    """
    name = launcher.name.rpartition("::")[2]
    written = next((x.template_arguments for x in kernel.launches if x.launcher == name), ())
    steps = (step for step in workload.steps if isinstance(step, LaunchStep)) if workload.launches else ()
    instance = next((s.template_arguments for s in steps if s.entry.rpartition("::")[2] == kernel.name), ())
    if not instance:
        arguments = [workload.argument(argument) for argument in order]
        dtypes = {bare_type(p.type): a.dtype for p, a in zip(kernel.parameters, arguments, strict=False) if a}
        instance = tuple(cpp_type_of(dtypes.get(p.name, "")) for p in kernel.template_parameters)
    pairs = zip(written, instance, strict=False)
    return {own: stands_for for own, stands_for in pairs if own in launcher.template and stands_for}
