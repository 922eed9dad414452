"""What `@triton.autotune` is given: how many configurations, and which values of an option they try."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from math import prod

from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_forms import dotted

_DEPTH = 6


def tuning_call(kernel: Kernel) -> ast.Call | None:
    """The arguments of `@triton.autotune`, as a call; None without one, or where it is only half typed."""
    written = kernel.attributes.get("autotune")
    return None if written is None else _parsed(written)


@lru_cache(maxsize=64)
def _parsed(arguments: str) -> ast.Call | None:
    try:
        parsed = ast.parse(f"f({arguments})", mode="eval").body
    except (SyntaxError, ValueError):
        parsed = ast.parse("f()", mode="eval").body
    return parsed if isinstance(parsed, ast.Call) else None


def argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    """An argument by its place or its name."""
    if len(call.args) > position:
        return call.args[position]
    return next((k.value for k in call.keywords if k.arg == name), None)


def how_many(kernel: Kernel, node: ast.expr | None, depth: int = 0) -> int | None:
    """How many elements a list has: written out, as a comprehension over lists, by name, or wrapped in a call."""
    if node is None or depth > _DEPTH:
        return None
    match node:
        case ast.List() | ast.Tuple():
            counts = [
                how_many(kernel, e.value, depth + 1) if isinstance(e, ast.Starred) else 1 for e in node.elts
            ]
            return None if None in counts else sum(c for c in counts if c is not None)
        case ast.ListComp() | ast.GeneratorExp():
            sizes = [how_many(kernel, g.iter, depth + 1) for g in node.generators]
            return None if None in sizes else prod(s for s in sizes if s is not None)
        case ast.Name():
            return how_many(kernel, definition_of(kernel, node.id), depth + 1)
        case ast.BinOp(left, ast.Add(), right):
            sides = [how_many(kernel, side, depth + 1) for side in (left, right)]
            return None if None in sides else sum(s for s in sides if s is not None)
        case ast.Call(args=[first, *_]):
            return how_many(kernel, first, depth + 1)
        case ast.Call(func=ast.Name(id=name)):
            return how_many(kernel, definition_of(kernel, name), depth + 1)
    return None


def definition_of(kernel: Kernel, name: str) -> ast.expr | None:
    """What a name of the module stands for: the value that it is given, or what a function of that name returns."""
    module = kernel.source.module if kernel.source is not None else None
    for statement in reversed(module.body if module is not None else []):
        if isinstance(statement, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == name for t in statement.targets
        ):
            return statement.value
        if isinstance(statement, ast.FunctionDef) and statement.name == name:
            return next((s.value for s in statement.body if isinstance(s, ast.Return)), None)
    return None


def tried(kernel: Kernel, option: str) -> tuple[str, ...]:
    """The values that the configurations try for an option such as `num_warps`, sorted."""
    call = tuning_call(kernel)
    listed = argument(call, 0, "configs") if call is not None else None
    for _ in range(_DEPTH):
        if not isinstance(listed, ast.Name):
            break
        listed = definition_of(kernel, listed.id)
    if listed is None:
        return ()
    lists = {
        g.target.id: g.iter
        for n in ast.walk(listed)
        if isinstance(n, ast.ListComp | ast.GeneratorExp)
        for g in n.generators
        if isinstance(g.target, ast.Name)
    }
    values: set[str] = set()
    for node in ast.walk(listed):
        if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] == "Config":
            for keyword in node.keywords:
                if keyword.arg == option:
                    values.update(_values(kernel, keyword.value, lists))
    return tuple(sorted(values))


def _values(kernel: Kernel, node: ast.expr, lists: dict[str, ast.expr]) -> Iterator[str]:
    if isinstance(node, ast.Name) and node.id in lists:
        source: ast.expr | None = lists[node.id]
        if isinstance(source, ast.Name):
            source = definition_of(kernel, source.id)
        if isinstance(source, ast.List | ast.Tuple):
            yield from (ast.unparse(e) for e in source.elts)
            return
        yield "some"
        return
    yield ast.unparse(node) if isinstance(node, ast.Constant) else "some"
