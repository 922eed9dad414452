"""What torch's functions and a tensor's methods give, as far as shapes, dtypes and sizes go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kernel_gate.dtype_names import NAMES
from kernel_lineage.rewrite.drafting.triton.values import (
    Dtype,
    External,
    Size,
    Tensor,
    Unknown,
    called,
    product,
    reshaped,
    stride_of,
    text_of,
)

_ALIASES = {"float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32",
            "short": "int16"}  # fmt: skip
_SAME = frozenset(
    {"clone", "contiguous", "cpu", "cuda", "detach", "fill_", "mul_", "normal_", "pin_memory", "requires_grad_",
     "retain_grad", "uniform_", "zero_"}
)  # fmt: skip
_MADE = frozenset({"empty", "zeros", "ones", "full", "rand", "randn", "randint"})
_LIKE = frozenset({"empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like"})


def dtype_named(name: str) -> Dtype | None:
    """`torch.long` → int64, for the dtypes that a workload knows."""
    last = name.rpartition(".")[2]
    last = _ALIASES.get(last, last)
    return Dtype(last) if last in NAMES else None


def torch_function(name: str, given: Sequence[object], named: Mapping[str, object]) -> object:
    """What `torch.NAME(…)` and functions of `triton` and `math` give; `Unknown` for all others."""
    last = name.rpartition(".")[2]
    match last:
        case "cdiv" | "ceil_div" if len(given) == 2:
            return _number("ceil_div", given)
        case "next_power_of_2" if len(given) == 1:
            return _number(last, given)
        case "sqrt" if len(given) == 1 and isinstance(given[0], (int, float, Size)):
            return _power_of_half(given[0])
        case "prod" if given and isinstance(given[0], (tuple, list)):
            return product(given[0])
    if name == "torch.nn.Parameter" and given:
        return given[0]
    if name.startswith("torch.") and name.count(".") == 1:
        if last in _MADE:
            return _made(last, given, named)
        if last in _LIKE and given and isinstance(given[0], Tensor):
            return replace(given[0], name="", dtype=_dtype(named) or given[0].dtype, values="")
    return Unknown(f"{name}(…)")


def _number(name: str, given: Sequence[object]) -> object:
    unknown = next((g for g in given if isinstance(g, Unknown)), None)
    if unknown is not None:
        return unknown
    return called(name, *given) if all(isinstance(g, (int, float, Size)) for g in given) else Unknown(name)


def _power_of_half(value: int | float | Size) -> object:
    return value**0.5 if isinstance(value, (int, float)) else Size(f"({text_of(value)}) ** 0.5")


def _dtype(named: Mapping[str, object]) -> str | None:
    given = named.get("dtype")
    return given.name if isinstance(given, Dtype) else None


def _made(name: str, given: Sequence[object], named: Mapping[str, object]) -> object:
    values, dtype = "", _dtype(named)
    given = list(given)
    if name == "randint":
        low = given.pop(0) if len(given) >= 3 else named.get("low", 0)
        high = given.pop(0) if given else named.get("high")
        dtype = dtype or "int64"
        if isinstance(low, (int, Size)) and isinstance(high, (int, Size)):
            values = f"integers({text_of(low)}, {text_of(high)})"
    elif name == "full":
        given = given[:1]
    if "size" in named:
        given = [named["size"]]
    extents = given[0] if given and isinstance(given[0], (tuple, list)) else given
    told = all(isinstance(e, (int, Size)) for e in extents)
    shape = tuple(e for e in extents if isinstance(e, (int, Size))) if told else None
    return Tensor("", shape, dtype or ("float32" if "dtype" not in named else None), values)


def attribute(tensor: Tensor, name: str) -> object:
    """`x.shape` and the like; `Unknown` for what is not known of a tensor."""
    match name:
        case "shape" if tensor.shape is not None:
            return tensor.shape
        case "ndim" if tensor.shape is not None:
            return len(tensor.shape)
        case "dtype":
            return Dtype(tensor.dtype) if tensor.dtype else Unknown(f"the dtype of {tensor.name}")
        case "device":
            return External("device")
        case "is_cuda":
            return True
        case "data":
            return tensor
    return Unknown(f"`{tensor.name or 'tensor'}.{name}`")


def method(tensor: Tensor, name: str, given: Sequence[object], named: Mapping[str, object]) -> object:
    """What a method gives; `Unknown` for those that are not known, or that depend on elements."""
    shape = tensor.shape
    if name in _SAME or name in ("to", "type"):
        dtype = next((g.name for g in (*given, *named.values()) if isinstance(g, Dtype)), tensor.dtype)
        return replace(tensor, dtype=dtype)
    if name in _ALIASES or name == "bfloat16":
        return replace(tensor, dtype=_ALIASES.get(name, name))
    if name == "stride" and len(given) == 1 and isinstance(given[0], int):
        return stride_of(tensor, given[0])
    if name == "is_contiguous":
        return True
    listed = given[0] if given and isinstance(given[0], (tuple, list)) else given
    if shape is None and name in ("view", "reshape") and -1 not in listed:
        shape = ()
    if shape is None:
        return Unknown(f"the shape of {tensor.name}")
    match name:
        case "size" if not given:
            return shape
        case "size" if isinstance(given[0], int) and -len(shape) <= given[0] < len(shape):
            return shape[given[0]]
        case "numel" | "nelement":
            return product(shape)
        case "dim":
            return len(shape)
        case "stride" if not given:
            return tuple(stride_of(tensor, axis) for axis in range(len(shape)))
        case "view" | "reshape":
            found = reshaped(shape, listed)
            return found if isinstance(found, Unknown) else replace(tensor, shape=found)
        case "view_as" | "expand_as" if isinstance(given[0], Tensor):
            return replace(tensor, shape=given[0].shape)
        case "flatten" if not given:
            return replace(tensor, shape=(product(shape),))
        case "new_empty" | "new_zeros" | "new_ones":
            made = _made("empty", given, {"dtype": Dtype(tensor.dtype or ""), **named})
            return made if tensor.dtype else replace(made, dtype=None) if isinstance(made, Tensor) else made
        case "squeeze" if len(given) == 1 and isinstance(given[0], int):
            at = given[0] % len(shape)
            return replace(tensor, shape=(*shape[:at], *shape[at + 1 :]))
        case "unsqueeze" if len(given) == 1 and isinstance(given[0], int):
            at = given[0] % (len(shape) + 1)
            return replace(tensor, shape=(*shape[:at], 1, *shape[at:]))
    return Unknown(f"`{tensor.name or 'tensor'}.{name}(…)`")
