"""The names that torch and Triton have for dtypes, and how many bytes an element takes."""

from __future__ import annotations

from collections.abc import Mapping

from kernel_gate.dtype_names import NAMES
from kernel_lineage.code.types import dtype_bytes
from kernel_lineage.workloads.triton.values import Dtype

ALIASES = {"float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32",
           "short": "int16"}  # fmt: skip
_OF_TRITON = {"int1": "bool"}


def dtype_named(name: str) -> Dtype | None:
    """`torch.long` → int64, for the dtypes that a workload knows."""
    last = name.rpartition(".")[2]
    last = _OF_TRITON.get(last, ALIASES.get(last, last))
    return Dtype(last) if last in NAMES else None


_FLOATS = {"float8_e4m3fn": (448.0, -6, 3), "float8_e4m3fnuz": (240.0, -7, 3), "float8_e5m2": (57344.0, -14, 2),
           "float8_e5m2fnuz": (57344.0, -15, 2), "float16": (65504.0, -14, 10),
           "bfloat16": (3.3895313892515355e38, -126, 7), "float32": (3.4028234663852886e38, -126, 23),
           "float64": (1.7976931348623157e308, -1022, 52)}  # fmt: skip
"""Type → its largest number, the exponent of its smallest normal one, and the bits behind its binary point."""


def limits_of(dtype: str) -> dict[str, object] | None:
    """What `torch.finfo` and `torch.iinfo` tell of a dtype; None for one whose limits are not known."""
    if dtype in _FLOATS:
        largest, exponent, behind = _FLOATS[dtype]
        tiny = {"tiny": 2.0**exponent, "smallest_normal": 2.0**exponent, "eps": 2.0**-behind}
        return {"max": largest, "min": -largest, "bits": 8 * dtype_bytes(dtype), **tiny}
    signed, bits = dtype.startswith("int"), dtype.removeprefix("u").removeprefix("int")
    if not bits.isdigit():
        return None
    most = 1 << (int(bits) - signed)
    return {"max": most - 1, "min": -most if signed else 0, "bits": int(bits)}


def dtype_given(named: Mapping[str, object]) -> str | None:
    """The `dtype=` of a call."""
    dtype = named.get("dtype")
    return dtype.name if isinstance(dtype, Dtype) else None


def promoted(one: str, other: str) -> str | None:
    """What `torch.promote_types` gives of two dtypes, one of which is a float at least, or that are the same."""
    floats = [name for name in (one, other) if name in _FLOATS]
    if one == other or not floats:
        return one if one == other else None
    if len(floats) == 1:
        return floats[0]
    widths = {name: dtype_bytes(name) for name in floats}
    return "float32" if len({*widths.values()}) == 1 else max(widths, key=widths.__getitem__)
