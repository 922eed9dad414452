"""What PyTorch itself works out of tensors beside the kernels that a function launches: `norms.sqrt_()`, `loss.mean()`.

The operations are those whose meaning is one formula for each element, or a reduction over neighbouring extents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernel_gate.dtypes import DTYPES
from kernel_lineage.workloads.following.memory_formats import (
    CHANNELS_LAST,
    CONTIGUOUS,
    PRESERVE,
    asked_format,
    memory_order,
    order_of_extents,
    permuted,
)
from kernel_lineage.workloads.following.sizes import Sizes
from kernel_lineage.workloads.following.tensors import COPIES, dtype_in
from kernel_lineage.workloads.following.types import SCALAR_KINDS, dtype_of
from kernel_lineage.workloads.following.values import (
    Buffer,
    NotFollowed,
    Number,
    Opaque,
    Record,
    Tensor,
    TypeName,
    Value,
    plain,
)

UNARY: Mapping[str, str] = {
    "abs": "fabs{f}({0})", "ceil": "ceil{f}({0})", "cos": "cos{f}({0})", "erf": "erf{f}({0})", "exp": "exp{f}({0})",
    "expm1": "expm1{f}({0})", "floor": "floor{f}({0})", "log": "log{f}({0})", "log1p": "log1p{f}({0})",
    "log2": "log2{f}({0})", "neg": "-{0}", "reciprocal": "1 / {0}", "relu": "({0} < 0 ? 0 : {0})",
    "rsqrt": "1 / sqrt{f}({0})", "sigmoid": "1 / (1 + exp{f}(-{0}))", "sin": "sin{f}({0})", "sqrt": "sqrt{f}({0})",
    "square": "{0} * {0}", "tanh": "tanh{f}({0})", "trunc": "trunc{f}({0})",
    "clone": "{0}",
}  # fmt: skip
"""Operation → its formula; `{f}` ends the names of functions of single precision."""
BINARY: Mapping[str, str] = {
    "add": "{0} + {1}", "div": "{0} / {1}", "maximum": "({0} != {0} || {0} > {1} ? {0} : {1})",
    "minimum": "({0} != {0} || {0} < {1} ? {0} : {1})", "mul": "{0} * {1}", "sub": "{0} - {1}",
}  # fmt: skip
CLAMPS: Mapping[str, str] = {
    "clamp_min": "({0} < {1} ? {1} : {0})",
    "clamp_max": "({0} > {1} ? {1} : {0})",
}
REDUCTIONS = frozenset({"amax", "amin", "mean", "sum"})
OPERATORS: Mapping[str, str] = {"+": "add", "-": "sub", "*": "mul", "/": "div"}
ALIASES = {"multiply": "mul", "divide": "div", "subtract": "sub", "negative": "neg", "absolute": "abs",
               "true_divide": "div", "max": "amax", "min": "amin", "clip": "clamp"}  # fmt: skip
_PAIRED = {"max": "maximum", "min": "minimum"}
CASTS = {"float": "float", "half": "half", "bfloat16": "__nv_bfloat16", "double": "double"}
_OF_FLOATS = UNARY.keys() - {"abs", "neg", "relu", "square", "clone"}
"""What gives floats of whole numbers."""
_OF_BOTH = frozenset({"amax", "amin"})
_OF_TENSORS = frozenset({*UNARY, *BINARY, *CLAMPS, "clamp", *REDUCTIONS}) - {"clone"}
"""Operations of which every argument has to be told."""
COPIED, CONVERTED, FILLED = "contiguous", "to", "fill"
_KEPT = "{0}"
_TO_A_FORMAT = frozenset({*COPIES, "to", "clone"})
"""Methods that are handed the format of what they give."""


@dataclass(frozen=True, slots=True)
class TorchWork:
    """One operation: what it makes of which."""

    name: str
    """The function of PyTorch, without the `_` of one that changes its tensor."""
    formula: str
    """What becomes of operands at one place; "" for a reduction."""
    operands: tuple[Tensor | Number, ...]
    result: Tensor
    """One of the operands where it is changed in place."""
    reduced: tuple[int, ...] = ()
    """The extents of the first operand that a reduction goes over."""

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The operands that are tensors."""
        return tuple(o for o in self.operands if isinstance(o, Tensor))


