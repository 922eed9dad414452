"""A CUDA C++ kernel in a setting → its model."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kernel_gate.expr.terms import Num, Var, at_most, less
from kernel_lineage.code.cuda.names import Names
from kernel_lineage.code.cuda.scope import Scope
from kernel_lineage.code.cuda.statements import Statements
from kernel_lineage.code.model import Model, UnreadableError
from kernel_lineage.code.setting import Setting
from kernel_lineage.code.values import INT32, INTEGERS, Element, Int, Opaque, Pointer, Value
from kernel_lineage.kernels.source import Kernel


def read_cuda(kernel: Kernel, setting: Setting, lines: Mapping[int, int]) -> Model:
    """The accesses of a kernel on all paths; `lines` says which lines to report. Raises `UnreadableError`."""
    if kernel.node is None or kernel.source is None or kernel.node.child_by_field_name("body") is None:
        raise UnreadableError(f"`{kernel.name}` could not be parsed")
    model = Model()
    model.unknowns |= setting.unknowns
    model.naturals |= set(setting.dims)
    for what, extents in (("threadIdx", setting.launch.block), ("blockIdx", setting.launch.grid)):
        for axis, extent in zip("xyz", extents, strict=True):
            if extent != Num(1):
                variable = Var(f"{what}.{axis}")
                model.ranges[variable.name] = (at_most(Num(0), variable), less(variable, extent))
                model.places[variable.name] = extent
                model.naturals.add(variable.name)
                model.instance.add(variable.name)
    names = Names(kernel.source, setting.types)
    scope = Scope(names, setting, model, lines=lines)
    for parameter in kernel.parameters:
        scope.variables[parameter.name] = _argument(
            parameter.name, parameter.pointer, parameter.type, names, setting
        )
    Statements(scope).run(kernel.node.child_by_field_name("body"))
    return model


def _argument(name: str, pointer: bool, written: str, names: Names, setting: Setting) -> Value:
    if pointer:
        element = names.element(written)
        buffer = setting.buffers.get(name)
        if not element.nbytes and buffer is not None and _is_open(written, names):
            element = Element(buffer.dtype, buffer.itemsize)
        return Pointer(name, "global", Num(0), element)
    if name in setting.scalars:
        return Int(setting.scalars[name], INTEGERS.get(names.element(written).dtype, INT32))
    return Opaque()


def _is_open(written: str, names: Names) -> bool:
    """Whether a type is one of several by `#if`: the workload, whose data the kernel is given, says which."""
    base = names.base(written)
    return (
        len(
            re.findall(
                rf"(?:typedef\b[^;]*\b{re.escape(base)}\s*;|using\s+{re.escape(base)}\s*=)",
                names.source.data.decode("utf-8", "replace"),
            )
        )
        > 1
    )
