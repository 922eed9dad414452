"""Values at the constants of the code, beside them, above and below them: what a case that names constants draws."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernel_gate.arguments import Argument
from kernel_gate.cases import Case
from kernel_gate.dtypes import DTYPES, Array, DType
from kernel_gate.limited_values import Limits
from kernel_gate.variations import Variation

_TURNS = (Variation.AROUND, Variation.ABOVE, Variation.BELOW)


def put_around(
    argument: Argument, values: Array, case: Case, limits: Limits | None, generator: np.random.Generator
) -> None:
    """Some elements at the case's constants and beside them, all above them, or all below them; of rows in turn each
    of the three, where the case does not say which.
    """
    dtype, constants = DTYPES[argument.dtype], case.around
    rows = values.reshape(-1, values.shape[-1] if values.ndim else 1)
    if case.variation is Variation.CROWDED:
        if argument.values_spec[0] == "integers":
            _crowd(values, dtype, int(constants[0]), generator)
        return
    if not dtype.is_float or not argument.has_free_values:
        if inside := _constants_within(values, constants, limits, dtype):
            chosen = generator.random(rows.shape) < 0.5
            rows[chosen] = generator.choice(inside, int(chosen.sum()))
        return
    near = np.array([v for c in constants for v in (*_neighbours(c, dtype), 1.5 * c + 1, c - 1, c / 2, -c)])
    near = near[np.abs(near) <= dtype.largest]
    if not len(near):
        return
    first = int(generator.integers(3)) if len(rows) >= len(_TURNS) else 0
    with np.errstate(over="ignore"):
        for number, row in enumerate(rows):
            spread = np.abs(generator.standard_normal(len(row)))
            turn = _TURNS[(number + first) % 3] if case.variation is Variation.AROUND else case.variation
            match turn:
                case Variation.AROUND:
                    chosen = generator.random(len(row)) < 0.3
                    row[chosen] = dtype.narrow(generator.choice(near, int(chosen.sum())))
                    exact = dtype.narrow(generator.permutation(np.array(constants, float)))[: len(row)]
                    row[generator.permutation(len(row))[: len(exact)]] = exact
                case Variation.ABOVE:
                    row[:] = dtype.narrow(max(c + abs(c) / 4 for c in constants) + spread)
                case _:
                    row[:] = dtype.narrow(min(c - abs(c) / 4 for c in constants) - spread)


_KEYS = 1 << 17
"""Keys of which those with the least products are taken."""


def _crowd(values: Array, dtype: DType, factor: int, generator: np.random.Generator) -> None:
    """Keys that a table places by the upper bits of a product all come to one place; many come more than once."""
    least, most = int(values.min()), int(values.max())
    drawn = generator.integers(least, most, _KEYS, np.int64 if most < 2**63 else np.uint64, endpoint=True)
    keys = np.unique(drawn)
    products = keys.astype(np.uint32) * np.uint32(factor % (1 << 32))
    nearest = keys[np.argsort(products)][: -(-values.size // 2)]
    values[...] = dtype.narrow(generator.choice(nearest, values.shape))


_OF_ROWS = 5
_BESIDE = 2.0**-8
"""Relative: nearer to a constant the order of a sum may decide on which side of it a row lies."""


def put_rows_at(values: Array, dtype: DType, case: Case) -> None:
    """Rows with one element of a constant of the case and nothing else; then rows whose sum, mean, sum of squares and
    mean square lie beside it. Each row takes the next of these, and each case goes on where the last ended.
    """
    if not dtype.is_float or not values.size:
        return
    rows = values.reshape(-1, values.shape[-1] if values.ndim else 1)
    for number, row in enumerate(rows, case.seed * len(rows)):
        constant = case.around[number // _OF_ROWS % len(case.around)]
        beside = constant * (1.0 + _BESIDE * (-1.0) ** number)
        root = abs(beside) ** 0.5
        wanted = (constant, beside / len(row), beside, root, root)[number % _OF_ROWS]
        alone = number % _OF_ROWS in (0, 3)
        row[:] = dtype.narrow(np.zeros(())) if alone else dtype.narrow(np.array(wanted))
        row[number % len(row)] = dtype.narrow(np.array(wanted))


def _neighbours(constant: float, dtype: DType) -> tuple[float, ...]:
    """A constant and what is next to it in 32 bits and in the type."""
    step = float(last_place(dtype, constant))
    with np.errstate(over="ignore"):  # a constant of 64 bits
        single = np.float32(constant)
        next_ones = [float(np.nextafter(single, np.float32(end))) for end in (np.inf, -np.inf)]
    return constant, *next_ones, constant + step, constant - step


def _constants_within(
    values: Array, constants: tuple[float, ...], limits: Limits | None, dtype: DType
) -> list[Any]:
    """Stored values at constants and beside them that an input with limits may have."""
    if dtype.is_float and limits is not None:
        near = np.array([v for c in constants for v in _neighbours(c, dtype)])
        return list(dtype.narrow(near[(near >= limits[0]) & (near <= limits[1])]))
    if dtype.is_float:
        return []
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    wraps = (0, 1 << 8 * dtype.itemsize) if dtype.storage.kind == "u" else (0,)
    whole = (int(c) + d + wrap for c in constants if c == int(c) for d in (-1, 0, 1) for wrap in wraps)
    return [number for number in whole if low <= number <= high]


def last_place(dtype: DType, values: Array | float) -> Array:
    """One or two units in the last place of each value in the type, in the values' own unit."""
    steps: Array = np.maximum(2.0 * dtype.epsilon * np.abs(values), dtype.quantum)
    return steps
