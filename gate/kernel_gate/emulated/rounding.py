"""Directed rounding."""

from __future__ import annotations

import numpy as np

from kernel_gate.emulated.types import Array


def round_f32(values: Array, direction: str, error: Array | None = None) -> Array:
    """float64 → float32, rounded to zero (`rz`), down (`rm`), up (`rp`) or to nearest even (`rn`).

    `error`: what is still missing in `values`, when they were rounded themselves.
    """
    values = np.asarray(values, np.float64)
    nearest = values.astype(np.float32)
    if direction == "rn":
        return nearest
    wide = nearest.astype(np.float64)
    missing = np.zeros_like(values) if error is None else np.asarray(error)
    over = (wide > values) | ((wide == values) & (missing < 0))
    under = (wide < values) | ((wide == values) & (missing > 0))
    down = np.nextafter(nearest, np.float32(-np.inf))
    up = np.nextafter(nearest, np.float32(np.inf))
    if direction == "rm":
        result = np.where(over, down, nearest)
    elif direction == "rp":
        result = np.where(under, up, nearest)
    else:
        negative = values < 0
        result = np.where(over & ~negative, down, np.where(under & negative, up, nearest))
    return np.where(np.isnan(values) | np.isinf(values), nearest, result)
