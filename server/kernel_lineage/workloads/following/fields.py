"""Structures that a kernel takes by value, as a workload has them: one argument for each field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kernel_lineage.code.types import DTYPES
from kernel_lineage.kernels.source import Kernel, Parameter
from kernel_lineage.workloads.following.accessors import is_accessor, parts_of_accessor
from kernel_lineage.workloads.following.functions import bare_type
from kernel_lineage.workloads.following.launches import LaunchArgument, Launched
from kernel_lineage.workloads.following.types import dtype_of, plain_type
from kernel_lineage.workloads.following.unit import Unit
from kernel_lineage.workloads.following.values import Opaque, Record
from kernel_lineage.workloads.model import Role


@dataclass(frozen=True, slots=True)
class Passed:
    """A parameter, or a field of one, with what the launch gives for it."""

    parameter: Parameter
    given: LaunchArgument
    role: Role | None = None
    """What a pointer among the fields is for; None where the kernel's text is asked."""
    at: int | None = None
    """The byte of the part in a structure whose places are told."""


def passed(kernel: Kernel, launch: Launched, unit: Unit) -> tuple[Passed, ...]:
    """What a launch gives to each parameter: for a structure, to each of its fields."""
    return tuple(
        part
        for parameter, argument in zip(kernel.parameters, launch.arguments, strict=False)
        for part in _parts(parameter, argument, unit)
    )


def _parts(parameter: Parameter, argument: LaunchArgument, unit: Unit) -> Iterator[Passed]:
    kind = alias_of(bare_type(parameter.type), unit)
    fields = unit.fields_of(kind)
    record = argument.value
    if isinstance(record, Record) and is_accessor(record):
        yield from _accessor_parts(parameter, record, argument.written)
        return
    plain = all(not f.array and (f.stars or _dtype(f.type, unit) is not None) for f in fields)
    if parameter.pointer or not isinstance(record, Record) or not fields or not plain:
        yield Passed(parameter, argument)
        return
    for field in fields:
        value = record.fields.get(field.name, Opaque(f"`{parameter.name}.{field.name}`"))
        inner = Parameter(
            f"{parameter.name}_{field.name}",
            field.type + " *" * field.stars,
            parameter.span,
            _dtype(field.type, unit),
            pointer=field.stars > 0,
            const=field.const,
        )
        role: Role = "input" if field.const else "inout"
        yield Passed(inner, LaunchArgument(value, f"{argument.written}.{field.name}"), role)


def _accessor_parts(parameter: Parameter, accessor: Record, written: str) -> Iterator[Passed]:
    """The memory by the parameter's own name, then its extents and its strides."""
    for name, kind, value, at in parts_of_accessor(accessor):
        part = Parameter(
            f"{parameter.name}_{name}" if name else parameter.name,
            kind,
            parameter.span,
            dtype_of(kind),
            pointer=not name,
            const=False,
        )
        yield Passed(part, LaunchArgument(value, f"{written}.{name}"), None if name else "inout", at)


def alias_of(name: str, unit: Unit) -> str:
    """The type at the end of the aliases that stand outside of functions; of an enumeration `int`."""
    for _ in unit.types:
        if name not in unit.types:
            break
        name = unit.types[name]
    return "int" if name in unit.enums else plain_type(name)


def _dtype(name: str, unit: Unit) -> str | None:
    return DTYPES.get(alias_of(name, unit))
