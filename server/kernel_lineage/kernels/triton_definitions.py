"""What names stand for in a Python function that launches kernels: the local assignments before the launch."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kernel_lineage.kernels.python_text import Module, names_in_order

_LONGEST_DEFINITION = 400
_SCOPES_KEPT = 64
"""A file's launches ask for the same few scopes over and over."""


def definitions(
    module: Module, expressions: Sequence[ast.expr], scopes: Sequence[ast.AST], line: int
) -> dict[str, str]:
    """The definitions that expressions at a line use, directly or through each other; inner scopes win."""
    by_name: dict[str, str] = {}
    waiting = [name for expression in expressions for name in names_in_order(expression)]
    while waiting:
        name = waiting.pop(0)
        if name in by_name:
            continue
        value = assigned_value(scopes, name, line)
        if value is None:
            continue
        expression, index = value
        written = module.written(expression)
        if len(written) > _LONGEST_DEFINITION:
            continue
        component = written if index is None else _component(module, expression, index)
        if component is None:
            continue
        by_name[name] = component
        waiting.extend(names_in_order(expression))
    return by_name


def unsettled(names: Iterable[str], scopes: Sequence[ast.AST], line: int) -> frozenset[str]:
    """Those of some names whose value at a line depends on the way there: a branch may give another one."""
    return frozenset(n for n in names if not _is_settled(n, scopes, line))


def _is_settled(name: str, scopes: Sequence[ast.AST], line: int) -> bool:
    for scope in scopes:
        if isinstance(scope, ast.Module):
            return True
        stores = [s for s in _stores(scope).get(name, ()) if s.line < line]
        if stores:
            last = stores[-1]
            alone = len(stores) == 1 or last.first <= line <= last.last
            return alone and not any(s.changes for s in stores)
    return True


def _component(module: Module, expression: ast.expr, index: int) -> str | None:
    """One of the values that are unpacked, from the end for a negative index; None where it is not told which."""
    if not isinstance(expression, ast.Tuple):
        return f"{module.written(expression)}[{index}]"
    parts = expression.elts
    passed = parts[: index + 1] if index >= 0 else parts[index:]
    is_certain = -len(parts) <= index < len(parts) and not any(isinstance(e, ast.Starred) for e in passed)
    return module.written(parts[index]) if is_certain else None


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
    assignments: dict[str, list[tuple[int, ast.expr, int | None]]] = {}
    always = isinstance(scope, ast.Module)
    for node in own_nodes(scope):
        if isinstance(node, ast.Assign):
            last_line = -1 if always else node.lineno
            for target in node.targets:
                if isinstance(target, ast.Name):
                    assignments.setdefault(target.id, []).append((last_line, node.value, None))
                elif isinstance(target, (ast.Tuple, ast.List)):
                    starred = False
                    for position, element in enumerate(target.elts):
                        starred |= isinstance(element, ast.Starred)
                        index = position - len(target.elts) if starred else position
                        if isinstance(element, ast.Name):
                            assignments.setdefault(element.id, []).append((last_line, node.value, index))
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            if isinstance(node.target, ast.Name):
                assignments.setdefault(node.target.id, []).append((node.lineno, node.value, None))
        elif isinstance(node, ast.NamedExpr):
            assignments.setdefault(node.target.id, []).append((node.lineno - 1, node.value, None))
    return assignments


@dataclass(frozen=True, slots=True)
class _Store:
    """A place where a name of a function gets a value."""

    line: int
    first: int
    last: int
    """The lines of the block in which it surely has it."""
    changes: bool = False
    """Whether it makes the new value of the old one: `n //= 2`."""


@lru_cache(maxsize=_SCOPES_KEPT)
def _stores(scope: ast.AST) -> dict[str, list[_Store]]:
    """Name → where a function gives it a value, parameters first."""
    by_name: dict[str, list[_Store]] = {}
    if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        for argument in (*scope.args.posonlyargs, *scope.args.args, *scope.args.kwonlyargs):
            by_name[argument.arg] = [_Store(0, 0, scope.end_lineno or scope.lineno)]

    def visit(block: Sequence[ast.stmt]) -> None:
        first, last = block[0].lineno, block[-1].end_lineno or block[-1].lineno
        for statement in block:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                continue
            for inner in ("body", "orelse", "finalbody"):
                if getattr(statement, inner, None):
                    visit(getattr(statement, inner))
            for handler in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
                visit(handler.body)
            if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                for name in (n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)):
                    changes = isinstance(statement, ast.AugAssign)
                    by_name.setdefault(name, []).append(_Store(statement.lineno, first, last, changes))

    if getattr(scope, "body", None) and not isinstance(scope, ast.Lambda):
        visit(scope.body)  # type: ignore[attr-defined]
    return {name: sorted(stores, key=lambda s: s.line) for name, stores in by_name.items()}


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
