"""The functions of `triton.language`: what they give of integers and addresses, and of which shape."""

from __future__ import annotations

import ast
from collections.abc import Callable

from kernel_gate.expr import terms
from kernel_gate.expr.terms import ONE, ZERO, Num, Var
from kernel_lineage.code.values import INT32, Int, between
from kernel_lineage.proofs.triton import hints, numbers, reshaping, windows
from kernel_lineage.proofs.triton.called import Called
from kernel_lineage.proofs.triton.memory import ATOMICS, atomic
from kernel_lineage.proofs.triton.reshaping import reduction
from kernel_lineage.proofs.triton.scope import shown
from kernel_lineage.proofs.triton.shapes import surely_joined
from kernel_lineage.proofs.triton.values import (
    BlockPointer,
    Other,
    Pointers,
    Tile,
    Tuple,
    Value,
    lane_at,
    shape_of,
    why,
)

_REDUCTIONS = frozenset({"sum", "max", "min", "reduce", "argmax", "argmin", "xor_sum", "reduce_or"})
_OF_OTHER_SHAPE = frozenset({"join", "split", "cat", "interleave", "gather", "histogram", "topk"})
_WITHOUT_EFFECT = frozenset(
    {"static_assert", "device_assert", "static_print", "device_print", "debug_barrier", "print"}
)


def function(called: Called) -> Value:
    """The value of a call of a function of `triton.language`."""
    name = called.name
    if name in _FUNCTIONS:
        return _FUNCTIONS[name](called)
    if name in ATOMICS:
        arguments = called.arguments(
            ("pointer", "cmp", "val", "mask") if name == "atomic_cas" else ("pointer", "val", "mask")
        )
        return atomic(called.at, called.node, arguments.get("pointer", Other()), arguments)
    if name in _REDUCTIONS:
        return reduction(called)
    if name in _WITHOUT_EFFECT:
        return Other()
    return _elementwise(called)


def _elementwise(called: Called) -> Value:
    """A function that is not known here: one of data, which accesses nothing unless it is given an address.

    A block that a function of another module makes may be of any shape.
    """
    values = [*called.listed, *called.named.values()]
    if any(isinstance(value, Pointers | BlockPointer) for value in values):
        message = f"`{shown(called.node)}`: `{called.name}` is given an address and is not modelled"
        called.scope.problem(called.node, message)
    shape = surely_joined(*(shape_of(v) for v in values if isinstance(v, Tile | Other)))
    reason = next((why(v) for v in values if why(v)), f"the result of {called.scope.site(called.node).named}")
    foreign = isinstance(called.node.func, ast.Name) or called.name in _OF_OTHER_SHAPE
    return Other(reason, None if foreign else shape)


def _program_id(called: Called) -> Value:
    axis = called.argument(0, "axis")
    if not (isinstance(axis, Tile) and isinstance(axis.term, Num) and 0 <= axis.term.value <= 2):
        return Other(called.scope.site(called.node).named)
    extent = called.scope.setting.launch.grid[axis.term.value]
    if called.name == "num_programs":
        return Tile(Int(extent, INT32))
    return Tile(Int(ZERO if extent == ONE else Var(f"blockIdx.{'xyz'[axis.term.value]}"), INT32))


def _arange(called: Called) -> Value:
    start, end = called.argument(0, "start"), called.argument(1, "end")
    if not (isinstance(start, Tile) and isinstance(end, Tile)):
        return Other(called.scope.site(called.node).named)
    extent = terms.sub(end.term, start.term)
    return Tile(Int(terms.add(start.term, lane_at(0, extent)), INT32), (extent,))


def _length(called: Called) -> Value:
    first = called.listed[0] if called.listed else Other()
    return Tile(Int(Num(len(first.items))), weak=True) if isinstance(first, Tuple) else Other()


def _number_of(called: Called) -> Value:
    """`int(x)`, `bool(x)` and `tl.constexpr(x)` of what is known already."""
    return called.listed[0] if called.listed else Other()


def _swizzled(called: Called) -> Value:
    """`tl.swizzle2d(i, j, size_i, size_j, size_g)`: some place of as many rows and columns."""
    places: list[Value] = []
    for size in (called.argument(2, "size_i"), called.argument(3, "size_j")):
        if not isinstance(size, Tile):
            return Tuple((Other(), Other()))
        places.append(Tile(between(called.scope.model, "swizzled", ZERO, size.term, INT32)))
    return Tuple(tuple(places))


_FUNCTIONS: dict[str, Callable[[Called], Value]] = {
    "program_id": _program_id, "num_programs": _program_id, "arange": _arange, "swizzle2d": _swizzled, "len": _length,
    "int": _number_of, "bool": _number_of, "constexpr": _number_of,
    **hints.FUNCTIONS, **numbers.FUNCTIONS, **reshaping.FUNCTIONS, **windows.FUNCTIONS,
}  # fmt: skip
