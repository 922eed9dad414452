"""What the type parameters of a kernel's template stand for where the file launches it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernel_gate.expressions import split_at_commas
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.workloads.following.unit import Unit, unit_of
from kernel_lineage.workloads.following.ways import templates_launched


def type_parameters(kernel: Kernel) -> frozenset[str]:
    """The names of a kernel's type parameters: `T` of `template <typename T>`."""
    return frozenset(p.name for p in kernel.template_parameters if p.type is None)


def types_meant(kernel: Kernel, name: str) -> frozenset[str]:
    """The types that a type's name stands for: itself, or what the launches of the file give a type parameter.

    Empty where a launch does not tell, nor the calls of the template that it stands in.
    """
    if name not in type_parameters(kernel):
        return frozenset({name})
    position = [p.name for p in kernel.template_parameters].index(name)
    types: set[str] = set()
    for launch in kernel.launches:
        for type_ in launch.template_arguments[position : position + 1] or ("",):
            meant = _of_calls(kernel, launch.launcher, type_, position) if launch.launcher else {type_}
            if "" in meant or not meant:
                return frozenset()
            types |= meant
    return frozenset(types)


def _of_calls(kernel: Kernel, launcher: str, type_: str, position: int) -> set[str]:
    """What a type in a host function stands for: itself, or for a type parameter of the function what calls of it say;
    "" where one does not.
    """
    unit = unit_of(kernel.source.data.decode("utf-8", "replace")) if kernel.source is not None else None
    hosts = [f for f in unit.functions.get(launcher, ()) if type_ in f.template] if unit is not None else []
    if unit is None or not hosts:
        return {type_}
    written = list(_calls(unit, launcher))
    if len(written) == 1:
        templates = templates_launched(unit, kernel.name)
        return {template[position] for template in templates if position < len(template)}
    at = hosts[0].template.index(type_)
    types = {arguments[at] if at < len(arguments) else "" for arguments in written}
    return (
        types if not types & {t for fs in unit.functions.values() for f in fs for t in f.template} else set()
    )


def _calls(unit: Unit, function: str) -> Iterator[tuple[str, ...]]:
    """The template arguments that each call of a host function is written with."""
    called = re.compile(rf"\b{re.escape(function)}\s*(?:<([^;(){{}}]*)>)?\s*\(")
    for code in (code for codes in unit.functions.values() for code in codes if function in code.words):
        for match in called.finditer(code.body.text.decode() if code.body.text is not None else ""):
            yield tuple(split_at_commas(match[1] or "", "<", ">"))
