"""Parameters by which Python host code, and the kernels to which it hands them, choose what they do."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_lineage.workloads.triton.host_modules import HostModule, defaults_of, names_of, unwrapped

_Seen = set[tuple[str, str]]


def other_values(name: str, value: object, function: str, module: HostModule) -> tuple[object, ...]:
    """What else a parameter of a function may be than a truth, a text or a whole number: what the code compares it
    with. An attribute of an object is `self_mode`.
    """
    if isinstance(value, bool):
        return (not value,)
    if not isinstance(value, (int, str)):
        return ()
    others = (other for other in _compared(name, function, module, set()) if type(other) is type(value))
    return tuple(dict.fromkeys(other for other in others if other != value))


def flags_of(function: str, module: HostModule) -> tuple[str, ...]:
    """The parameters of a function by which code may choose."""
    node = module.functions[function]
    defaults = {n: d.value for n, d in defaults_of(node.args).items() if isinstance(d, ast.Constant)}
    tests = [n.test for n in ast.walk(node) if isinstance(n, (ast.If, ast.IfExp))]
    return tuple(
        name
        for name, annotation in names_of(node.args).items()
        if annotation == "bool"
        or isinstance(defaults.get(name), bool)
        or any(_is(test, name) for test in tests)
        or any(_compared(name, function, module, set()))
    )


def _compared(name: str, function: str, module: HostModule, seen: _Seen) -> Iterator[object]:
    """The constants with which a function, or one to which it hands a parameter, compares it."""
    if (function, name) in seen or function not in module.functions:
        return
    seen.add((function, name))
    for node in ast.walk(module.functions[function]):
        match node:
            case ast.Compare(
                left=left, ops=[ast.Eq() | ast.NotEq() | ast.In() | ast.NotIn()], comparators=[right]
            ):
                for one, other in ((left, right), (right, left)):
                    if _is(one, name):
                        yield from _constants(other)
            case ast.Match(subject=subject, cases=cases) if _is(subject, name):
                for case in cases:
                    yield from (n.value.value for n in ast.walk(case.pattern)
                                if isinstance(n, ast.MatchValue) and isinstance(n.value, ast.Constant))  # fmt: skip
            case ast.Call():
                yield from _handed_on(name, node, module, seen)


def _handed_on(name: str, call: ast.Call, module: HostModule, seen: _Seen) -> Iterator[object]:
    """The same for the functions and kernels that a call names."""
    of = unwrapped(call.func.value) if isinstance(call.func, ast.Subscript) else call.func
    last = ast.unparse(of).rpartition(".")[2]
    for called in (n for n in module.functions if n.rpartition(".")[2] == last):
        parameters = [p for p in names_of(module.functions[called].args) if p != "self"]
        written = [*zip(parameters, call.args, strict=False), *((k.arg, k.value) for k in call.keywords)]
        for parameter, argument in written:
            if parameter is not None and _is(argument, name):
                yield from _compared(parameter, called, module, seen)


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute)) and ast.unparse(node).replace(".", "_") == name


def _constants(node: ast.expr) -> Iterator[object]:
    parts = node.elts if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else [node]
    yield from (part.value for part in parts if isinstance(part, ast.Constant))
