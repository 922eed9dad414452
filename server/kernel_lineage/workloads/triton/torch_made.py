"""Tensors that torch makes: `torch.empty(…)`, `torch.randint(…)`, `torch.tensor([…])`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kernel_gate.value_kinds import MOST_LISTED
from kernel_lineage.workloads.triton.dtypes import dtype_given
from kernel_lineage.workloads.triton.elements import listed
from kernel_lineage.workloads.triton.values import (
    Dtype,
    Size,
    Tensor,
    Unknown,
    argument,
    called,
    is_number,
    packed,
    text_of,
)

MADE = frozenset({"empty", "zeros", "ones", "full", "rand", "randn", "randint", "eye", "arange", "tensor", "as_tensor",
                  "randperm", "linspace"})  # fmt: skip
LIKE = frozenset(
    {"empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like"}
)
_BETWEEN = "uniform(0, 1)"


def made(name: str, args: Sequence[object], named: Mapping[str, object]) -> object:
    """What `torch.NAME(…)` gives; a shape that is not told is None."""
    rest = list(args)
    dtype = dtype_given(named) or ("float32" if "dtype" not in named else None)
    whole = dtype_given(named) or "int64"
    match name:
        case "tensor" | "as_tensor":
            return _of_elements(rest[0] if rest else None, named)
        case "arange":
            return _arange(rest, named, whole)
        case "randperm" if rest and isinstance(rest[0], (int, Size)):
            return Tensor("", (rest[0],), whole, f"permutation({text_of(rest[0])})")
        case "linspace":
            steps = argument(rest, named, 2, "steps")
            return Tensor("", (steps,), dtype) if isinstance(steps, (int, Size)) else Unknown("linspace")
        case "eye" if rest and isinstance(rest[0], (int, Size)):
            columns = argument(rest, named, 1, "m", default=rest[0])
            return (
                Tensor("", (rest[0], columns), dtype) if isinstance(columns, (int, Size)) else Unknown(name)
            )
        case "randint":
            both = len(rest) >= 3 or ("size" in named and len(rest) == 2)
            low = rest.pop(0) if both else named.get("low", 0)
            high = rest.pop(0) if rest else named.get("high")
            values = ""
            if isinstance(low, (int, Size)) and isinstance(high, (int, Size)):
                values = f"integers({text_of(low)}, {text_of(high)})"
            return Tensor("", _shape(rest, named), whole, values)
        case "full":
            value = argument(rest, named, 1, "fill_value")
            if "dtype" not in named and type(value) in (int, bool):
                dtype = "int64" if type(value) is int else "bool"
            return Tensor("", _shape(rest[:1], named), dtype, _constant(dtype, value), cleared=value == 0)
        case "ones" | "zeros":
            constant = _constant(dtype, int(name == "ones"))
            return Tensor("", _shape(rest, named), dtype, constant, cleared=name == "zeros")
        case "rand":
            return Tensor("", _shape(rest, named), dtype, _BETWEEN)
    return Tensor("", _shape(rest, named), dtype)


def _shape(args: Sequence[object], named: Mapping[str, object]) -> tuple[int | Size, ...] | None:
    if "size" in named:
        args = [named["size"]]
    extents = args[0] if args and isinstance(args[0], (tuple, list)) else args
    shape = tuple(e for e in extents if isinstance(e, (int, Size)))
    return shape if len(shape) == len(extents) else None


def _constant(dtype: str | None, value: object) -> str:
    """The values of a tensor of whole numbers that all are the same."""
    if dtype is None or "float" in dtype or not isinstance(value, (int, Size)):
        return ""
    number = int(value) if isinstance(value, bool) else value
    return f"integers({text_of(number)}, {text_of(number + 1)})"


def _of_elements(value: object, named: Mapping[str, object]) -> object:
    if isinstance(value, Tensor):
        return replace(value, dtype=dtype_given(named) or value.dtype)
    dtype = dtype_given(named)
    numbers = _flat(value)
    shape: list[int | Size] = []
    while isinstance(value, (list, tuple, range)):
        shape.append(len(value))
        if not value:
            break
        value = value[0]
    if isinstance(value, Tensor):
        return Tensor("", (*shape, *(value.shape or ())), dtype or value.dtype)
    if dtype is None:
        kinds = {bool: "bool", int: "int64", float: "float32", Size: "int64"}
        dtype = kinds.get(type(value))
    if not shape:
        shape_of_one = () if is_number(value) else None
        return Tensor("", shape_of_one, dtype, _constant(dtype, value))
    exact = dtype is not None and "float" not in dtype and all(map(is_number, numbers))
    return Tensor("", tuple(shape), dtype, listed(numbers) if exact else "")


def _flat(value: object) -> list[object]:
    """The elements of nested lists; truth values as numbers."""
    if isinstance(value, (list, tuple, range)):
        return [e for v in value[: MOST_LISTED + 1] for e in _flat(v)]
    return [int(value) if isinstance(value, bool) else value]


def _arange(args: Sequence[object], named: Mapping[str, object], dtype: str) -> object:
    listed = args or [named[n] for n in ("start", "end") if n in named]
    ends = [g for g in listed if isinstance(g, (int, Size))]
    if not ends or len(ends) < len(listed):
        return Unknown("torch.arange(…)")
    start, stop = (ends[0], ends[1]) if len(ends) > 1 else (0, ends[0])
    extent: Any = stop - start if len(ends) < 3 else called("ceil_div", stop - start, ends[2])
    values = f"integers({text_of(start)}, {text_of(stop)})"
    if start == 0 and len(ends) < 3:
        # A kernel that writes to where they say counts on it that none comes twice.
        values = f"permutation({text_of(stop)})"
    elif len(ends) == 3:
        values = f"steps({text_of(start)}, {text_of(ends[2])})"
    values = "" if "float" in dtype else values
    return Tensor("", (extent,), dtype, values)


def made_like(name: str, of: Tensor, named: Mapping[str, object]) -> Tensor:
    """What `torch.NAME_like(x)` gives."""
    dtype = dtype_given(named) or of.dtype
    values = _BETWEEN if name == "rand_like" else ""
    if name in ("zeros_like", "ones_like"):
        values = _constant(dtype, int(name == "ones_like"))
    if "dtype" in named and not isinstance(named["dtype"], (Dtype, type(None))):
        dtype = None
    return replace(packed(of), name="", dtype=dtype, values=values, cleared=name == "zeros_like")
