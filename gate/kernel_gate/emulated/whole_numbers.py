"""What integer instructions compute when their operands are taken as whole numbers: exactly, with no wrap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import Array
from kernel_gate.emulated.wave import Index

_LOW, _HIGH = -(1 << 31), (1 << 31) - 1


def beyond_unsigned(number: Index) -> npt.NDArray[np.bool_]:
    """Whether 32 unsigned bits cannot stand for the number.

    Below zero they do, modulo 2³²; and an operand that was read as negative may have been an unsigned one.
    """
    result: npt.NDArray[np.bool_] = (number < -(1 << 32)) | (number > 0xFFFFFFFF)
    return result


def expression_of(site: Site, values: list[int]) -> str:
    """`70000 * 70000 + 3`."""
    texts = [str(value) for value in values]
    form = {
        "add": "{} + {}",
        "sub": "{} - {}",
        "mul": "{} * {}",
        "mad": "{} * {} + {}",
        "neg": "-{}",
        "shl": "{} << {}",
    }
    return form[site.parts[0]].format(*texts)


def fits(site: Site, values: list[Array]) -> bool:
    """Whether no thread can wrap, from the least and the greatest of each operand alone."""
    ends = [(int(v), int(v)) if np.ndim(v) == 0 else (int(v.min()), int(v.max())) for v in values]
    name = site.parts[0]
    if name == "sub":
        low, high = ends[0][0] - ends[1][1], ends[0][1] - ends[1][0]
    elif name == "add":
        low, high = ends[0][0] + ends[1][0], ends[0][1] + ends[1][1]
    elif name == "neg":
        low, high = -ends[0][1], -ends[0][0]
    elif name == "shl":
        factor = 1 << min(max(ends[1][1], 0), 32)
        low, high = min(ends[0][0], 0) * factor, max(ends[0][1], 0) * factor
    else:
        products = [a * b for a in ends[0] for b in ends[1]]
        low, high = min(products), max(products)
        if name == "mad":
            low, high = low + ends[2][0], high + ends[2][1]
    return low >= _LOW and high <= _HIGH


def _quotient(a: Array, b: Array) -> Array:
    safe = np.where(b == 0, 1, b)
    result: Array = np.abs(a) // np.abs(safe) * np.sign(a) * np.sign(safe)
    return result


def _shifted_right(a: Array, k: Array) -> Array:
    # By 31 it asks for the sign of the 32 bits, not for a quotient.
    return np.where(k >= 31, -((a >> 31) & 1), a >> np.clip(k, 0, 31))


NUMBERS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "mad": lambda a, b, c: a * b + c,
    "neg": np.negative,
    "shl": lambda a, k: np.where((k >= 0) & (k < 32), a << np.clip(k, 0, 31), 0),
    "shr": _shifted_right,
    "or": lambda a, b: np.where(a & b == 0, a + b, a | b),
    "mov": lambda a: a,
    "selp": lambda a, b, chosen: np.where(chosen, a, b),
    "min": np.minimum,
    "max": np.maximum,
    "div": _quotient,
    "rem": lambda a, b: a - b * _quotient(a, b),
}
"""What a result stands for, from what its operands stand for."""
CAN_WRAP = ("add", "sub", "mul", "mad", "neg", "shl")
"""Can wrap; all others pass on."""
