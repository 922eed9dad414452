"""The one table of element types: names of C++ and CUDA → NumPy's names, and how many bytes each takes."""

from __future__ import annotations

import re
from collections.abc import Mapping

DTYPES: Mapping[str, str] = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "__half": "float16",
    "__nv_bfloat16": "bfloat16",
    "nv_bfloat16": "bfloat16",
    "__nv_fp8_e4m3": "float8_e4m3fn",
    "__nv_fp8_e5m2": "float8_e5m2",
    "bool": "bool",
    "char": "int8",
    "signed char": "int8",
    "int8_t": "int8",
    "unsigned char": "uint8",
    "uchar": "uint8",
    "uint8_t": "uint8",
    "short": "int16",
    "short int": "int16",
    "int16_t": "int16",
    "unsigned short": "uint16",
    "unsigned short int": "uint16",
    "ushort": "uint16",
    "uint16_t": "uint16",
    "int": "int32",
    "signed": "int32",
    "signed int": "int32",
    "int32_t": "int32",
    "unsigned": "uint32",
    "unsigned int": "uint32",
    "uint": "uint32",
    "uint32_t": "uint32",
    "long": "int64",
    "long int": "int64",
    "long long": "int64",
    "long long int": "int64",
    "longlong": "int64",
    "int64_t": "int64",
    "ptrdiff_t": "int64",
    "intptr_t": "int64",
    "long unsigned int": "uint64",
    "long long unsigned int": "uint64",
    "short unsigned int": "uint16",
    "unsigned long": "uint64",
    "unsigned long int": "uint64",
    "unsigned long long": "uint64",
    "unsigned long long int": "uint64",
    "ulong": "uint64",
    "ulonglong": "uint64",
    "uint64_t": "uint64",
    "uintptr_t": "uint64",
    "size_t": "uint64",
}
"""Types of C++ and CUDA → NumPy's names, on a 64-bit Linux host (CUDA C++ Programming Guide, "Built-in types")."""

PLAIN: Mapping[str, str] = {
    "int32": "int",
    "uint32": "unsigned int",
    "int64": "long long",
    "uint64": "unsigned long long",
    "float32": "float",
    "float64": "double",
}
"""NumPy's names → one C++ type of each, for types that have several names in C++."""

_VECTOR = re.compile(r"(u?char|u?short|u?int|u?long|u?longlong|float|double)([1-4])")
_PAIRS = {
    "half2": "float16",
    "__half2": "float16",
    "__nv_bfloat162": "bfloat16",
    "nv_bfloat162": "bfloat16",
}
_BYTES = {"bool": 1, "bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1}


def dtype_bytes(dtype: str) -> int:
    """The size of one element of NumPy's type of that name."""
    return _BYTES[dtype] if dtype in _BYTES else int(re.sub(r"\D", "", dtype)) // 8


def vector_of(name: str) -> tuple[str, int] | None:
    """The scalar's NumPy name and the number of members of a built-in vector type: `float4` → `float32`, 4."""
    if name in _PAIRS:
        return _PAIRS[name], 2
    vector = _VECTOR.fullmatch(name)
    return (DTYPES[vector[1]], int(vector[2])) if vector is not None else None
