"""What PyTorch's C++ functions and the methods of its tensors give, by their shapes."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kernel_lineage.workloads.following.memory_formats import (
    FORMAT,
    asked_format,
    in_same_format,
    lies_in,
    permuted,
    suggested_format,
)
from kernel_lineage.workloads.following.sizes import Sizes
from kernel_lineage.workloads.following.types import bytes_of
from kernel_lineage.workloads.following.values import (
    Buffer,
    NotFollowed,
    Number,
    Opaque,
    Pointer,
    Record,
    Tensor,
    TypeName,
    Value,
    divided,
    plain,
    product,
)

SIZES_OF, OPTIONS = "sizes", "options"
"""Kinds of records: what `.sizes()` and `.options()` give."""
RANKS = ("dim", "ndimension")
"""Methods that tell how many extents a tensor has."""
_SAME = frozenset(
    {"cuda", "detach", "clone", "value", "data", "alias", "requires_grad_", "set_requires_grad", "get", "operator",
     "to_dense", "cpu"}
)  # fmt: skip
COPIES = frozenset({"contiguous", "expect_contiguous"})
"""Methods that copy a view which does not lie row by row, and give another tensor as it is."""
_OF_VIEWS = frozenset(
    {"size", "sizes", "numel", "dim", "ndimension", "scalar_type", "dtype", "type", "options", "element_size",
     "itemsize", "stride", "is_contiguous", "suggest_memory_format", "is_cuda", "defined", "has_value",
     "is_floating_point", "value", "detach", "alias", "data", "data_ptr", "mutable_data_ptr", "const_data_ptr", "t",
     "transpose", "permute", "view", "reshape", *COPIES}
)  # fmt: skip
"""Methods that are followed for such a view."""
PERMUTES = frozenset({"t", "transpose", "permute"})
"""Methods that give the same memory with its extents in another order."""
_TRUE = frozenset({"is_cuda", "defined", "has_value", "is_floating_point", "is_non_overlapping_and_dense"})
_MADE = re.compile(r"(?:empty|zeros|ones|full|rand|randn|randint|arange|tensor)(_like|_strided)?")
_POINTERS = frozenset({"data_ptr", "mutable_data_ptr", "const_data_ptr"})


def made_tensor(function: str, args: list[Value], name: str, sizes: Sizes) -> Tensor | None:
    """What a function that makes a tensor gives: `empty`, `zeros_like`, …; None for another function."""
    match = _MADE.fullmatch(function)
    if match is None or not args:
        return None
    first = args[0]
    buffer = Buffer(name, cleared=function.startswith("zeros"))
    dtype = next((kind for value in args if (kind := dtype_in(value))), "")
    if isinstance(first, Tensor) and (match[1] or function == "tensor"):
        if first.rank is not None:
            _ask_all(first, sizes)
        made = Tensor(buffer, dict(first.sizes), first.rank, dtype or first.dtype)
        return in_same_format(made, args[1:], first, sizes)
    extents = extents_of(first, sizes)
    if extents is None:
        return Tensor(buffer, dtype=dtype)
    made = Tensor(buffer, dict(enumerate(extents)), len(extents), dtype)
    return in_same_format(made, args[1:], None, sizes)


def _ask_all(tensor: Tensor, sizes: Sizes) -> None:
    """A tensor that another one is shaped like has as many elements as that has."""
    sizes.elements(tensor)


def dtype_in(value: Value) -> str:
    """The element type that an argument says, as C++ writes it; "" for one that says none."""
    if isinstance(value, TypeName):
        return value.name
    if isinstance(value, Record) and value.type == OPTIONS:
        inner = value.fields.get("dtype")
        return inner.name if isinstance(inner, TypeName) else ""
    return ""


def extents_of(value: Value, sizes: Sizes) -> tuple[Number, ...] | None:
    """The extents that a list, a number or `.sizes()` says."""
    if isinstance(value, Record) and value.type == SIZES_OF:
        tensor = value.fields["tensor"]
        if isinstance(tensor, Tensor):
            _ask_all(tensor, sizes)
            return tensor.shape
    if isinstance(value, Number):
        return (value,)
    if isinstance(value, list) and all(isinstance(v, Number) for v in value):
        return tuple(v for v in value if isinstance(v, Number))
    return None


def method_of_tensor(tensor: Tensor, name: str, args: list[Value], template: str, sizes: Sizes) -> Value:
    """What a method of a tensor gives. Raises `NotFollowed`."""
    if tensor.strides is not None and name not in _OF_VIEWS:
        raise NotFollowed(f"`{name}()` of {tensor.as_view}")
    index = int(args[0].value) if args and isinstance(args[0], Number) else 0
    if name == "size":
        return sizes.extent(tensor, index)
    if name == "sizes":
        return Record(SIZES_OF, {"tensor": tensor})
    if name == "numel":
        return sizes.elements(tensor)
    if name in RANKS:
        name, is_told = tensor.buffer.name, tensor.rank is not None
        if tensor.rank is None:
            tensor.rank = max(2, *(i + 1 for i in tensor.sizes), 2)
        if name and (not is_told or name in sizes.asked.at_least):
            sizes.say(f"{name} is taken to have {tensor.rank} extents: nothing tells how many")
        return plain(tensor.rank)
    if name == "stride":
        if tensor.rank is None and index >= 0:
            raise NotFollowed(f"`{tensor.buffer.name}.stride({index})`: how many extents it has")
        rank = tensor.rank or max(index + 1, -index)
        place = index + rank if index < 0 else index
        return _stride(tensor, place, rank, sizes)
    if name in ("element_size", "itemsize"):
        return plain(bytes_of(tensor.dtype or "float") or 4)
    if name in ("scalar_type", "dtype", "type"):
        return TypeName(tensor.dtype or "float", None if tensor.dtype else tensor)
    if name == "options":
        return Record(OPTIONS, {"dtype": TypeName(tensor.dtype)} if tensor.dtype else {})
    if name in _POINTERS or (name == "data" and template):
        if template:
            tensor.dtype = tensor.dtype or template
        tensor.buffer.tensor = tensor.whole or tensor
        return Pointer(tensor.buffer, template or tensor.dtype)
    if name == "is_contiguous":
        return lies_in(tensor, asked_format(args), sizes)
    if name == "suggest_memory_format":
        return suggested_format(tensor, sizes)
    if name in _TRUE:
        return plain(True)
    return _reshaped(tensor, name, args, sizes)


def _reshaped(tensor: Tensor, name: str, args: list[Value], sizes: Sizes) -> Value:
    """A tensor of the same memory, or a copy, in another shape. Raises `NotFollowed`."""
    if name in _SAME:
        return tensor
    if name in ("to", "toType"):
        dtype = next((kind for value in args if (kind := dtype_in(value))), "")
        return (
            tensor if dtype in ("", tensor.dtype) else Tensor(tensor.buffer, tensor.sizes, tensor.rank, dtype)
        )
    if name in ("zero_", "fill_", "copy_"):
        tensor.buffer.cleared = name == "zero_"
        return tensor
    if name in ("view", "reshape", "flatten", "view_as", "reshape_as"):
        return _viewed(tensor, args[0] if args else plain(-1), sizes)
    if name in PERMUTES and tensor.rank is not None:
        return permuted(tensor, _order_of(tensor, name, args), sizes)
    raise NotFollowed(f"`{tensor.buffer.name}.{name}()`")


def _stride(tensor: Tensor, place: int, rank: int, sizes: Sizes) -> Number:
    """Elements from one to the next along an extent."""
    if tensor.strides is not None:
        return tensor.strides[place]
    return product(tuple(sizes.extent(tensor, at) for at in range(place + 1, rank)))


def _order_of(tensor: Tensor, name: str, args: list[Value]) -> tuple[int, ...]:
    """The extents of a tensor in the order in which a method of `PERMUTES` has them. Raises `NotFollowed`."""
    rank = tensor.rank or 0
    numbers = args[0] if args and isinstance(args[0], list) else args
    order = [int(v.value) % rank for v in numbers if isinstance(v, Number)] if name != "t" else [0, 1]
    places = list(range(rank))
    if name == "permute" and sorted(order) == places:
        return tuple(order)
    if len(order) != 2 or rank < 2:
        raise NotFollowed(f"`{name}` of {tensor.buffer.name}")
    a, b = order
    places[a], places[b] = b, a
    return tuple(places)


def _viewed(tensor: Tensor, target: Value, sizes: Sizes) -> Tensor:
    if isinstance(target, Tensor):
        target = Record(SIZES_OF, {"tensor": target})
    extents = extents_of(target, sizes)
    if extents is None:
        raise NotFollowed(f"a view of {tensor.buffer.name}")
    left = [e for e in extents if e.value != -1]
    shape = dict(enumerate(extents))
    if len(left) < len(extents):
        place = next(i for i, e in enumerate(extents) if e.value == -1)
        shape[place] = divided(sizes.elements(tensor), product(tuple(left)))
    seen = Tensor(tensor.buffer, shape, len(extents), tensor.dtype)
    if tensor.strides is not None:
        seen.strides, seen.whole = _rows_of(tensor, shape, sizes), tensor.whole
    return seen


def _rows_of(view: Tensor, shape: Mapping[int, Number], sizes: Sizes) -> tuple[Number, Number]:
    """The strides of all rows of a view, one behind the other. Raises `NotFollowed` for a view in another shape."""
    strides, rank = view.strides or (), view.rank or 0
    extents = [sizes.extent(view, at) for at in range(rank)]
    are_rows = len(shape) == 2 <= rank and shape[1].text == extents[-1].text
    for at in range(1, rank - 1):
        along = product((extents[at], strides[at]))
        are_rows &= sorted(along.text.split(" * ")) == sorted(strides[at - 1].text.split(" * "))
    if not are_rows:
        raise NotFollowed(f"another shape of {view.as_view}")
    return strides[-2], strides[-1]


def method_of_sizes(shape: Record, name: str, args: list[Value], sizes: Sizes) -> Value:
    """What a method of `.sizes()` gives: an extent, how many there are, or all of them in a list of their own."""
    tensor = shape.fields["tensor"]
    if not isinstance(tensor, Tensor):
        return shape
    if name in ("back", "front"):
        return sizes.extent(tensor, -1 if name == "back" else 0)
    if name == "at" and args and isinstance(args[0], Number):
        return sizes.extent(tensor, int(args[0].value))
    if name == "size" and tensor.rank is not None:
        return plain(tensor.rank)
    if name == "vec" and (extents := extents_of(shape, sizes)) is not None:
        return list(extents)
    return shape


def method_of_options(options: Record, name: str, args: list[Value]) -> Value:
    """What a method of `TensorOptions` gives: the options, with the type or format that it says, told or not."""
    if name == "memory_format":
        return Record(OPTIONS, {**options.fields, FORMAT: args[0] if args else Opaque(name)})
    if name != "dtype":
        return options
    dtype = next((kind for value in args if (kind := dtype_in(value))), "")
    others = {n: value for n, value in options.fields.items() if n != name}
    return Record(OPTIONS, {**others, "dtype": TypeName(dtype)} if dtype else others)