def torch_work(name: str, args: Sequence[Value], sizes: Sizes) -> TorchWork | None:
    """What a function of torch, or a method with its tensor as the first argument, does; None for another function.

    Raises `NotFollowed` for arguments that are not understood.
    """
    own = name.removesuffix("_")
    own, is_in_place = ALIASES.get(own, own), name.endswith("_")
    if not args or not any(isinstance(a, Tensor) for a in args[:2]):
        return None
    first, rest = args[0], list(args[1:])
    if name in _PAIRED and rest and isinstance(rest[0], Tensor):
        own = _PAIRED[name]
    for one in args if own in _OF_TENSORS else ():
        if isinstance(one, Opaque):
            raise NotFollowed(one.why)
    if own == "clone":
        rest = []  # the format of memory
    if own in UNARY and isinstance(first, Tensor) and not rest:
        kind = "float" if own in _OF_FLOATS and not _is_float(first.dtype) else first.dtype
        return _elementwise(own, UNARY[own], (first,), kind, in_place=is_in_place)
    if own in BINARY and rest and isinstance(rest[0], (Tensor, Number)):
        return _binary(own, first, rest, in_place=is_in_place)
    if own in ("clamp", *CLAMPS) and isinstance(first, Tensor):
        return _clamped(own, first, rest, in_place=is_in_place)
    if own in REDUCTIONS and not is_in_place and isinstance(first, Tensor):
        is_pair = name in _PAIRED and bool(rest)
        return None if is_pair else _reduced(own, first, rest, sizes)
    if not isinstance(first, Tensor):
        return None
    if own in (CONVERTED, "toType", "type_as", *CASTS) and not is_in_place:
        kind = CASTS.get(own, "") or next((k for a in rest if (k := dtype_in(a))), "")
        of = rest[0] if rest and isinstance(rest[0], Tensor) else None
        kind = kind or (of.dtype if of is not None else "")
        if not kind:
            return None
        return _elementwise(CONVERTED, _KEPT, (first,), kind)
    if name in ("copy_", "fill_"):
        content = rest[0] if rest else None
        if isinstance(content, Tensor if name == "copy_" else Number):
            return TorchWork(own, _KEPT, (content,), first)
        raise NotFollowed(f"`{name}()` of something that is not told")
    return None


def row_by_row(view: Tensor) -> TorchWork:
    """The copy of a view that lies row by row."""
    made = Tensor(Buffer(""), dict(view.sizes), view.rank, view.dtype)
    return TorchWork(COPIED, _KEPT, (view,), made)


def in_format(
    tensor: Tensor, name: str, args: list[Value], sizes: Sizes
) -> tuple[Tensor, TorchWork | None] | None:
    """What a method that copies gives in the format that it is asked for, row by row where it is asked for none; and
    the copy, None where it makes none. Another method gets no pair at all.

    Raises `NotFollowed` for a format that is not understood.
    """
    asked = asked_format(args)
    if name not in _TO_A_FORMAT or (asked is None and name not in COPIES):
        return None
    if isinstance(first := args[0] if args else None, Opaque) and asked is None:
        raise NotFollowed(first.why)
    if len(args) > 1 or asked == PRESERVE:
        raise NotFollowed(f"`{name}()` with a format and more arguments, or the format `Preserve`")
    if asked in (None, CONTIGUOUS):
        if tensor.strides is None and name != "clone":
            return tensor, None
        work = row_by_row(tensor)
        return work.result, work
    if tensor.channels_last and name != "clone":
        return tensor, None
    assert asked is not None
    if asked != CHANNELS_LAST.get(tensor.rank or 4):
        raise NotFollowed(f"`{asked.name}` of {tensor.rank} extents")
    tensor.rank = tensor.rank or 4
    work = row_by_row(permuted(tensor, memory_order(tensor.rank), sizes))
    return permuted(work.result, order_of_extents(tensor.rank), sizes), work


def filled(function: str, args: Sequence[Value], made: Tensor) -> TorchWork | None:
    """How `ones`, `full` and the like fill the tensor that they make; None for one that holds nothing, or zeros."""
    base = function.removesuffix("_like")
    value = plain(1) if base == "ones" else args[1] if base == "full" and len(args) > 1 else None
    return TorchWork(FILLED, _KEPT, (value,), made) if isinstance(value, Number) else None


def _is_float(kind: str) -> bool:
    """Whether a type of C++ is a float; one that is not told is taken to be."""
    dtype = dtype_of(kind)
    return dtype is None or DTYPES[dtype].is_float


def _elementwise(
    name: str,
    formula: str,
    operands: tuple[Tensor | Number, ...],
    kind: str,
    *,
    in_place: bool = False,
) -> TorchWork:
    tensors = [o for o in operands if isinstance(o, Tensor)]
    if in_place and isinstance(operands[0], Tensor):
        return TorchWork(name, formula, operands, operands[0])
    shaped = max(tensors, key=lambda t: (t.rank or 0, sum(e.text != "1" for e in t.sizes.values())))
    extents = dict(shaped.sizes)
    for other in tensors:
        for place, extent in (other.sizes if other.rank == shaped.rank else {}).items():
            if extents.get(place, extent).text == "1":
                extents[place] = extent
    return TorchWork(name, formula, operands, Tensor(Buffer(""), extents, shaped.rank, kind))


