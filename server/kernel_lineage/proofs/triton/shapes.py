"""Blocks brought to other shapes: broadcast, with new axes, transposed, reshaped, reduced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

from kernel_gate.expr import terms
from kernel_gate.expr.terms import ONE, ZERO, Num, Term
from kernel_lineage.proofs.triton.scope import Scope
from kernel_lineage.proofs.triton.values import Other, Pointers, Shape, Tile, Value, lane, lane_at, shape_of

_V = TypeVar("_V", bound=Value)


def placed(scope: Scope, value: _V, lanes: Mapping[int, Term], shape: Shape) -> _V:
    """A block of a new shape whose elements are those of the old one at `lanes`."""
    by_name = {lane(axis).name: place for axis, place in lanes.items() if place != lane(axis)}
    made: Value = value
    match value:
        case Tile():
            made = Tile(scope.value_at(value.value, by_name), shape, value.weak and not shape)
        case Pointers():
            made = Pointers(scope.pointer_at(value.pointer, by_name), shape)
        case Other():
            made = Other(value.reason, shape)
    return cast(_V, made)


def joined(*shapes: Shape | None) -> Shape | None:
    """The shape that blocks are broadcast to; None where no shape is known."""
    operands = [s for s in shapes if s is not None]
    if not operands:
        return None
    rank = max(map(len, operands))
    padded = [(ONE,) * (rank - len(s)) + s for s in operands]
    return tuple(next((e for e in axis if e != ONE), ONE) for axis in zip(*padded, strict=True))


def surely_joined(*shapes: Shape | None) -> Shape | None:
    """The shape that blocks are broadcast to; None where one of them is not known."""
    return None if None in shapes else joined(*shapes)


def broadcast(scope: Scope, value: _V, shape: Shape) -> _V:
    """A block at a shape that it can be broadcast to: axes are added in front, and extents of 1 repeat."""
    own = shape_of(value)
    if own is None or own == shape:
        return value
    more = len(shape) - len(own)
    return placed(scope, value, {axis: lane(axis + more) for axis in range(len(own))} if more else {}, shape)


def indexed(scope: Scope, value: Value, axes: Sequence[bool]) -> Value:
    """`value[:, None]`: for each new axis whether it is the next old one."""
    own = shape_of(value)
    if own is None or sum(axes) > len(own):
        return Other(f"a shape that is not known{_of(value)}")
    old = iter(range(len(own)))
    lanes: dict[int, Term] = {}
    shape: list[Term] = []
    for new, taken in enumerate([*axes, *[True] * (len(own) - sum(axes))]):
        axis = next(old) if taken else None
        shape.append(own[axis] if axis is not None else ONE)
        if axis is not None:
            lanes[axis] = lane(new)
    return placed(scope, value, lanes, tuple(shape))


def permuted(scope: Scope, value: Value, order: Sequence[int]) -> Value:
    """New axis k is old axis `order[k]`."""
    own = shape_of(value)
    if own is None or sorted(order) != list(range(len(own))):
        return Other(f"a transposed block of unknown shape{_of(value)}")
    lanes = {old: lane(new) for new, old in enumerate(order)}
    return placed(scope, value, lanes, tuple(own[old] for old in order))


def reshaped(scope: Scope, value: Value, shape: Shape) -> Value:
    """The same elements in row-major order in another shape."""
    own = shape_of(value)
    if own is None:
        return Other(f"a reshaped block of unknown shape{_of(value)}", shape)
    flat: Term = ZERO
    for axis, extent in enumerate(shape):
        flat = terms.add(terms.mul(flat, extent), lane_at(axis, extent))
    lanes: dict[int, Term] = {}
    behind: Term = ONE
    for axis in reversed(range(len(own))):
        place = terms.floor_div(flat, behind)
        lanes[axis] = place if axis == 0 else terms.mod(place, own[axis])
        behind = terms.mul(behind, own[axis])
    return placed(scope, value, lanes, shape)


def reduced(shape: Shape | None, axis: int | None, *, keeps: bool = False) -> Shape | None:
    """The shape behind a reduction along one axis; of the whole block for None."""
    if shape is None:
        return None
    if axis is None:
        return (ONE,) * len(shape) if keeps else ()
    axis %= max(len(shape), 1)
    return (*shape[:axis], *((ONE,) if keeps else ()), *shape[axis + 1 :])


def numel(shape: Shape) -> Term:
    """How many elements a block has."""
    count: Term = Num(1)
    for extent in shape:
        count = terms.mul(count, extent)
    return count


def _of(value: Value) -> str:
    return f": {value.reason}" if isinstance(value, Other) and value.reason else ""
