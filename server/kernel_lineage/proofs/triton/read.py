"""A Triton kernel in a setting → its model."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from kernel_gate.expr.terms import ZERO, Num, Var, equal, variables
from kernel_lineage.code.model import Model, UnreadableError
from kernel_lineage.code.setting import BufferSetting, LaunchSetting, Setting
from kernel_lineage.code.values import INT32, INTEGERS, Element, Int, Pointer
from kernel_lineage.kernels.source import Kernel, Parameter
from kernel_lineage.proofs.triton.expressions import Expressions
from kernel_lineage.proofs.triton.scope import Scope
from kernel_lineage.proofs.triton.statements import Statements
from kernel_lineage.proofs.triton.values import Other, Pointers, Tile, Value, lane

ITEM = 4
"""Bytes of an element of a buffer of which nothing is known."""


def read_triton(kernel: Kernel, setting: Setting) -> Model:
    """The accesses of a kernel on all paths. Raises `UnreadableError`."""
    if kernel.function is None or kernel.source is None or kernel.source.module is None:
        raise UnreadableError(f"`{kernel.name}` could not be parsed")
    model = Model(threads=False)
    model.unknowns |= setting.unknowns
    model.naturals |= {*setting.dims, *setting.naturals, *setting.addresses}
    model.ranges |= setting.addresses
    model.take_places("blockIdx", setting.launch.grid)
    module = kernel.source.module
    functions = {s.name: s for s in module.body if isinstance(s, ast.FunctionDef)}
    constants = dict(_assigned(module))
    scope = Scope(setting, model, functions, constants)
    statements = Statements(scope)
    defaults = _defaults(kernel.function)
    for parameter in kernel.parameters:
        scope.variables[parameter.name] = _argument(parameter, setting, defaults, statements.at)
    statements.run(kernel.function.body)
    _pin_lanes(model, scope.rank)
    return model


def open_setting(kernel: Kernel) -> Setting:
    """Nothing but what the text says: sizes, scalars and the grid stay symbols."""
    constants = {p.name: Var(p.name) for p in kernel.parameters if p.constexpr}
    buffers = {
        p.name: BufferSetting(p.name, "float32", ITEM, Var(f"elements of {p.name}"), ITEM)
        for p in kernel.parameters
        if p.pointer
    }
    scalars = {p.name: Var(p.name) for p in kernel.parameters if not p.constexpr and p.name not in buffers}
    grid = (Var("gridDim.x"), Var("gridDim.y"), Var("gridDim.z"))
    one = Num(1)
    naturals = frozenset({*constants, *(e.name for e in grid)})
    launch = LaunchSetting(grid, (one, one, one))
    return Setting((), (), buffers, scalars, launch, constants, naturals=naturals, is_open=True)


def _assigned(module: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """The names that a module assigns once at its top level, with what it assigns."""
    assignments = [
        (target.id, s.value)
        for s in module.body
        if isinstance(s, ast.Assign | ast.AnnAssign) and s.value is not None
        for target in (s.targets if isinstance(s, ast.Assign) else [s.target])
        if isinstance(target, ast.Name)
    ]
    names = [name for name, _ in assignments]
    yield from ((name, value) for name, value in assignments if names.count(name) == 1)


def _defaults(function: ast.FunctionDef) -> dict[str, ast.expr]:
    parameters = [*function.args.posonlyargs, *function.args.args]
    defaults = function.args.defaults
    behind = parameters[len(parameters) - len(defaults) :]
    return {p.arg: value for p, value in zip(behind, defaults, strict=True)}


def _argument(
    parameter: Parameter, setting: Setting, defaults: dict[str, ast.expr], at: Expressions
) -> Value:
    name = parameter.name
    if name in setting.constants:
        term = setting.constants[name]
        return Tile(Int(term), weak=True)
    if (buffer := setting.buffers.get(name)) is not None:
        return Pointers(Pointer(name, "global", ZERO, Element(buffer.dtype, buffer.itemsize)))
    if name in setting.scalars:
        return Tile(Int(setting.scalars[name], INTEGERS.get(setting.scalar_types.get(name, ""), INT32)))
    if name in defaults:
        return at.value(defaults[name])
    return Other(f"the argument `{name}`", ())


def _pin_lanes(model: Model, rank: int) -> None:
    """A block with fewer axes is accessed by the first lane of the others."""
    for position, access in enumerate(model.accesses):
        own = {name for condition in access.path for name in variables(condition)}
        pins = tuple(equal(lane(axis), ZERO) for axis in range(rank) if lane(axis).name not in own)
        model.accesses[position] = replace(access, path=(*access.path, *pins))
