"""What of a Triton kernel is whole numbers: elements that say where others are, and numbers that count elements."""

from __future__ import annotations

import ast

from kernel_lineage.kernels.triton_forms import dotted
from kernel_lineage.workloads.triton.whole_tiles import values_of

_ACCESSES = frozenset({"tl.load", "tl.store", "tl.atomic_add", "range"})
_SEEDED = frozenset({"tl.rand", "tl.randn", "tl.randint"})
_VALUES = {"tl.load": 2, "tl.store": 1, "tl.atomic_add": 1}
"""Access → which of its arguments is a value of elements."""
_MOST_NODES = 2_000


def indices_of(function: ast.FunctionDef) -> frozenset[str]:
    """The parameters that are loaded from for an address, or for how often a loop goes round."""
    values = values_of(function)
    parameters = {a.arg for a in (*function.args.posonlyargs, *function.args.args)}
    indices: set[str] = set()
    for call in ast.walk(function):
        if isinstance(call, ast.Call) and dotted(call.func) in _ACCESSES:
            parts = call.args if dotted(call.func) == "range" else call.args[:1]
            for inner in _reached(parts, values):
                if isinstance(inner, ast.Call) and dotted(inner.func) == "tl.load" and inner.args:
                    names = {n.id for n in _reached(inner.args[:1], values) if isinstance(n, ast.Name)}
                    indices |= names & parameters
    return frozenset(indices)


def stored_by(function: ast.FunctionDef) -> frozenset[str]:
    """The parameters that addresses are made of to which a kernel itself stores."""
    values = values_of(function)
    parameters = {a.arg for a in (*function.args.posonlyargs, *function.args.args)}
    stores = (n for n in ast.walk(function) if isinstance(n, ast.Call) and n.args)
    addresses = [c.args[0] for c in stores if _is_store(dotted(c.func))]
    return frozenset(parameters & {n.id for n in _reached(addresses, values) if isinstance(n, ast.Name)})


def _is_store(name: str) -> bool:
    return name == "tl.store" or name.startswith("tl.atomic_")


def counts_of(function: ast.FunctionDef) -> frozenset[str]:
    """The names that addresses, masks, the ends of loops and seeds are made of."""
    values = values_of(function)
    names: set[str] = set()
    for call in ast.walk(function):
        if isinstance(call, ast.Call) and (kind := dotted(call.func)) in _ACCESSES | _SEEDED:
            masks = [k.value for k in call.keywords if k.arg == "mask"]
            parts = [a for at, a in enumerate(call.args) if at != _VALUES.get(kind)]
            names |= {n.id for n in _reached([*parts, *masks], values) if isinstance(n, ast.Name)}
    return frozenset(names)


def _reached(parts: list[ast.expr], values: dict[str, list[ast.expr]]) -> list[ast.AST]:
    """What expressions are made of, through names; what a load gives is not followed further."""
    nodes: list[ast.AST] = []
    seen: set[str] = set()
    waiting: list[ast.AST] = list(parts)
    while waiting and len(nodes) < _MOST_NODES:
        node = waiting.pop()
        nodes.append(node)
        if isinstance(node, ast.Name) and node.id not in seen:
            seen.add(node.id)
            waiting += values.get(node.id, [])
        elif not (isinstance(node, ast.Call) and dotted(node.func) == "tl.load"):
            waiting += ast.iter_child_nodes(node)
    return nodes
