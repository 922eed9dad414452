"""Whole numbers that say where parts of something lie, or where they go."""

from __future__ import annotations

import math

import numpy as np

from kernel_gate.dtypes import Array


def offsets(
    total: int, shape: tuple[int, ...], generator: np.random.Generator, *, at_ends: bool = False
) -> Array:
    """Ascending rows from 0 to `total`, both included: where the parts of something begin, and where the last ends.

    `at_ends`: all parts are empty but one of each row.
    """
    if at_ends:
        drawn = np.sort(generator.choice((0, total), shape), axis=-1)
    else:
        drawn = np.sort(generator.integers(0, total, shape, endpoint=True), axis=-1)
    if drawn.size:
        drawn[..., 0], drawn[..., -1] = 0, total
    return drawn


def permutation(total: int, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
    """The numbers below `total` in any order; where there are more elements, none comes again before all have come."""
    rounds = -(-math.prod(shape) // max(1, total))
    drawn = [generator.permutation(max(1, total)) for _ in range(max(1, rounds))]
    return np.resize(np.concatenate(drawn), shape)
