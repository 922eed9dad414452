"""The types that a dispatch of PyTorch's takes: `AT_DISPATCH_FLOATING_TYPES_AND(at::kHalf, x.scalar_type(), …)`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kernel_lineage.kernels.words import WORD
from kernel_lineage.workloads.following.types import SCALAR_KINDS

AS_PYTORCH: Mapping[str, str] = {"half": "c10::Half", "__nv_bfloat16": "c10::BFloat16"}
"""What PyTorch's dispatch calls the types that CUDA has other names for."""
_CASES = re.compile(r"\bAT_DISPATCH_CASE\s*\(\s*(?:\w+::)*(\w+)\s*,")
_SMALL = ("half", "__nv_bfloat16")
_WHOLE = ("int", "int64_t", "int16_t", "int8_t", "uint8_t")
_KINDS: Mapping[str, tuple[str, ...]] = {
    "INDEX": ("int", "int64_t"),
    "INTEGRAL": _WHOLE,
    "REDUCED_FLOATING": _SMALL,
    "FLOATING": ("float", "double"),
    "ALL_TYPES": ("float", "double", *_WHOLE),
}
"""What the name of a dispatch says of its types → these, a usual one first."""


def cases_of(text: str) -> tuple[str, ...]:
    """The types of the `AT_DISPATCH_CASE`s in a text."""
    return tuple(SCALAR_KINDS[name] for name in _CASES.findall(text) if name in SCALAR_KINDS)


def further_types(name: str, arguments: str) -> tuple[str, ...]:
    """The types that a dispatch of this name takes beside its usual ones; `arguments` are those up to the lambda."""
    named = [SCALAR_KINDS[w] for w in WORD.findall(arguments) if w in SCALAR_KINDS]
    named += ["half"] if "HALF" in name or "REDUCED" in name else []
    named += ["__nv_bfloat16"] if "BFLOAT16" in name or "REDUCED" in name else []
    return tuple(named)


def types_of_dispatch(name: str, arguments: str) -> tuple[str, ...]:
    """All types that a dispatch takes, a usual one first; none where its name does not tell them."""
    usual = next((types for part, types in _KINDS.items() if part in name), ())
    if not usual:
        return cases_of(f"{name}{arguments}")
    return tuple(dict.fromkeys((*usual, *further_types(name, arguments.partition("[")[0]))))
