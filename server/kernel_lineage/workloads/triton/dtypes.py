"""The names that torch and Triton have for dtypes, and how many bytes an element takes."""

from __future__ import annotations

from collections.abc import Mapping

from kernel_gate.dtype_names import NAMES
from kernel_lineage.workloads.triton.values import Dtype

ALIASES = {"float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32",
           "short": "int16"}  # fmt: skip
_OF_TRITON = {"int1": "bool"}


def dtype_named(name: str) -> Dtype | None:
    """`torch.long` → int64, for the dtypes that a workload knows."""
    last = name.rpartition(".")[2]
    last = _OF_TRITON.get(last, ALIASES.get(last, last))
    return Dtype(last) if last in NAMES else None


def dtype_given(named: Mapping[str, object]) -> str | None:
    """The `dtype=` of a call."""
    given = named.get("dtype")
    return given.name if isinstance(given, Dtype) else None
