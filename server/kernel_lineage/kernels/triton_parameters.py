"""Parameters of Triton functions: annotations, and which ones the code uses as pointers."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from kernel_lineage.kernels.python_text import Module
from kernel_lineage.kernels.source import Parameter
from kernel_lineage.kernels.triton_definitions import all_nodes

_TAKES_POINTER = frozenset(
    [
        "load",
        "store",
        "atomic_add",
        "atomic_max",
        "atomic_min",
        "atomic_xchg",
        "atomic_cas",
        "atomic_and",
        "atomic_or",
        "atomic_xor",
        "make_block_ptr",
        "make_tensor_descriptor",
    ]
)
_MOVES = frozenset({"advance", "multiple_of", "max_contiguous", "cast"})


def parameters_of(
    module: Module, functions: Sequence[ast.FunctionDef], names: Mapping[str, str]
) -> list[tuple[Parameter, ...]]:
    """The parameters of each function, in order."""
    pointers = _pointers(functions)
    return [tuple(_parameters(module, f, pointers[f.name], names)) for f in functions]


def _parameters(
    module: Module, function: ast.FunctionDef, pointers: set[str], names: Mapping[str, str]
) -> Iterator[Parameter]:
    arguments = [*function.args.posonlyargs, *function.args.args]
    defaults: list[ast.expr | None] = [None] * (len(arguments) - len(function.args.defaults))
    pairs = [*zip(arguments, [*defaults, *function.args.defaults], strict=True)]
    pairs += zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    for argument, default in pairs:
        written = module.written(argument.annotation) if argument.annotation is not None else ""
        start = module.range(argument)[0]
        yield Parameter(
            name=argument.arg,
            type=written,
            span=module.span(start, module.range(default or argument)[1]),
            pointer=argument.arg in pointers,
            constexpr=_is_constexpr(argument.annotation, names),
            default=module.written(default) if default is not None else None,
        )


def _is_constexpr(annotation: ast.expr | None, names: Mapping[str, str]) -> bool:
    if annotation is None:
        return False
    if isinstance(annotation, ast.Constant):
        return isinstance(annotation.value, str) and annotation.value.endswith("constexpr")
    if isinstance(annotation, ast.Subscript):
        return _is_constexpr(annotation.value, names)
    if isinstance(annotation, ast.Attribute):
        return annotation.attr == "constexpr"
    return isinstance(annotation, ast.Name) and names.get(annotation.id, annotation.id).endswith("constexpr")


def _pointers(functions: Sequence[ast.FunctionDef]) -> dict[str, set[str]]:
    """For each function, the parameters that are bases of addresses, in it or in the jit functions that it calls."""
    pointers: dict[str, set[str]] = {f.name: set() for f in functions}
    order = {f.name: [a.arg for a in (*f.args.posonlyargs, *f.args.args)] for f in functions}
    for _ in range(len(functions) + 1):
        before = sum(map(len, pointers.values()))
        for function in functions:
            pointers[function.name] |= _bases(function, order, pointers)
        if sum(map(len, pointers.values())) == before:
            break
    return pointers


def _bases(
    function: ast.FunctionDef, order: Mapping[str, Sequence[str]], pointers: Mapping[str, set[str]]
) -> set[str]:
    own = {a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
    values: dict[str, list[ast.expr]] = {}
    addresses: list[ast.expr] = []
    for node in all_nodes(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            values.setdefault(node.targets[0].id, []).append(node.value)
        elif isinstance(node, ast.Call):
            addresses.extend(_address_arguments(node, order, pointers))
    bases: set[str] = set()
    for address in addresses:
        base = _base(address, own, values, frozenset())
        if base:
            bases.add(base)
    return bases


def _address_arguments(
    call: ast.Call, order: Mapping[str, Sequence[str]], pointers: Mapping[str, set[str]]
) -> Iterator[ast.expr]:
    if isinstance(call.func, ast.Attribute) and call.func.attr in _TAKES_POINTER:
        yield from call.args[:1]
        yield from (k.value for k in call.keywords if k.arg in ("pointer", "base"))
    elif isinstance(call.func, ast.Name) and call.func.id in order:
        callee = call.func.id
        for name, argument in zip(order[callee], call.args, strict=False):
            if name in pointers[callee]:
                yield argument
        yield from (k.value for k in call.keywords if k.arg in pointers[callee])


def _base(
    expression: ast.expr, own: set[str], values: Mapping[str, Sequence[ast.expr]], seen: frozenset[str]
) -> str | None:
    """The parameter that an address starts from: the first term of its sum that leads to one."""
    if isinstance(expression, ast.Name):
        if expression.id in seen:
            return None
        for value in values.get(expression.id, ()):
            base = _base(value, own, values, seen | {expression.id})
            if base:
                return base
        return expression.id if expression.id in own else None
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, (ast.Add, ast.Sub)):
        terms: list[ast.expr] = []  # left to right; a loop, because a sum can be deeper than Python's stack
        while isinstance(expression, ast.BinOp) and isinstance(expression.op, (ast.Add, ast.Sub)):
            terms.insert(0, expression.right)
            expression = expression.left
        bases = (_base(term, own, values, seen) for term in (expression, *terms))
        return next((base for base in bases if base), None)
    if isinstance(expression, ast.IfExp):
        return _base(expression.body, own, values, seen)
    if isinstance(expression, ast.Call):
        name = expression.func.attr if isinstance(expression.func, ast.Attribute) else ""
        if name == "to" and isinstance(expression.func, ast.Attribute):
            return _base(expression.func.value, own, values, seen)
        if name in _MOVES and expression.args:
            return _base(expression.args[0], own, values, seen)
    return None
