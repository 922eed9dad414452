"""Elementary functions (PTX ISA 9.0, 9.7.3).

`.rn` forms are correctly rounded. The `.approx` forms of the hardware have errors of some 2⁻²² relative; here they are
NumPy's, which are closer to the true value: compare programs under one engine, and with an oracle under a tolerance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernel_gate.emulated import rounding
from kernel_gate.emulated.formats import elementwise
from kernel_gate.emulated.instructions.floating import one_direction
from kernel_gate.emulated.instructions.integer import unary
from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import Array

_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "ex2": np.exp2,
    "lg2": np.log2,
    "rcp": lambda x: x.dtype.type(1) / x,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: (1.0 / np.sqrt(np.asarray(x, np.float64))).astype(x.dtype),
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
}
_EXACT: dict[str, Callable[[Array], rounding.Exact]] = {
    "rcp": lambda x: rounding.quotient(np.float64(1), x),  # type: ignore[arg-type]
    "sqrt": rounding.root,
}


@opcode(*_FUNCTIONS)
def elementary(site: Site) -> Step:
    """`ex2`, `lg2`, `rcp`, `sqrt`, `rsqrt`, `sin`, `cos`, `tanh`; of `rcp` and `sqrt` in every rounding."""
    exact = _EXACT.get(site.parts[0])
    rounded = None if exact is None else one_direction(site, exact)
    if rounded is not None:
        return unary(site, site.type, rounded)
    return unary(site, site.type, elementwise(site.type, _FUNCTIONS[site.parts[0]], site.has("ftz")))
