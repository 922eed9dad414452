"""What names stand for in a Python function that launches kernels: the local assignments before the launch."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from kernel_lineage.kernels.python_text import Module

_LONGEST_DEFINITION = 400


def definitions(
    module: Module, expressions: Sequence[ast.expr], scopes: Sequence[ast.AST], line: int
) -> dict[str, str]:
    """The definitions that expressions at a line use, directly or through each other; inner scopes win."""
    found: dict[str, str] = {}
    waiting = [name for expression in expressions for name in names_in(expression)]
    while waiting:
        name = waiting.pop(0)
        if name in found:
            continue
        value = assigned_value(scopes, name, line)
        if value is None:
            continue
        expression, index = value
        written = module.written(expression)
        if len(written) > _LONGEST_DEFINITION:
            continue
        found[name] = written if index is None else _component(module, expression, index)
        waiting.extend(names_in(expression))
    return found


def names_in(expression: ast.AST) -> list[str]:
    """The names that an expression reads, in order."""
    return [n.id for n in ast.walk(expression) if isinstance(n, ast.Name)]


def _component(module: Module, expression: ast.expr, index: int) -> str:
    if isinstance(expression, ast.Tuple) and index < len(expression.elts):
        return module.written(expression.elts[index])
    return f"{module.written(expression)}[{index}]"


def assigned_value(scopes: Sequence[ast.AST], name: str, line: int) -> tuple[ast.expr, int | None] | None:
    """The last value that a name is given before a line, and its index in it when it is unpacked."""
    for scope in scopes:
        values = list(assigned_values(scope, name, line))
        if values:
            return values[-1]
    return None


def assigned_values(scope: ast.AST, name: str, line: int) -> Iterator[tuple[ast.expr, int | None]]:
    """Every value that a name is given in a scope before a line, in order."""
    for node in own_nodes(scope):
        if isinstance(node, ast.Assign) and (node.lineno < line or isinstance(scope, ast.Module)):
            for target in node.targets:
                if isinstance(target, ast.Name) and target.id == name:
                    yield node.value, None
                elif isinstance(target, (ast.Tuple, ast.List)):
                    for index, element in enumerate(target.elts):
                        if isinstance(element, ast.Name) and element.id == name:
                            yield node.value, index
        elif isinstance(node, ast.AnnAssign) and node.value is not None and node.lineno < line:
            if isinstance(node.target, ast.Name) and node.target.id == name:
                yield node.value, None
        elif isinstance(node, ast.NamedExpr) and node.target.id == name and node.lineno <= line:
            yield node.value, None


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope in source order, without those of functions and classes inside it."""
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield from own_nodes(child)
