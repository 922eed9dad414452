"""The cases that a test or a benchmark is written for: of each list the largest first, then others, one list at a time.

Lists are those of `pytest.mark.parametrize` and of `triton.testing.Benchmark`.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path

from kernel_lineage.workloads.triton.classes import made_of, method_of
from kernel_lineage.workloads.triton.host import Reader
from kernel_lineage.workloads.triton.host_modules import HostModule, defaults_of, names_in
from kernel_lineage.workloads.triton.modules import Modules
from kernel_lineage.workloads.triton.objects import Class, Function, Instance, Names, Stopped
from kernel_lineage.workloads.triton.usages import Usage
from kernel_lineage.workloads.triton.values import Open, Size, Unknown, size_of_all

_MOST_OTHERS = 6
"""Cases of one list beside the largest that are tried."""

Row = tuple[object, ...]


def cases_of(usage: Usage, reader: Reader) -> list[Names]:
    """What the parameters of a test may be: whole numbers are themselves; at least one case, perhaps of nothing."""
    listed = list(_lists(usage, reader))
    first: Names = {}
    for names, rows in listed:
        first.update(zip(names, rows[0], strict=True))
    cases = [first]
    for names, rows in listed:
        cases += [{**first, **dict(zip(names, row, strict=True))} for row in rows[1 : _MOST_OTHERS + 1]]
    return cases


def _lists(usage: Usage, reader: Reader) -> Iterator[tuple[list[str], list[Row]]]:
    """For each decorator the names of its parameters, and its cases, the largest first."""
    yield from _benchmarked(usage, reader)
    own = usage.module.classes[usage.of].decorator_list if usage.of in usage.module.classes else []
    for decorator in (*usage.function.decorator_list, *own):
        if not (isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith("parametrize")):
            continue
        try:
            args = [reader.read(a, usage.module) for a in decorator.args[:2]]
            args += [
                reader.read(k.value, usage.module)
                for k in decorator.keywords
                if k.arg in ("argnames", "argvalues")
            ]
        except Stopped:
            continue
        if len(args) < 2:
            continue
        names = _names(args[0])
        cases = reader.items_of(args[1]) or []
        rows = [row for case in cases if len(row := _row(case, len(names))) == len(names)]
        if names and rows:
            # The largest; of equals the one with fewest numbers that hide a factor or a term, and of these the first.
            rows.sort(key=lambda row: (-size_of_all(row, reader.sizes), sum(map(_hides, row))))
            yield names, rows


def _hides(value: object) -> bool:
    """Whether a number makes a factor or a term do nothing."""
    return isinstance(value, float) and value in (0.0, 1.0)


def _benchmarked(usage: Usage, reader: Reader) -> Iterator[tuple[list[str], list[Row]]]:
    """The same for what `triton.testing.Benchmark` goes through: the sizes of its axis, and its lines."""
    for node in (n for d in usage.function.decorator_list for n in ast.walk(d)):
        if not (isinstance(node, ast.Call) and ast.unparse(node.func).endswith("testing.Benchmark")):
            continue
        keywords: dict[str | None, object] = {}
        with contextlib.suppress(Stopped):
            keywords = {k.arg: reader.read(k.value, usage.module) for k in node.keywords}
        for arguments, values in (("x_names", "x_vals"), ("line_arg", "line_vals")):
            names = _names(keywords.get(arguments))
            sizes = reader.items_of(keywords.get(values)) or []
            # One size is that of all axes.
            rows = [tuple(s) if isinstance(s, (tuple, list)) else (s,) * len(names) for s in sizes]
            rows = sorted(
                (row for row in rows if len(row) == len(names)),
                key=lambda row: size_of_all(row, reader.sizes),
                reverse=True,
            )
            if names and rows:
                yield names, rows
        fixed = keywords.get("args")
        if isinstance(fixed, dict) and fixed:
            yield [str(name) for name in fixed], [tuple(fixed.values())]


def other_sizes(dims: Mapping[str, int], cases: Sequence[Names]) -> tuple[dict[str, int], ...]:
    """What dims are in other cases of a test than its first: the smallest, and one in the middle.

    A case counts that differs from the first in whole numbers alone, each of them a dim.
    """
    sizes: dict[int, dict[str, int]] = {}
    for case in cases[1:]:
        changed = {name: value for name, value in case.items() if value != cases[0].get(name)}
        whole = {name: value for name, value in changed.items() if type(value) is int and value > 0}
        same = all(name in dims and dims[name] == cases[0].get(name) for name in changed)
        other = {**dims, **whole}
        if changed and same and len(whole) == len(changed):
            sizes.setdefault(prod(other.values()), other)
    ordered = [sizes[extent] for extent in sorted(sizes)]
    return tuple(ordered[: len(ordered) // 2 + 1 : max(1, len(ordered) // 2)])


def _names(value: object) -> list[str]:
    if isinstance(value, str):
        return [n.strip() for n in value.split(",") if n.strip()]
    return [g for g in value if isinstance(g, str)] if isinstance(value, (tuple, list)) else []


def _row(case: object, names: int) -> Row:
    if isinstance(case, Instance) and case.of == "param":
        values = case.attributes["values"]
        return tuple(values) if isinstance(values, tuple) else ()
    if names > 1:
        return tuple(case) if isinstance(case, (tuple, list)) else ()
    return (case,)


def parameters_of(usage: Usage, case: Names, reader: Reader) -> Names:
    """The parameters of a test in one case, else by their defaults: whole numbers are dims of their names."""
    names: Names = {}
    default = defaults_of(usage.function.args)
    for name in (a.arg for a in usage.function.args.args):
        if name in case or name not in default:
            value = case.get(name, Open(name))
        else:
            value = reader.read(default[name], usage.module)
        if isinstance(value, Open):
            value = fixture(reader, usage, name)
        if type(value) is int and value > 0:
            reader.sizes[name] = value
            value = Size(name)
        names[name] = value
    if usage.of and usage.function.args.args:
        of = Class(usage.module.classes[usage.of], usage.module)
        made = made_of(reader, of, [], {})
        for before in _BEFORE:
            function = method_of(reader, of, before)
            if function is not None:
                with contextlib.suppress(Stopped):
                    reader.enter(function, [made], {})
        names[usage.function.args.args[0].arg] = made
    return names


_BEFORE = ("setUpClass", "setup_class", "setUp", "setup_method", "setup")
"""Methods of a class of tests that run before each of them."""


def fixture(reader: Reader, usage: Usage, name: str) -> object:
    """What pytest gives a parameter of a test: what its fixture makes, with the first of the fixture's own cases."""
    held = [usage.module, *_conftests(usage.module.path, reader.modules)]
    own = [f"{usage.of}.{name}"] if usage.of else []
    for module, key in ((m, k) for m in held for k in (*own, name)):
        function = module.functions.get(key)
        made = (
            next((d for d in function.decorator_list if "fixture" in names_in(d)), None) if function else None
        )
        if function is None or made is None:
            continue
        inner = replace(usage, module=module, function=function)
        arguments = {a.arg: fixture(reader, inner, a.arg) for a in function.args.args if a.arg != "self"}
        if "request" in arguments:
            arguments["request"] = Instance("request", {"param": _first_case(reader, made, module)})
        with contextlib.suppress(Stopped):
            return reader.entered(reader.enter(Function(function, module), [], arguments))
    return Open(name)


def _conftests(path: Path, modules: Modules) -> Iterator[HostModule]:
    for folder in path.parents:
        module = modules.read(folder / "conftest.py") if folder.is_relative_to(modules.folder) else None
        if module is not None:
            yield module


def _first_case(reader: Reader, decorator: ast.expr, module: HostModule) -> object:
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    cases = [reader.items_of(reader.read(k.value, module)) for k in keywords if k.arg == "params"]
    rows = [_row(case, 1) for case in (cases[0] if cases else None) or ()]
    return max(
        (r for r in rows if r),
        key=lambda row: size_of_all(row, reader.sizes),
        default=(Unknown("a fixture's case"),),
    )[0]
