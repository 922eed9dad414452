"""Shapes that operations on tensors give: broadcast, reduced, indexed, permuted, multiplied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kernel_gate.dtype_names import FLOAT_NAMES
from kernel_lineage.workloads.triton.elements import sliced_elements
from kernel_lineage.workloads.triton.values import (
    Size,
    Tensor,
    Unknown,
    product,
    strides_of,
    text_of,
)

_MOST_ROWS = 256
_RANK = {"bool": 0, "uint8": 1, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 6, "bfloat16": 6,
         "float32": 7, "float64": 8}  # fmt: skip


def is_float(tensor: Tensor) -> bool:
    """Whether a tensor holds floating-point numbers, as far as its dtype is known."""
    return tensor.dtype is None or tensor.dtype in FLOAT_NAMES


def wider(dtypes: Sequence[str | None]) -> str | None:
    """The dtype that torch gives an operation on some."""
    if None in dtypes or not dtypes:
        return None
    kinds = {d for d in dtypes if d is not None}
    if {"float16", "bfloat16"} <= kinds:
        return "float32"
    return max(kinds, key=lambda d: _RANK.get(d, 5))


def broadcast(tensors: Sequence[Tensor]) -> Tensor | Unknown:
    """The elements of some tensors combined, each with its counterpart."""
    shapes = [t.shape for t in tensors]
    rank = max(len(s or ()) for s in shapes)
    extents: list[int | Size] = []
    for axis in range(rank):
        here = [s[axis - rank] for s in shapes if s is not None and len(s) >= rank - axis]
        wide = list(dict.fromkeys(e for e in here if e != 1)) or [1]
        # Of two expressions for one extent, the first: a test is taken to be right.
        extents.append(wide[0])
    values = tensors[0].values if len(tensors) == 1 else ""
    return Tensor(
        "", tuple(extents), wider([t.dtype for t in tensors if t.shape] or [t.dtype for t in tensors]), values
    )


def matrix_product(left: object, right: object) -> object:
    """`a @ b`."""
    if not (isinstance(left, Tensor) and isinstance(right, Tensor) and left.shape and right.shape):
        return Unknown("a matrix product")
    if len(right.shape) == 1:
        return Tensor("", left.shape[:-1], wider([left.dtype, right.dtype]))
    batch = left.shape[:-2] if len(left.shape) >= len(right.shape) else right.shape[:-2]
    rows = left.shape[-2:-1]
    return Tensor("", (*batch, *rows, right.shape[-1]), wider([left.dtype, right.dtype]))


def reduced(tensor: Tensor, axes: object, keep: bool, dtype: str | None) -> Tensor | Unknown:
    """A sum, a maximum or the like along some axes; None for all of them."""
    shape = tensor.shape or ()
    listed = axes if isinstance(axes, (tuple, list)) else (axes,)
    if axes is None:
        return Tensor("", (1,) * len(shape) if keep else (), dtype)
    gone = [a % len(shape) for a in listed if type(a) is int and shape]
    if len(gone) != len(listed):
        return Unknown("the axis of a reduction")
    kept = tuple(1 if i in gone else e for i, e in enumerate(shape) if keep or i not in gone)
    return Tensor("", kept, dtype)


def permuted(tensor: Tensor, order: Sequence[object]) -> Tensor | Unknown:
    """The same memory with the axes in another order."""
    shape = tensor.shape or ()
    axes = [a % len(shape) for a in order if type(a) is int and shape]
    if sorted(axes) != list(range(len(shape))):
        return Unknown("the order of the axes")
    strides = strides_of(tensor)
    moved = replace(tensor, shape=tuple(shape[a] for a in axes), strides=tuple(strides[a] for a in axes))
    return moved if axes != sorted(axes) else tensor


def strided(tensor: object, steps: object) -> object:
    """A tensor whose neighbours along each axis are so many elements apart; another value as it is."""
    strides = (
        tuple(s for s in steps if isinstance(s, (int, Size))) if isinstance(steps, (tuple, list)) else ()
    )
    if not isinstance(tensor, Tensor) or len(strides) != len(tensor.shape or ()):
        return tensor
    if [*map(text_of, strides)] == [*map(text_of, strides_of(tensor))]:
        return tensor
    return replace(tensor, strides=strides, memory=_memory(tensor))


def expanded(tensor: Tensor, extents: Sequence[object]) -> Tensor | Unknown:
    """The same memory seen several times; -1 keeps an extent."""
    shape, strides = tensor.shape or (), strides_of(tensor)
    new = [e for e in extents if isinstance(e, (int, Size))]
    if len(new) != len(extents) or len(new) < len(shape):
        return Unknown("an extent of `expand`")
    more = len(new) - len(shape)
    wide: list[int | Size] = []
    steps: list[int | Size] = []
    for axis, extent in enumerate(new):
        own = shape[axis - more] if axis >= more else 1
        keeps = axis >= more and (extent in (-1, own))
        wide.append(own if keeps else extent)
        steps.append(strides[axis - more] if keeps else 0)
    if tuple(wide) == shape:
        return tensor
    return replace(tensor, shape=tuple(wide), strides=tuple(steps), memory=_memory(tensor))


def narrowed(tensor: Tensor, axis: int, start: int | Size, extent: int | Size) -> Tensor:
    """A part of the extent of one axis, in the same memory."""
    shape, strides = tensor.shape or (), strides_of(tensor)
    inner = tuple(extent if i == axis else e for i, e in enumerate(shape))
    if inner == shape:
        return tensor
    tensor = sliced_elements(tensor, start, extent)
    memory = _memory(tensor) - start * strides[axis] if start != 0 else _memory(tensor)
    if axis == 0 and tensor.strides is None:
        return replace(tensor, shape=inner, memory=memory if tensor.buffer else None)
    return replace(tensor, shape=inner, strides=strides, memory=memory)


def without(tensor: Tensor, axis: int) -> Tensor:
    """The tensor less one axis, at the first element of it."""
    shape, strides = tensor.shape or (), strides_of(tensor)
    rest = shape[:axis] + shape[axis + 1 :]
    if tensor.strides is None and (axis == 0 or shape[axis] == 1):
        return replace(tensor, shape=rest)
    return replace(tensor, shape=rest, strides=strides[:axis] + strides[axis + 1 :], memory=_memory(tensor))


def rows_of(tensor: Tensor, axis: int = 0) -> tuple[Tensor, ...] | None:
    """The tensor at each place of an axis, in the same memory; None where the places are not counted."""
    rows = (tensor.shape or (None,))[axis]
    if not isinstance(rows, int) or rows > _MOST_ROWS:
        return None
    nameless = replace(tensor, name="")
    return tuple(without(narrowed(nameless, axis, at, 1), axis) for at in range(rows))


def _memory(tensor: Tensor) -> int | Size:
    return tensor.memory if tensor.memory is not None else product(tensor.shape or ())


def with_axis(tensor: Tensor, axis: int) -> Tensor:
    """The tensor with one axis more, of one element."""
    shape = tensor.shape or ()
    at = axis % (len(shape) + 1)
    strides = None
    if tensor.strides is not None:
        own = tensor.strides
        strides = (*own[:at], own[at] if at < len(own) else 1, *own[at:])
    return replace(tensor, shape=(*shape[:at], 1, *shape[at:]), strides=strides)


def indexed(tensor: Tensor, parts: Sequence[object]) -> Tensor | Unknown:
    """`x[…]`: numbers, slices, None, an ellipsis; a tensor of indices gives memory of its own."""
    shape = tensor.shape or ()
    used = sum(p is not None and p is not ... for p in parts)
    listed = list(parts) if any(p is ... for p in parts) else [*parts, ...]
    result, axis, gathered = tensor, 0, False
    for part in listed:
        own = result.shape or ()
        if part is ...:
            axis += len(shape) - used
        elif part is None:
            result, axis = with_axis(result, axis), axis + 1
        elif axis >= len(own):
            return Unknown("an index too many")
        elif isinstance(part, slice):
            portion = _sliced(result, axis, part)
            if isinstance(portion, Unknown):
                return portion
            result, axis = portion, axis + 1
        elif isinstance(part, Tensor):
            # One row of indices picks along one axis; a mask picks as many as it likes.
            if part.shape is None or part.dtype == "bool" or gathered:
                return Unknown("elements that are picked by a tensor")
            inner = (*own[:axis], *part.shape, *own[axis + 1 :])
            result, axis, gathered = (
                Tensor("", inner, result.dtype, result.values),
                axis + len(part.shape),
                True,
            )
        elif isinstance(part, (int, Size)):
            at = own[axis] + part if isinstance(part, int) and part < 0 else part
            result = without(narrowed(result, axis, at, 1), axis)
        else:
            return part if isinstance(part, Unknown) else Unknown("an index")
    return result


def _sliced(tensor: Tensor, axis: int, part: slice) -> Tensor | Unknown:
    extent = (tensor.shape or ())[axis]
    ends: list[int | Size] = []
    for end, default in ((part.start, 0), (part.stop, extent)):
        if end is None:
            ends.append(default)
        elif isinstance(end, (int, Size)):
            ends.append(extent + end if isinstance(end, int) and end < 0 else end)
        else:
            return end if isinstance(end, Unknown) else Unknown("the end of a slice")
    start, stop = ends
    portion = narrowed(tensor, axis, start, stop - start)
    if part.step in (None, 1):
        return portion
    if not isinstance(part.step, int) or part.step < 1:
        return Unknown("a slice with a step")
    shape, strides = list(portion.shape or ()), list(strides_of(portion))
    shape[axis] = (shape[axis] + (part.step - 1)) // part.step
    strides[axis] = strides[axis] * part.step
    values = (
        "" if portion.values.startswith(("listed(", "permutation(", "offsets(", "steps(")) else portion.values
    )
    stepped = replace(portion, shape=tuple(shape), strides=tuple(strides), values=values)
    return replace(stepped, memory=_memory(portion))
