"""Attributes of what the host code holds: of objects, classes, modules, tensors and what is not read."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from kernel_lineage.workloads.triton.classes import (
    bound_to,
    class_attribute,
    instance_attribute,
    member_of,
    method_of,
)
from kernel_lineage.workloads.triton.device_facts import near_memory
from kernel_lineage.workloads.triton.host_modules import HostModule
from kernel_lineage.workloads.triton.objects import Attribute, Class, Function, Instance, Method, Module
from kernel_lineage.workloads.triton.tensor_methods import GRADIENT, attribute
from kernel_lineage.workloads.triton.values import Dtype, External, Size, Tensor, Unknown

if TYPE_CHECKING:
    from kernel_lineage.workloads.triton.host import Reader


def attribute_of(reader: Reader, value: object, attr: str) -> object:
    """`value.attr`."""
    value = reader.opened(value, attr)
    match value:
        case Instance():
            member = instance_attribute(reader, value, attr)
            memory = near_memory(reader, attr) if isinstance(member, (Unknown, External)) else None
            return memory if memory is not None else member
        case Tensor():
            own = reader.gradient(value) if attr == GRADIENT else None
            return own if own is not None else attribute(value, attr)
        case External():
            return reader.external(f"{value.name}.{attr}")
        case Module():
            return _of_module(reader, value.module, attr)
        case Class():
            function = method_of(reader, value, attr)
            if function is not None:
                return bound_to(function, value, value) if attr != "forward" else function
            member = member_of(reader, value, attr) or class_attribute(reader, value, attr)
            if member is None and attr == "apply" and method_of(reader, value, "forward") is not None:
                return Attribute(value, attr)
            return member if member is not None else Unknown(f"`{value.name}.{attr}`")
        case Function() | Method() if attr in ("fn", "func", "__wrapped__", "default"):
            return value
        case Function() if attr == "__name__" and isinstance(value.node, ast.FunctionDef):
            return value.node.name
        case Dtype() if attr == "itemsize":
            return attribute(Tensor("", (), value.name), attr)
        case list() | dict() | tuple() | set() | str():
            return Attribute(value, attr)
    if attr == "value" and isinstance(value, (int, float, Size)):
        return value
    if attr in ("multi_processor_count", "multiprocessor_count"):
        return reader.external(attr)
    return value if isinstance(value, Unknown) else Unknown(f".{attr}")


def _of_module(reader: Reader, module: HostModule, name: str) -> object:
    if reader.modules.defining(module, name) is None and name not in module.imports:
        dotted = module.path.stem if module.path.stem != "__init__" else module.path.parent.name
        below = reader.modules.at(module, f".{name}") if module.path.name == "__init__.py" else None
        return Module(below) if below is not None else Unknown(f"{dotted}.{name}")
    return reader.global_value(name, module)
