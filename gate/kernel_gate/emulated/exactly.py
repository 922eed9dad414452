"""What arithmetic and elementary functions of PTX give before they are rounded to their type, in a wider one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

EXACTLY: Mapping[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "fma": lambda x, y, z: x * y + z,
    "mad": lambda x, y, z: x * y + z,
    "div": np.divide,
    "sqrt": np.sqrt,
    "rcp": lambda x: 1.0 / x,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "ex2": np.exp2,
    "lg2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "cvt": np.positive,
}
"""By the first part of an opcode. What equals it was not rounded, such as a power of two by a whole number."""
