"""The part of a Triton module that some kernels need, on its own lines: what the gate's compiler executes.

Wrappers, autotuning and imports that the kernel does not reach are blanked: they would ask for packages (torch) and
for a GPU that compiling does not need.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Iterable, Iterator
from importlib import metadata

from kernel_gate.reaching import reachable

_VERSION_TEST = re.compile(
    r"""^(if )\w+\(\s*["']triton["']\s*,\s*operator\.(ge|gt|le|lt|eq|ne)\s*,\s*["']([\d.]+)["']\s*\)"""
    r"""(?: and not is_(?:npu|xpu|hip|amd)\w*\(\))?\s*:""",
    re.MULTILINE,
)


def kernel_module(text: str, *kernels: str) -> str | None:
    """The module's text with everything blanked that `kernels` do not reach; None when one of them is not there.

    Raises `SyntaxError` for a module that does not parse.
    """
    text = _decided_by_version(text)
    tree = ast.parse(text)
    functions = {name for s in tree.body if isinstance(s, ast.FunctionDef) for name in bound(s)}
    return _part(text, tree, kernels) if functions.issuperset(kernels) else None


def part_of_module(text: str, *names: str) -> str:
    """The module's text with everything blanked that some of its names do not need.

    Raises `SyntaxError` for a module that does not parse.
    """
    text = _decided_by_version(text)
    return _part(text, ast.parse(text), names)


def _part(text: str, tree: ast.Module, names: Iterable[str]) -> str:
    chosen, needed = reached(tree, names)
    lines = text.split("\n")
    kept: set[int] = set()
    for statement in chosen:
        kept.update(lines_of(statement))
        kept.update(_invariants_beside(statement, lines))
    chosen_ids = set(map(id, chosen))
    for statement in reversed(tree.body):
        if id(statement) in chosen_ids:
            for line in reversed(list(_imports(statement))):
                _replace(lines, line, _with_names(line, needed))
        elif not kept.isdisjoint(shared := range(statement.lineno, (statement.end_lineno or 0) + 1)):
            _replace(lines, statement, "pass")
            kept.update(shared)
    return "\n".join(line if number in kept else "" for number, line in enumerate(lines, start=1))


def _imports(statement: ast.stmt) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports of a top-level statement, inside `if` and `try` too, in the order of the text."""
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        yield statement
    elif isinstance(statement, (ast.If, ast.Try, ast.With)):
        for part in ast.iter_child_nodes(statement):
            for inner in part.body if isinstance(part, ast.ExceptHandler) else (part,):
                if isinstance(inner, ast.stmt):
                    yield from _imports(inner)


def _with_names(statement: ast.Import | ast.ImportFrom, needed: frozenset[str]) -> str:
    """An import with those of its names that are needed: `import torch, triton` without torch."""
    if _is_future(statement):
        return ast.unparse(statement)
    aliases = [a for a in statement.names if a.name == "*" or _bound_by(a) in needed]
    if not aliases:
        return "pass"
    if isinstance(statement, ast.Import):
        return ast.unparse(ast.Import(aliases))
    return ast.unparse(ast.ImportFrom(statement.module, aliases, statement.level))


def _replace(lines: list[str], statement: ast.stmt, text: str) -> None:
    """Put another statement of one line where one is, over as many lines as it took."""
    first, last = statement.lineno - 1, (statement.end_lineno or statement.lineno) - 1
    before = lines[first].encode()[: statement.col_offset].decode()
    after = lines[last].encode()[statement.end_col_offset :].decode()
    lines[first : last + 1] = [before + text, *[""] * (last - first)]
    for number in range(first, last):
        lines[number] += " \\"
    lines[last] += after


def _decided_by_version(text: str) -> str:
    """The text with tests of Triton's version answered for the one that is installed.

    `if compare_version("triton", operator.ge, "3.0.0"):` asks a function of the package around the module, which is
    not there when the kernel alone is compiled. The device is one of NVIDIA's.
    """
    if not _VERSION_TEST.search(text):
        return text
    try:
        installed = _numbers(metadata.version("triton"))
    except metadata.PackageNotFoundError:
        return text
    return _VERSION_TEST.sub(lambda m: f"{m[1]}{getattr(operator, m[2])(installed, _numbers(m[3]))}:", text)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _invariants_beside(statement: ast.stmt, lines: list[str]) -> Iterator[int]:
    """Lines that state invariants directly above a function and, as deep as its body, directly below its last one."""
    if not isinstance(statement, ast.FunctionDef):
        return
    first = min([statement.lineno, *(d.lineno for d in statement.decorator_list)])
    above = first - 1
    while above > 0 and _states_invariant(lines[above - 1]):
        yield above
        above -= 1
    below = (statement.end_lineno or first) + 1
    while (
        below <= len(lines) and lines[below - 1][:1].isspace() and lines[below - 1].lstrip().startswith("#")
    ):
        yield below
        below += 1


def _states_invariant(line: str) -> bool:
    return line.lstrip().removeprefix("#").lstrip().startswith("klineage:")


def reached(tree: ast.Module, names: Iterable[str]) -> tuple[list[ast.stmt], frozenset[str]]:
    """The top-level statements that bind what some names need, in order, and all names that were needed."""
    binds: dict[str, list[ast.stmt]] = {}
    for statement in tree.body:
        for name in bound(statement):
            binds.setdefault(name, []).append(statement)
    needed = reachable(names, lambda name: (used for s in binds.get(name, ()) for used in _used(s)))
    chosen = {id(statement) for name in needed for statement in binds.get(name, ())}
    return [s for s in tree.body if id(s) in chosen or _is_future(s)], frozenset(needed)


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a top-level statement binds, inside `if` and `try` too."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
        yield statement.name
        return
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        yield from map(_bound_by, statement.names)
        return
    if isinstance(statement, (ast.If, ast.Try, ast.With)):
        for part in ast.iter_child_nodes(statement):
            if isinstance(part, ast.ExceptHandler):
                for inner in part.body:
                    yield from bound(inner)
            elif isinstance(part, ast.stmt):
                yield from bound(part)
        return
    yield from stored(statement)


def _bound_by(alias: ast.alias) -> str:
    return (alias.asname or alias.name).split(".")[0]


def stored(node: ast.AST) -> Iterator[str]:
    """The names that a statement gives values to in its own scope: not those of comprehensions and functions in it."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.comprehension, ast.Lambda)):
            yield from stored(child)


def _used(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement reads; of a jit function's decorators only the jit ones, which are kept."""
    parts: list[ast.AST] = [statement]
    jits = (
        [d for d in statement.decorator_list if _is_jit(d)] if isinstance(statement, ast.FunctionDef) else []
    )
    if isinstance(statement, ast.FunctionDef) and jits:
        parts = [statement.args, *statement.body, *jits, *([statement.returns] if statement.returns else [])]
    own = _locals(statement) if isinstance(statement, ast.FunctionDef) else frozenset()
    for part in parts:
        inside = isinstance(part, ast.stmt) and part is not statement
        for node in ast.walk(part):
            match node:
                case ast.Name(id=name, ctx=ast.Load()) if not (inside and name in own):
                    yield name


def _locals(function: ast.FunctionDef) -> frozenset[str]:
    """The names that are a function's own: parameters, and what it gives values to."""
    args = function.args
    listed = [*args.posonlyargs, *args.args, *args.kwonlyargs, *filter(None, (args.vararg, args.kwarg))]
    declared = {name for n in ast.walk(function) if isinstance(n, ast.Global) for name in n.names}
    return frozenset({a.arg for a in listed}.union(*map(stored, function.body)) - declared)


def _is_jit(decorator: ast.expr) -> bool:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (isinstance(target, ast.Attribute) and target.attr == "jit") or (
        isinstance(target, ast.Name) and target.id == "jit"
    )


def lines_of(statement: ast.stmt) -> Iterator[int]:
    """The lines of a statement; a function without its decorators other than jit."""
    first = statement.lineno
    if isinstance(statement, ast.FunctionDef) and any(_is_jit(d) for d in statement.decorator_list):
        for decorator in filter(_is_jit, statement.decorator_list):
            yield from range(decorator.lineno, (decorator.end_lineno or decorator.lineno) + 1)
    elif isinstance(statement, (ast.FunctionDef, ast.ClassDef)) and statement.decorator_list:
        first = min(d.lineno for d in statement.decorator_list)
    yield from range(first, (statement.end_lineno or first) + 1)
