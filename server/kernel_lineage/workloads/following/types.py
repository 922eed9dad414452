"""Types of C++ and PyTorch by what a draft asks of them: their bytes, and what their elements are called."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kernel_gate.dtypes import DTYPES as ELEMENTS
from kernel_lineage.code.types import DTYPES

SCALAR_KINDS: Mapping[str, str] = {
    "kFloat": "float", "kFloat32": "float", "kDouble": "double", "kFloat64": "double", "kHalf": "half",
    "kFloat16": "half", "kBFloat16": "__nv_bfloat16", "kInt": "int", "kInt32": "int", "kLong": "int64_t",
    "kInt64": "int64_t", "kShort": "int16_t", "kInt16": "int16_t", "kChar": "int8_t", "kInt8": "int8_t",
    "kByte": "uint8_t", "kUInt8": "uint8_t", "kBool": "bool", "Float": "float", "Double": "double", "Half": "half",
    "BFloat16": "__nv_bfloat16", "Int": "int", "Long": "int64_t", "Short": "int16_t", "Char": "int8_t",
    "Byte": "uint8_t", "Bool": "bool", "Float8_e4m3fn": "__nv_fp8_e4m3", "kFloat8_e4m3fn": "__nv_fp8_e4m3",
    "Float8_e5m2": "__nv_fp8_e5m2", "kFloat8_e5m2": "__nv_fp8_e5m2",
}  # fmt: skip
"""PyTorch's enumerators of element types → C++."""
_OF_PYTORCH = {
    "Half": "half",
    "BFloat16": "__nv_bfloat16",
    "Float8_e4m3fn": "__nv_fp8_e4m3",
    "Float8_e5m2": "__nv_fp8_e5m2",
}
_SAME = {f"{space}::{name}": kind for name, kind in _OF_PYTORCH.items() for space in ("at", "c10", "torch")}
_SAME["nv_half"] = "half"
_WHOLE = ("char", "short", "int", "long", "longlong")
_VECTOR = re.compile(rf"(float|double|u?(?:{'|'.join(_WHOLE)}))([1-4])")
_WIDER = re.compile(
    r"(?:(?:at|c10)::)?(?:acc_type|opmath_type|AccumulateType)<([^,<>]*)(?:,[^<>]*)?>(?:::type)?"
)
"""PyTorch's types to compute in: those of half and float are float."""
_SMALL = re.compile(r"(?:\w+::)*\w*vec<(?:([1-4]),\s*(\w+)|(\w+),\s*([1-4]))(?:,[^<>]*)?>")
"""Vectors of a few numbers that libraries of graphics define as templates."""
_PAIR = re.compile(r"(?:__)?(?:half2|nv_bfloat162)")


def _element(kind: str) -> str:
    """The C++ type of the elements of CUDA's own vectors: of `uchar` in `uchar4`, `unsigned char`."""
    kind = kind.replace("longlong", "long long")
    return f"unsigned {kind[1:]}" if kind[0] == "u" else kind


VECTORS: Mapping[str, str] = {
    f"{sign}{kind}{count}": _element(f"{sign}{kind}")
    for kind, signs in (("float", ("",)), ("double", ("",)), *((k, ("", "u")) for k in _WHOLE))
    for sign in signs
    for count in range(1, 5)
}
"""CUDA's own vectors, which have the fields `x`, `y`, `z` and `w` → the type of their elements."""
INTEGERS = frozenset(n for n, dtype in DTYPES.items() if dtype.startswith(("int", "uint")))
FLOATS = frozenset(n for n, dtype in DTYPES.items() if "float" in dtype)


def plain_type(name: str) -> str:
    """A type without `std::` and PyTorch's spelling of it."""
    name = name.strip().removeprefix("typename ")
    if (wider := _WIDER.fullmatch(name)) is not None:
        return "double" if wider[1].strip() == "double" else "float"
    return _SAME.get(name, name.removeprefix("::").removeprefix("std::"))


def dtype_of(name: str) -> str | None:
    """NumPy's name of a type's elements, if it is one that buffers have: of `float4` that of a float."""
    plain = plain_type(name)
    if (vector := _VECTOR.fullmatch(plain)) is not None:
        plain = _element(vector[1])
    if (small := _SMALL.fullmatch(plain)) is not None:
        plain = small[2] or small[3]
    if _PAIR.fullmatch(plain):
        plain = "half" if "half" in plain else "__nv_bfloat16"
    return DTYPES.get(plain)


def cpp_type_of(dtype: str) -> str:
    """The C++ type of elements by NumPy's name of it; "" for one that buffers do not have."""
    return next((kind for kind in SCALAR_KINDS.values() if dtype_of(kind) == dtype), "")


def bytes_of(name: str) -> int | None:
    """How many bytes a type takes; None for one that is not known."""
    name = plain_type(name)
    if name.endswith("*"):
        return 8
    if (dtype := DTYPES.get(name)) is not None:
        return ELEMENTS[dtype].itemsize
    if (vector := _VECTOR.fullmatch(name)) is not None and (dtype := dtype_of(name)) is not None:
        return ELEMENTS[dtype].itemsize * int(vector[2])
    if (small := _SMALL.fullmatch(name)) is not None:
        one = bytes_of(small[2] or small[3])
        return one * int(small[1] or small[4]) if one is not None else None
    return 4 if _PAIR.fullmatch(name) else None
