"""The names of element types, for those who only read workloads: NumPy, which `dtypes` needs, takes long to load."""

from __future__ import annotations

FLOAT_NAMES = ("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
EXACT_NAMES = ("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool")
NAMES = FLOAT_NAMES + EXACT_NAMES
