"""Where a repository uses a kernel's module: its tests and benchmarks, and the sizes that they are written for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

from kernel_lineage.rewrite.drafting.triton.modules import HostModule, Modules

_TEST = re.compile(r"(^|_)(tests?|bench(marks?)?)(_|$)")


@dataclass(frozen=True, slots=True)
class Usage:
    """One function that tries a kernel's module, with what its parametrization gives."""

    module: HostModule
    function: ast.FunctionDef
    given: Mapping[str, ast.expr]
    """Parameter → the value of the largest case that is listed for it."""

    @property
    def name(self) -> str:
        """`test_rows in test_rows.py`."""
        return f"{self.function.name} in {self.module.path.name}"


def usages_of(module: HostModule, modules: Modules) -> tuple[tuple[Usage, ...], dict[str, tuple[float, str]]]:
    """The tests and benchmarks that import a module, directly or by one module between; and numbers by name.

    The numbers are the defaults of parameters of those who use the module, each with where it stands.
    """
    stem = module.path.stem
    direct = _importing({module.path: module}, modules)
    between = {p: m for p, m in direct.items() if not _is_test(p)}
    users = {**direct, **_importing(between, modules)}
    tests = [m for p, m in users.items() if _is_test(p)]
    tests.sort(key=lambda m: (stem not in m.path.stem, len(m.path.stem), str(m.path)))
    defaults: dict[str, tuple[float, str]] = {}
    for user in (module, *between.values()):
        for name, function in user.functions.items():
            for parameter, number in _number_defaults(function):
                defaults.setdefault(parameter, (number, f"{name} in {user.path.name}"))
    found = [Usage(m, f, _parametrized(f)) for m in tests for f in m.functions.values()]
    return tuple(found), defaults


def _is_test(path: Path) -> bool:
    return bool(_TEST.search(path.stem)) or path.stem == "conftest"


def _importing(wanted: Mapping[Path, HostModule], modules: Modules) -> dict[Path, HostModule]:
    """The files that import a name which one of some modules defines."""
    names = {n.split(".")[0].encode() for m in wanted.values() for n in m.functions if not n.startswith("__")}
    found: dict[Path, HostModule] = {}
    for path in modules.mentioning(frozenset(names)):
        if path in wanted or path.name == "__init__.py":
            continue
        module = modules.read(path)
        if module is None:
            continue
        for local in module.imports:
            place = modules.defining(module, local)
            if place is not None and place[0].path in wanted:
                found[path] = module
                break
    return found


def _number_defaults(function: ast.FunctionDef) -> Iterator[tuple[str, float]]:
    listed = [*function.args.posonlyargs, *function.args.args]
    defaults = function.args.defaults
    pairs = zip(listed[len(listed) - len(defaults) :], defaults, strict=True)
    for argument, default in pairs:
        if isinstance(default, ast.Constant) and isinstance(default.value, (int, float)):
            yield argument.arg, default.value


def _parametrized(function: ast.FunctionDef) -> dict[str, ast.expr]:
    """What `pytest.mark.parametrize` gives: of each list of cases, the largest."""
    given: dict[str, ast.expr] = {}
    for decorator in function.decorator_list:
        match decorator:
            case ast.Call(
                func=ast.Attribute(attr="parametrize"),
                args=[names, ast.List(elts=cases) | ast.Tuple(elts=cases), *_],
            ) if cases:
                listed = _names(names)
                rows = [_row(case, len(listed)) for case in cases]
                row = max((r for r in rows if len(r) == len(listed)), key=_extent, default=[])
                given.update(zip(listed, row, strict=bool(row)))
    return given


def _names(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [n.strip() for n in node.value.split(",")]
    parts = node.elts if isinstance(node, (ast.Tuple, ast.List)) else []
    return [p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)]


def _row(case: ast.expr, names: int) -> list[ast.expr]:
    """One case; `pytest.param(…)` by what it holds."""
    if isinstance(case, ast.Call) and isinstance(case.func, ast.Attribute) and case.func.attr == "param":
        return list(case.args)
    if names > 1:
        return list(case.elts) if isinstance(case, (ast.Tuple, ast.List)) else []
    return [case]


def _extent(row: list[ast.expr]) -> int:
    """The product of a case's whole numbers; the first of equals is taken."""
    numbers = [
        n.value
        for e in row
        for n in ast.walk(e)
        if isinstance(n, ast.Constant) and type(n.value) is int and n.value
    ]
    return prod(numbers)
