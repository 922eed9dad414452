"""What `cp.reduce.async.bulk` leaves where something stood (PTX ISA)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernel_gate.emulated.formats import FORMATS, elementwise
from kernel_gate.emulated.pieces import Combine
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import TYPES, Array

_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def combination(site: Site, kind: str | None = None) -> Combine:
    """How values of the opcode's type, or of a tensor map's, combine. Raises `Unsupported` for `.inc` and `.dec`."""
    name = next((p for p in site.parts if p in _OPERATIONS), None)
    if name is None:
        raise site.unsupported()
    element = TYPES[kind] if kind is not None else site.type
    combine: Callable[..., Array] = _OPERATIONS[name]
    if element.name in FORMATS:
        combine = elementwise(element, combine)

    def both(before: Array, coming: Array) -> Array:
        result = np.asarray(combine(before.view(element.dtype), coming.view(element.dtype)))
        return np.ascontiguousarray(result).view(np.uint8)

    return both
