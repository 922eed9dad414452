"""What names stand for in a Python function that launches kernels: the local assignments before the launch."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache

from kernel_lineage.kernels.python_text import Module

_LONGEST_DEFINITION = 400
_SCOPES_KEPT = 64
"""A file's launches ask for the same few scopes over and over."""


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
    for last_line, value, index in _assignments(scope).get(name, ()):
        if line > last_line:
            yield value, index


@lru_cache(maxsize=_SCOPES_KEPT)
def _assignments(scope: ast.AST) -> dict[str, list[tuple[int, ast.expr, int | None]]]:
    """Name → the last line on which each of its values is not yet seen, the value, and its index when unpacked."""
    found: dict[str, list[tuple[int, ast.expr, int | None]]] = {}
    always = isinstance(scope, ast.Module)
    for node in own_nodes(scope):
        if isinstance(node, ast.Assign):
            last_line = -1 if always else node.lineno
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append((last_line, node.value, None))
                elif isinstance(target, (ast.Tuple, ast.List)):
                    for index, element in enumerate(target.elts):
                        if isinstance(element, ast.Name):
                            found.setdefault(element.id, []).append((last_line, node.value, index))
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            if isinstance(node.target, ast.Name):
                found.setdefault(node.target.id, []).append((node.lineno, node.value, None))
        elif isinstance(node, ast.NamedExpr):
            found.setdefault(node.target.id, []).append((node.lineno - 1, node.value, None))
    return found


@lru_cache(maxsize=_SCOPES_KEPT)
def own_nodes(scope: ast.AST) -> tuple[ast.AST, ...]:
    """The nodes of a scope in source order, without those of functions and classes inside it."""
    nodes: list[ast.AST] = []
    waiting = list(ast.iter_child_nodes(scope))[::-1]
    while waiting:
        node = waiting.pop()
        nodes.append(node)
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            waiting.extend(list(ast.iter_child_nodes(node))[::-1])
    return tuple(nodes)


@lru_cache(maxsize=_SCOPES_KEPT)
def all_nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Every node of a tree, as `ast.walk` gives them; several readers of one file share the walk."""
    return tuple(ast.walk(tree))
