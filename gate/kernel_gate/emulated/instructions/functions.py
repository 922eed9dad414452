"""Elementary functions (PTX ISA 9.0, 9.7.3).

`.rn` forms are correctly rounded. The `.approx` forms of the hardware have errors of some 2⁻²² relative; here they are
NumPy's, which are closer to the true value: compare programs under one engine, and with an oracle under a tolerance.
Sines and cosines are of the angle in turns, cut to 32 bits, as devices since sm_70 compute them (`FMUL.RZ`, `MUFU`):
that is the error which grows with the angle (2⁻¹⁴ at 100π, PTX ISA 9.0, 9.7.3.19). Hyperbolic tangents are wrong by up
to 2⁻¹¹, as the hardware's are.
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

_TANH_ERROR = 2.0**-11
_TURNS_PER_RADIAN = np.float32(0.15915494)


def _of_turns(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A sine or cosine by turns of 32 bits that are rounded towards zero."""

    def compute(x: Any) -> Any:
        exact = np.asarray(x, np.float64) * np.float64(_TURNS_PER_RADIAN)
        turns = exact.astype(np.float32)
        turns = np.where(np.abs(turns) > np.abs(exact), np.nextafter(turns, np.float32(0)), turns)
        return function(2.0 * np.pi * turns.astype(np.float64)).astype(np.asarray(x).dtype)

    return compute


def _interpolated_tanh(x: Any) -> Any:
    """A hyperbolic tangent that is as wrong as hardware may be (PTX ISA 9.0, 9.7.3.22), and smooth and odd as there."""
    exact = np.tanh(np.asarray(x, np.float64))
    missing = _TANH_ERROR * np.sin(12.0 * np.where(np.isfinite(x), x, 0.0).astype(np.float64)) ** 2
    return (exact * (1.0 - missing * (1.0 - exact**8))).astype(np.asarray(x).dtype)


_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "ex2": np.exp2,
    "lg2": np.log2,
    "rcp": lambda x: x.dtype.type(1) / x,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: (1.0 / np.sqrt(np.asarray(x, np.float64))).astype(x.dtype),
    "sin": _of_turns(np.sin),
    "cos": _of_turns(np.cos),
    "tanh": _interpolated_tanh,
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
