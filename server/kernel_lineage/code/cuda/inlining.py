"""Device functions, read where they are called with the arguments of the call."""

from __future__ import annotations

import re
from collections.abc import Callable

from tree_sitter import Node

from kernel_gate.expr import terms
from kernel_gate.expr.terms import Term
from kernel_lineage.code.cuda.conversions import declared
from kernel_lineage.code.cuda.declarations import declared_names
from kernel_lineage.code.cuda.expressions import Expressions
from kernel_lineage.code.cuda.scope import shown
from kernel_lineage.code.values import Opaque, Value, merged
from kernel_lineage.kernels.cuda_forms import bare, text_of


def inlined(at: Expressions, node: Node, function: Node, run: Callable[[Node | None], bool]) -> Value:
    """What a device function returns, read with the call's arguments."""
    listed = node.child_by_field_name("arguments")
    arguments = [a for a in listed.named_children if a.type != "comment"] if listed is not None else []
    values = [at.value(argument) for argument in arguments]
    scope, outer = at.scope, at.scope.variables
    parameters = _parameters(function)
    types = dict(scope.names.types)
    bound: dict[str, Value] = {}
    for (name, kind, pointer, default), position in zip(parameters, range(len(parameters)), strict=True):
        value = (
            values[position]
            if position < len(values)
            else at.value(default)
            if default is not None
            else Opaque()
        )
        bound[name] = declared(at.scope, node, kind, pointer, value)
    kept = scope.returned, scope.path, scope.depth
    scope.variables, scope.returned, scope.depth = bound, [], scope.depth + 1
    try:
        run(function.child_by_field_name("body"))
        returned = scope.returned
        after = scope.variables
    finally:
        scope.variables = outer
        scope.returned, scope.path, scope.depth = kept
        scope.names.types = types
    for (name, kind, _, _), argument in zip(parameters, arguments, strict=False):
        target = bare(argument)
        if "&" in kind and "const" not in kind and target is not None and target.type == "identifier":
            scope.variables[text_of(target)] = after.get(name, Opaque())
    return _result(at, node, returned, len(scope.path))


def _result(
    at: Expressions, node: Node, returned: list[tuple[tuple[Term, ...], Value]], outside: int
) -> Value:
    if not returned:
        return Opaque()
    *others, (_, value) = returned
    for path, other in reversed(others):
        condition = terms.conjunction(*path[outside:])
        value = merged(condition, other, value, shown(node), at.scope.line(node))
    return value


def _parameters(function: Node) -> list[tuple[str, str, bool, Node | None]]:
    """Name, type as written with `&`, whether it is a pointer, and default of each parameter."""
    declarator = function.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator") or next(
            (c for c in declarator.named_children if c.type.endswith("declarator")), None
        )
    listed = declarator.child_by_field_name("parameters") if declarator is not None else None
    found = []
    for node in listed.named_children if listed is not None else ():
        if not node.type.endswith("parameter_declaration"):
            continue
        names = declared_names(node)
        head = text_of(node).split("=")[0]
        kind = text_of(node.child_by_field_name("type")) + ("&" if "&" in head else "")
        prefix = "const " if re.match(r"\s*const\b", head) else ""
        found.append(
            (
                names[0] if names else "",
                prefix + kind,
                "*" in head or "[" in head,
                node.child_by_field_name("default_value"),
            )
        )
    return found