def _binary(name: str, first: Value, rest: list[Value], *, in_place: bool) -> TorchWork:
    second = rest[0]
    scale = rest[1] if len(rest) > 1 else plain(1)
    if len(rest) > 1 and (name not in ("add", "sub") or not isinstance(scale, Number)):
        raise NotFollowed(f"`{name}()` with more arguments")
    if not isinstance(first, (Tensor, Number)) or not isinstance(second, (Tensor, Number)):
        raise NotFollowed(f"`{name}()` of something else than tensors and numbers")
    formula, operands = BINARY[name], (first, second)
    kind = _promoted(first, second)
    if name == "div" and not _is_float(kind):
        kind = "float"
    if isinstance(scale, Number) and not (scale.is_constant and scale.value == 1):
        formula = formula.replace("{1}", "{2} * {1}")
        return _elementwise(name, formula, (*operands, scale), kind, in_place=in_place)
    return _elementwise(name, formula, operands, kind, in_place=in_place)


def _promoted(first: Tensor | Number, second: Tensor | Number) -> str:
    """The type of what two operands give: a number is of its tensor's, unless that is whole and the number is not."""
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        if (is_float := _is_float(first.dtype)) != _is_float(second.dtype):
            return first.dtype if is_float else second.dtype
        kinds = [dtype_of(t.dtype) for t in (first, second)]
        if None in kinds or kinds[0] == kinds[1]:
            return first.dtype or second.dtype
        if not is_float:
            raise NotFollowed("two tensors of different whole numbers")
        wider = [k for k in kinds if k in ("float32", "float64")]
        return {"float64": "double"}.get(max(wider), "float") if wider else "float"
    tensor, number = (first, second) if isinstance(first, Tensor) else (second, first)
    assert isinstance(tensor, Tensor) and isinstance(number, Number)
    return tensor.dtype if number.whole or _is_float(tensor.dtype) else "float"


def _clamped(name: str, first: Tensor, rest: list[Value], *, in_place: bool) -> TorchWork:
    bounds = [a for a in rest if isinstance(a, Number)]
    if not bounds or len(bounds) != len(rest):
        raise NotFollowed(f"`{name}()` without numbers")
    if name != "clamp" or len(bounds) == 1:
        formula = CLAMPS["clamp_min" if name == "clamp" else name]
        return _elementwise(name, formula, (first, bounds[0]), first.dtype, in_place=in_place)
    formula = "({0} < {1} ? {1} : {0} > {2} ? {2} : {0})"
    return _elementwise(name, formula, (first, *bounds[:2]), first.dtype, in_place=in_place)


def _reduced(name: str, first: Tensor, rest: list[Value], sizes: Sizes) -> TorchWork:
    kind = next((k for a in rest if (k := dtype_in(a))), "")
    rest = [a for a in rest if not isinstance(a, (TypeName, Record))]
    listed = rest[0] if rest else []
    numbers = [v for v in (listed if isinstance(listed, list) else [listed]) if isinstance(v, Number)]
    keeps = len(rest) > 1 and isinstance(rest[1], Number) and bool(rest[1].value)
    if rest and not numbers:
        raise NotFollowed(f"`{name}()` over extents that are not told")
    for number in numbers:
        if not number.is_constant or not number.whole:
            raise NotFollowed(f"`{name}()` over `{number.text}`")
        sizes.extent(first, int(number.value))
    if not first.sizes or first.rank is None:
        sizes.elements(first)
    rank = first.rank or 1
    places = tuple(sorted({int(n.value) % rank for n in numbers})) or tuple(range(rank))
    if places != tuple(range(places[0], places[-1] + 1)):
        raise NotFollowed(f"`{name}()` over extents that are not beside each other")
    whole = not _is_float(first.dtype)
    if whole and name == "mean":
        raise NotFollowed("`mean()` of whole numbers")
    left = [
        plain(1) if place in places else sizes.extent(first, place)
        for place in range(rank)
        if keeps or place not in places
    ]
    made = kind or (SCALAR_KINDS["kLong"] if whole and name not in _OF_BOTH else first.dtype)
    result = Tensor(Buffer(""), dict(enumerate(left)), len(left), made)
    return TorchWork(name, "", (first,), result, places)
