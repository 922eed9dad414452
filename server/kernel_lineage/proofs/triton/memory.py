"""Loads, stores and atomic operations of Triton: by blocks of addresses, block pointers and tensor descriptors."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from kernel_gate.expr import terms
from kernel_gate.expr.terms import TRUE, ZERO, Term
from kernel_lineage.code.integers import truth_of
from kernel_lineage.code.loads import Load
from kernel_lineage.code.values import INTEGERS, Int, Pointer
from kernel_lineage.proofs.triton.expressions import Expressions, merged
from kernel_lineage.proofs.triton.operators import advanced
from kernel_lineage.proofs.triton.scope import Scope, shown
from kernel_lineage.proofs.triton.shapes import broadcast, joined
from kernel_lineage.proofs.triton.values import (
    BlockPointer,
    Constant,
    Other,
    Pointers,
    Shape,
    Tile,
    Tuple,
    Value,
    lane_at,
    shape_of,
    why,
)

ATOMICS = frozenset({f"atomic_{n}" for n in ("add", "max", "min", "and", "or", "xor", "xchg", "cas")})


def load(at: Expressions, node: ast.Call, place: Value, arguments: Mapping[str, Value]) -> Value:
    """`tl.load(pointers, mask, other)`."""
    scope = at.scope
    window = _window(at, node, place, arguments)
    if window is None:
        return _lost(scope, node, place)
    pointer, shape, conditions = window
    scope.access(node, pointer, shape, conditions, reads=True)
    content = _loaded(scope, node, pointer, shape)
    condition = terms.conjunction(*conditions)
    if not isinstance(content, Tile) or condition == TRUE:
        return content
    other = arguments.get("other")
    if isinstance(other, Tile):
        return merged(scope, node, condition, content, other)
    reason = f"what {scope.site(node).named} gives where its mask is off"
    return merged(scope, node, condition, content, scope.block("masked", content.value.type, reason, shape))


def store(at: Expressions, node: ast.Call, place: Value, arguments: Mapping[str, Value]) -> Value:
    """`tl.store(pointers, value, mask)`."""
    window = _window(at, node, place, arguments)
    if window is None:
        return _lost(at.scope, node, place)
    at.scope.access(node, *window, writes=True)
    return Other()


def atomic(at: Expressions, node: ast.Call, place: Value, arguments: Mapping[str, Value]) -> Value:
    """`tl.atomic_add(pointers, value, mask)` and its kin."""
    window = _window(at, node, place, arguments)
    if window is None:
        return _lost(at.scope, node, place)
    pointer, shape, conditions = window
    at.scope.access(node, pointer, shape, conditions, reads=True, writes=True, atomic=True)
    type_ = INTEGERS.get(pointer.element.dtype)
    reason = f"the result of {at.scope.site(node).named}"
    return at.scope.block("atomic", type_, reason, shape) if type_ is not None else Other(shape=shape)


def _lost(scope: Scope, node: ast.Call, place: Value) -> Value:
    scope.problem(node, f"`{shown(node)}`: {why(place) or 'its address is not known'}")
    return Other(why(place))


def _window(
    at: Expressions, node: ast.Call, place: Value, arguments: Mapping[str, Value]
) -> tuple[Pointer, Shape, tuple[Term, ...]] | None:
    """The address, shape and conditions of an access; None where the address is not known."""
    scope = at.scope
    match place:
        case BlockPointer():
            return _within(place, _checked(place, arguments))
        case Pointers():
            mask = arguments.get("mask", Constant(None))
            if mask == Constant(None):
                return place.pointer, place.shape, ()
            condition = at.condition(node, mask)
            shape = joined(place.shape, condition.shape, shape_of(arguments.get("value", Other())))
            assert shape is not None
            pointers, tile = broadcast(scope, place, shape), broadcast(scope, condition, shape)
            through = pointers.pointer.arithmetic | tile.value.arithmetic
            pointer = replace(pointers.pointer, arithmetic=through)
            parts = truth_of(tile.term)
            listed = parts.args if isinstance(parts, terms.Op) and parts.name == "and" else (parts,)
            return pointer, shape, listed
    return None


def _checked(place: BlockPointer, arguments: Mapping[str, Value]) -> tuple[int, ...]:
    """The axes along which an access is cut at the tensor's bounds."""
    if place.descriptor:
        return tuple(range(len(place.block)))
    axes = arguments.get("boundary_check", Tuple(()))
    items = axes.items if isinstance(axes, Tuple) else (axes,)
    return tuple(i.term.value for i in items if isinstance(i, Tile) and isinstance(i.term, terms.Num))


def _within(place: BlockPointer, checked: tuple[int, ...]) -> tuple[Pointer, Shape, tuple[Term, ...]]:
    """A window on a tensor as addresses, with the bounds of the axes that are checked."""
    pointer = place.base
    conditions: list[Term] = []
    for axis, (extent, stride, offset, size) in enumerate(
        zip(place.extents, place.strides, place.offsets, place.block, strict=True)
    ):
        # Offsets are widened to 64 bits before anything is computed with them.
        index = terms.add(offset.term, lane_at(axis, size))
        through = offset.arithmetic | stride.arithmetic
        pointer = advanced(pointer, Int(terms.mul(index, stride.term), offset.type, through))
        if axis in checked:
            conditions += [terms.at_most(ZERO, index), terms.less(index, extent.term)]
    return pointer, place.block, tuple(conditions)


def _loaded(scope: Scope, node: ast.Call, pointer: Pointer, shape: Shape) -> Value:
    type_ = INTEGERS.get(pointer.element.dtype)
    if type_ is None:
        return Other(shape=shape)
    value = Load(scope.site(node), scope.setting, shape).integer(pointer, type_)
    return Tile(scope.tied(value, shape), shape)
