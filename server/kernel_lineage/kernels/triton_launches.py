"""Launch sites of Triton kernels: `kernel[grid](…)`, `kernel.run(…, grid=…)`, `wrap_triton(kernel)[grid](…)`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kernel_lineage.kernels.python_text import Module, names_in_order
from kernel_lineage.kernels.source import Launch, Parameter
from kernel_lineage.kernels.triton_definitions import (
    all_nodes,
    assigned_value,
    assigned_values,
    definitions,
    own_nodes,
    unsettled,
)

_OPTIONS = frozenset(
    {"num_warps", "num_stages", "num_ctas", "maxnreg", "warp_specialize", "launch_cooperative_grid"}
)
_CONSTEXPR_NAME = re.compile(r"[A-Z][A-Z0-9_]*\Z")


@dataclass(frozen=True, slots=True)
class _Scope:
    """A function with what surrounds it, innermost first."""

    name: str | None
    node: ast.AST
    chain: tuple[ast.AST, ...]


def launches(module: Module, kernels: Mapping[str, tuple[Parameter, ...]]) -> tuple[Launch, ...]:
    """The launches of a file in order. `kernels` are the jit functions that it defines, with their parameters."""
    imported = _imported_names(module.tree)
    all_launches: list[Launch] = []
    for scope in _scopes(module.tree):
        for node in own_nodes(scope.node):
            if isinstance(node, ast.Lambda):
                nodes: Iterator[ast.AST] = ast.walk(node.body)
            else:
                nodes = iter((node,))
            for call in nodes:
                if isinstance(call, ast.Call):
                    all_launches.extend(_of_call(module, call, scope, kernels, imported))
    return tuple(sorted(all_launches, key=lambda launch: (launch.span.start, launch.span.end)))


def _of_call(
    module: Module,
    call: ast.Call,
    scope: _Scope,
    kernels: Mapping[str, tuple[Parameter, ...]],
    imported: frozenset[str],
) -> Iterator[Launch]:
    if isinstance(call.func, ast.Subscript):
        target, grid = call.func.value, call.func.slice
    elif isinstance(call.func, ast.Attribute) and call.func.attr == "run":
        target = call.func.value
        grid_keyword = next((k.value for k in call.keywords if k.arg == "grid"), None)
        if grid_keyword is None:
            return
        grid = grid_keyword
    else:
        return
    names = _kernels_of(target, scope, kernels, call.lineno)
    if not names and isinstance(target, (ast.Name, ast.Attribute)):
        base = target.id if isinstance(target, ast.Name) else target.attr
        root = names_in_order(target)
        if root and root[0] in imported and _looks_like_a_launch(call, grid):
            names = (base,)
    for name in names:
        yield _launch(module, call, name, grid, scope, kernels.get(name, ()))


def _looks_like_a_launch(call: ast.Call, grid: ast.expr) -> bool:
    has_option = any(k.arg and (k.arg in _OPTIONS or _CONSTEXPR_NAME.match(k.arg)) for k in call.keywords)
    return (
        has_option
        or isinstance(grid, (ast.Tuple, ast.Lambda))
        or (isinstance(grid, ast.Name) and "grid" in grid.id)
    )


def _kernels_of(
    target: ast.expr, scope: _Scope, kernels: Mapping[str, tuple[Parameter, ...]], line: int, depth: int = 4
) -> tuple[str, ...]:
    """The kernels that an expression can stand for; several when a variable is chosen between them."""
    if depth == 0:
        return ()
    if isinstance(target, ast.Name):
        if target.id in kernels:
            return (target.id,)
        for node in scope.chain:
            values = [value for value, index in assigned_values(node, target.id, line) if index is None]
            candidates = tuple(
                k for value in values for k in _kernels_of(value, scope, kernels, line, depth - 1)
            )
            if candidates:
                return tuple(dict.fromkeys(candidates))
        return ()
    branches: tuple[ast.expr, ...]
    if isinstance(target, ast.IfExp):
        branches = (target.body, target.orelse)
    elif isinstance(target, ast.Call):
        made = _returned(target, scope)
        branches = (*target.args, *made)
        if not made and target.args and not isinstance(target.args[0], (ast.Name, ast.IfExp, ast.Call)):
            return ()
    elif isinstance(target, ast.Attribute) and target.attr in kernels:
        return (target.attr,)
    elif isinstance(target, ast.Dict):
        branches = tuple(target.values)
    elif isinstance(target, ast.Subscript):
        branches = (target.value,)
    else:
        return ()
    candidates = tuple(k for branch in branches for k in _kernels_of(branch, scope, kernels, line, depth - 1))
    return tuple(dict.fromkeys(candidates))


def _returned(call: ast.Call, scope: _Scope) -> tuple[ast.expr, ...]:
    """What a function of this file returns, when the call is of one."""
    if not isinstance(call.func, ast.Name):
        return ()
    for node in scope.chain:
        for child in own_nodes(node):
            if isinstance(child, ast.FunctionDef) and child.name == call.func.id:
                return tuple(
                    r.value for r in own_nodes(child) if isinstance(r, ast.Return) and r.value is not None
                )
    return ()


def _launch(
    module: Module, call: ast.Call, name: str, grid: ast.expr, scope: _Scope, parameters: Sequence[Parameter]
) -> Launch:
    bindings: dict[str, ast.expr] = {}
    extra: list[ast.expr] = []
    for index, argument in enumerate(_positional(call, scope)):
        if index < len(parameters):
            bindings[parameters[index].name] = argument
        else:
            extra.append(argument)
    names = {p.name for p in parameters}
    keywords = {key: value for key, value in _keywords(call, scope) if key != "grid"}
    bindings.update({key: value for key, value in keywords.items() if key in names})
    options = {
        key: module.written(value)
        for key, value in keywords.items()
        if key != "warmup"
        if key in _OPTIONS or key not in names or next(p for p in parameters if p.name == key).constexpr
    }
    options.update(
        {p.name: module.written(bindings[p.name]) for p in parameters if p.constexpr and p.name in bindings}
    )
    arguments = [
        module.written(bindings[p.name]) if p.name in bindings else (p.default or "") for p in parameters
    ]
    arguments.extend(module.written(argument) for argument in extra)
    launcher = scope.node if isinstance(scope.node, (ast.FunctionDef, ast.AsyncFunctionDef)) else None
    read = [grid, *call.args, *(k.value for k in call.keywords)]
    defined = definitions(module, read, scope.chain, call.lineno)
    return Launch(
        kernel=name,
        span=module.span(*module.range(call)),
        grid=_grid(module, grid, scope, call.lineno),
        block=(),
        arguments=tuple(arguments),
        options=options,
        launcher=scope.name,
        launcher_span=module.span(*module.range(launcher)) if launcher else None,
        definitions=defined,
        unsettled=unsettled(defined, scope.chain, call.lineno),
    )


def _positional(call: ast.Call, scope: _Scope) -> Iterator[ast.expr]:
    """The positional arguments as far as they are told; `*args` is followed to a tuple that it was given."""
    for argument in call.args:
        if not isinstance(argument, ast.Starred):
            yield argument
            continue
        value = (
            assigned_value(scope.chain, argument.value.id, call.lineno)
            if isinstance(argument.value, ast.Name)
            else None
        )
        if value is None or value[1] is not None or not isinstance(value[0], (ast.Tuple, ast.List)):
            return  # where it ends is not told, so neither is what follows
        yield from value[0].elts


def _keywords(call: ast.Call, scope: _Scope) -> Iterator[tuple[str, ast.expr]]:
    """The keyword arguments; `**meta` is followed to a `dict` that it was given."""
    for keyword in call.keywords:
        if keyword.arg:
            yield keyword.arg, keyword.value
        elif isinstance(keyword.value, ast.Name):
            value = assigned_value(scope.chain, keyword.value.id, call.lineno)
            made = value[0] if value is not None and value[1] is None else None
            if isinstance(made, ast.Call) and names_in_order(made.func) == ["dict"]:
                yield from ((k.arg, k.value) for k in made.keywords if k.arg)
            elif isinstance(made, ast.Dict):
                for key, item in zip(made.keys, made.values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        yield key.value, item


def _grid(module: Module, grid: ast.expr, scope: _Scope, line: int, depth: int = 4) -> tuple[str, ...]:
    """One expression per dimension; a `meta["BLOCK"]` of a grid function is given as `BLOCK`."""
    if isinstance(grid, (ast.Tuple, ast.List)):
        return tuple(module.written(e) for e in grid.elts)
    if isinstance(grid, ast.Lambda):
        return _without_meta(
            _grid(module, grid.body, scope, line, depth - 1), [a.arg for a in grid.args.args]
        )
    if isinstance(grid, ast.Name) and depth:
        for node in scope.chain:
            values = [value for value, index in assigned_values(node, grid.id, line) if index is None]
            if unsettled([grid.id], (node,), line):
                break
            if values and isinstance(values[-1], (ast.Tuple, ast.List, ast.Lambda, ast.Name)):
                return _grid(module, values[-1], scope, line, depth - 1)
            if values:
                break
            for child in own_nodes(node):
                if isinstance(child, ast.FunctionDef) and child.name == grid.id:
                    returned = [r.value for r in own_nodes(child) if isinstance(r, ast.Return) and r.value]
                    if len(returned) == 1:
                        inner = _grid(module, returned[0], scope, line, depth - 1)
                        return _without_meta(inner, [a.arg for a in child.args.args])
    return (module.written(grid),)


def _without_meta(dimensions: tuple[str, ...], names: Sequence[str]) -> tuple[str, ...]:
    if not names:
        return dimensions
    pattern = re.compile(
        rf"\b(?:{'|'.join(map(re.escape, names))})\s*(?:\[\s*['\"](\w+)['\"]\s*\]|\.get\(\s*['\"](\w+)['\"]\s*\))"
    )
    return tuple(pattern.sub(lambda m: m.group(1) or m.group(2), d) for d in dimensions)


def _scopes(tree: ast.Module) -> Iterator[_Scope]:
    yield _Scope(None, tree, (tree,))
    yield from _inner_scopes(tree, (tree,), ())


def _inner_scopes(node: ast.AST, chain: tuple[ast.AST, ...], names: tuple[str, ...]) -> Iterator[_Scope]:
    for child in own_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield _Scope(".".join((*names, child.name)), child, (child, *chain))
            yield from _inner_scopes(child, chain, (*names, child.name))
        elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inner = (child, *chain)
            yield _Scope(".".join((*names, child.name)), child, inner)
            yield from _inner_scopes(child, inner, (*names, child.name))


def _imported_names(tree: ast.Module) -> frozenset[str]:
    return frozenset(
        alias.asname or alias.name.split(".")[0]
        for node in all_nodes(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    )
