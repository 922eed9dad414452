"""Functions that make blocks and give them other shapes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kernel_gate.expr.terms import ONE, ZERO, Num
from kernel_lineage.code.values import INT32, INT64, INTEGERS, Int
from kernel_lineage.proofs.triton.called import Called
from kernel_lineage.proofs.triton.expressions import extents
from kernel_lineage.proofs.triton.shapes import broadcast, indexed, numel, permuted, reduced, reshaped
from kernel_lineage.proofs.triton.values import Constant, Other, Shape, Tile, Tuple, Value, shape_of, why


def _filled(called: Called) -> Value:
    shape_given, dtype = called.argument(0, "shape"), called.named.get("dtype")
    value = Tile(Int(ZERO, INT32), weak=True) if called.name == "zeros" else called.argument(1, "value")
    dtype = dtype or called.argument(1 if called.name == "zeros" else 2, "dtype")
    shape = extents(shape_given) if shape_given is not None else None
    type_ = INTEGERS.get(str(dtype.value)) if isinstance(dtype, Constant) else None
    if type_ is None or shape is None or not isinstance(value, Tile):
        return Other(shape=shape)
    return Tile(replace(value.value, type=type_), shape)


def _filled_like(called: Called) -> Value:
    first = called.listed[0] if called.listed else Other()
    if isinstance(first, Tile) and called.name == "zeros_like":
        return Tile(Int(ZERO, first.value.type), first.shape)
    return Other(shape=shape_of(first))


def reduction(called: Called) -> Value:
    """What is left of a block along the other axes."""
    if not called.listed:
        return Other()
    first, axis, keeps = called.listed[0], called.argument(1, "axis"), called.named.get("keep_dims")
    along = axis.term.value if isinstance(axis, Tile) and isinstance(axis.term, Num) else None
    keep = isinstance(keeps, Tile) and keeps.term == ONE
    shape = reduced(shape_of(first), along, keeps=keep)
    number = isinstance(first, Tile) or called.name in ("argmax", "argmin")
    pair = "return_indices" in called.named
    if not number or shape is None:
        value: Value = Other(why(first), shape)
    else:
        reason = f"the result of {called.scope.site(called.node).named}"
        type_ = INT32 if not isinstance(first, Tile) or first.value.type.bits <= 32 else INT64
        value = called.scope.block("reduced", type_, reason, shape)
    return (
        Tuple((value, called.scope.block("at", INT32, "an index of a reduction", shape or ())))
        if pair
        else value
    )


def _dot(called: Called) -> Value:
    a, b = shape_of(called.listed[0]), shape_of(called.listed[1])
    fits = a is not None and b is not None and len(a) == len(b) >= 2
    return Other(shape=(*a[:-1], b[-1]) if fits and a is not None and b is not None else None)


def _reshape(called: Called) -> Value:
    value, *sizes = called.listed
    to: Value = (
        sizes[0] if len(sizes) == 1 else Tuple(tuple(sizes)) if sizes else called.named.get("shape", Other())
    )
    if called.name == "ravel":
        own = shape_of(value)
        return reshaped(called.scope, value, (numel(own),)) if own is not None else Other(why(value))
    shape = extents(to)
    if shape is None:
        return Other(why(value))
    if called.name == "broadcast_to":
        return broadcast(called.scope, value, shape)
    return reshaped(called.scope, value, shape)


def _transpose(called: Called) -> Value:
    value, *axes = called.listed
    own = shape_of(value)
    order: Shape | None = extents(axes[0] if len(axes) == 1 else Tuple(tuple(axes))) if axes else None
    if own is None:
        return Other(why(value))
    if order is None:
        return permuted(
            called.scope, value, [*range(len(own) - 2), len(own) - 1, len(own) - 2] if len(own) > 1 else [0]
        )
    return permuted(called.scope, value, [axis.value for axis in order if isinstance(axis, Num)])


def _expand(called: Called) -> Value:
    value, axis = called.listed[0], called.argument(1, "axis")
    own = shape_of(value)
    if own is None or not (isinstance(axis, Tile) and isinstance(axis.term, Num)):
        return Other(why(value))
    at = axis.term.value % (len(own) + 1)
    return indexed(called.scope, value, [k != at for k in range(len(own) + 1)])


FUNCTIONS: dict[str, Callable[[Called], Value]] = {
    "zeros": _filled,
    "full": _filled,
    "zeros_like": _filled_like,
    "full_like": _filled_like,
    "dot": _dot,
    "reshape": _reshape,
    "view": _reshape,
    "ravel": _reshape,
    "broadcast_to": _reshape,
    "trans": _transpose,
    "permute": _transpose,
    "expand_dims": _expand,
}
