"""Calls: functions of `triton.language`, methods of blocks, and functions of the module to inline."""

from __future__ import annotations

import ast
from collections.abc import Callable

from kernel_gate.expr import terms
from kernel_lineage.proofs.triton.called import Called
from kernel_lineage.proofs.triton.expressions import Expressions, merged
from kernel_lineage.proofs.triton.functions import function
from kernel_lineage.proofs.triton.scope import shown
from kernel_lineage.proofs.triton.values import Constant, Other, Tuple, Value

_DEPTH = 6

Run = Callable[[list[ast.stmt]], bool]


def evaluate_call(at: Expressions, node: ast.Call, run: Run) -> Value:
    """The value of a call. `run` reads the statements of an inlined function."""
    listed: list[Value] = []
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            spread = at.value(argument.value)
            listed += spread.items if isinstance(spread, Tuple) else [Other()]
        else:
            listed.append(at.value(argument))
    named = {k.arg: at.value(k.value) for k in node.keywords if k.arg is not None}
    match node.func:
        case ast.Name(id=name):
            definition = at.scope.functions.get(name)
            if definition is not None and at.scope.depth < _DEPTH:
                return _inlined(at, node, definition, listed, named, run)
            return function(Called(at, node, name, listed, named))
        case ast.Attribute(value=base, attr=name):
            receiver = _receiver(at, base)
            return function(
                Called(at, node, name, listed if receiver is None else [receiver, *listed], named)
            )
    return Other(f"`{shown(node)}` on line {node.lineno}")


def _receiver(at: Expressions, base: ast.expr) -> Value | None:
    """The block that a method is called on; None for a module."""
    root = base
    while isinstance(root, ast.Attribute):
        root = root.value
    is_module = (
        isinstance(root, ast.Name) and root.id not in at.scope.variables and root.id not in at.scope.constants
    )
    return None if is_module else at.value(base)


def _inlined(
    at: Expressions,
    node: ast.Call,
    definition: ast.FunctionDef,
    listed: list[Value],
    named: dict[str, Value],
    run: Run,
) -> Value:
    scope = at.scope
    parameters = [*definition.args.posonlyargs, *definition.args.args]
    defaults = definition.args.defaults
    bound: dict[str, Value] = {}
    for position, parameter in enumerate(parameters):
        default = position - (len(parameters) - len(defaults))
        if position < len(listed):
            bound[parameter.arg] = listed[position]
        elif parameter.arg in named:
            bound[parameter.arg] = named[parameter.arg]
        else:
            bound[parameter.arg] = (
                at.value(defaults[default]) if default >= 0 else Other("an argument that is not given")
            )
    kept = scope.variables, scope.returned, scope.path, scope.depth
    outside = len(scope.path)
    scope.variables, scope.returned, scope.depth = bound, [], scope.depth + 1
    try:
        run(definition.body)
        returned = scope.returned
    finally:
        scope.variables, scope.returned, scope.path, scope.depth = kept
    if not returned:
        return Constant(None)
    *others, (_, value) = returned
    for path, other in reversed(others):
        value = merged(scope, node, terms.conjunction(*path[outside:]), other, value)
    return value
