"""The arrays of which a Triton kernel loads an element and the next one alone: they say where rows begin."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable

from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_syntax import pointer_of, triton_syntax

_Sum = tuple[frozenset[tuple[str, int]], int]
"""The terms of an address, as they are written, with how often each is added; and the number beside them."""


def row_pairs(kernel: Kernel) -> frozenset[str]:
    """The kernel's pointer parameters that are such arrays."""
    syntax = triton_syntax(kernel)
    places: dict[str, set[_Sum]] = {}
    others: set[str] = set()
    for call in syntax.entry.calls if syntax is not None else ():
        if not (call.of_language and call.node.args):
            continue
        address = call.node.args[0]
        form = syntax.entry.form(address) if syntax is not None else {}
        pointer = pointer_of(form)
        # The next row begins where this one ends; pairs that lie side by side are something else.
        is_next = any(step == 1 for axis, step in form.items() if not axis.startswith("pointer:"))
        if call.name == "load" and is_next:
            places.setdefault(pointer, set()).add(_sum_of(address))
        elif call.name in ("load", "store") or call.name.startswith("atomic_"):
            others.add(pointer)
    return frozenset(
        name for name, own in places.items() if name and name not in others and _are_neighbours(own)
    )


def row_pairs_of_launches(kernels: Iterable[Kernel], module: ast.Module) -> frozenset[str]:
    """The variables that host code launches kernels with as such arrays."""
    pairs = {kernel.name: (kernel, row_pairs(kernel)) for kernel in kernels}
    names: set[str] = set()
    for call in ast.walk(module):
        match call:
            case ast.Call(func=ast.Subscript(value=ast.Name(id=name)), args=args) if name in pairs:
                kernel, own = pairs[name]
                passed = dict(zip((p.name for p in kernel.parameters), args, strict=False))
                passed |= {k.arg: k.value for k in call.keywords if k.arg}
                names |= {v.id for p, v in passed.items() if p in own and isinstance(v, ast.Name)}
    return frozenset(names)


def _are_neighbours(places: set[_Sum]) -> bool:
    terms = {terms for terms, _ in places}
    numbers = sorted(number for _, number in places)
    return len(places) == 2 and len(terms) == 1 and numbers[1] - numbers[0] == 1


def _sum_of(tree: ast.expr, sign: int = 1) -> _Sum:
    match tree:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as operator, right=right):
            parts = (_sum_of(left, sign), _sum_of(right, sign if isinstance(operator, ast.Add) else -sign))
            total: Counter[str] = Counter()
            for terms, _ in parts:
                for text, times in terms:
                    total[text] += times
            return frozenset((t, n) for t, n in total.items() if n), sum(number for _, number in parts)
        case ast.Constant(value=int() as number):
            return frozenset(), sign * number
    return frozenset([(ast.unparse(tree), sign)]), 0
