"""Every element of an output against what is expected; the first wrong one, named.

Outputs are looked at in blocks of rows, so that the float64 copies which comparing needs stay small whatever their
size. Expected values are float64 (or integers for exact types), or another program's output as it is stored.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np

from kernel_gate.dtypes import Array, DType, rows_of
from kernel_gate.reasons import Reason
from kernel_gate.tolerance import Allowed, Errors, relative_errors

_BLOCK_ELEMENTS = 1 << 20
_TRUNCATED_SHARE = 0.2
"""Correct rounding is never off by more than half a step; truncation is in half of all elements."""
_TOWARDS_ZERO_SHARE = 0.98
_TRUNCATED_LEAST = 16


_FEW_BLOCKS = 8
"""Fewer are looked at one after the other."""
_MOST_THREADS = max(1, min(_FEW_BLOCKS, os.cpu_count() or 1))
_Block: TypeAlias = tuple[int, Array, Array]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first wrong element of an output, and how many there are."""

    output: str
    index: tuple[int, ...]
    got: str
    expected: str
    count: int
    total: int
    note: str = ""
    code: Reason = Reason.WRONG_VALUE

    def about(self) -> dict[str, Any]:
        """The element and how many are wrong, as evidence holds them."""
        return {"output": self.output, "index": self.index, "wrong": self.count, "elements": self.total}

    def __str__(self) -> str:
        at = f"[{', '.join(map(str, self.index))}]" if self.index else ""
        note = f" ({self.note})" if self.note else ""
        return f"{self.output}{at} = {self.got}{note}, expected {self.expected}"


def _text(value: float | int | np.generic) -> str:
    if isinstance(value, (np.integer, int)):
        return str(int(value))
    number = float(value)
    return f"{number:.7g}".replace("nan", "NaN") if not float(number).is_integer() else f"{number:g}"


def _widened(array: Array, dtype: DType) -> Array:
    return dtype.wide(array) if dtype.is_float and array.dtype == dtype.storage else array


def _blocks(got: Array, expected: Array, dtype: DType) -> Iterator[_Block]:
    """The number of the first row, what was got and what is expected of it and some more, widened."""
    rows, wanted = rows_of(got), rows_of(expected)
    step = max(1, _BLOCK_ELEMENTS // max(1, rows.shape[1]))
    for start in range(0, len(rows), step):
        stop = start + step
        yield start, _widened(rows[start:stop], dtype), _widened(wanted[start:stop], dtype)


def _of_each(blocks: Iterator[_Block], function: Callable[[_Block], _T]) -> Iterator[_T]:
    """What a function gives for each block, in their order; on some threads, of which NumPy leaves each its core."""
    first = list(itertools.islice(blocks, _FEW_BLOCKS))
    if len(first) < _FEW_BLOCKS:
        yield from map(function, first)
        return
    with ThreadPoolExecutor(_MOST_THREADS) as pool:
        waiting = [pool.submit(function, block) for block in first]
        while waiting:
            yield waiting.pop(0).result()
            waiting += [pool.submit(function, block) for block in itertools.islice(blocks, 1)]


def unwritten(
    output: str, first: Array, second: Array | None, dtype: DType, expected: Array
) -> Mismatch | None:
    """The first element that holds the poison of both launches: pattern 0 before the first, 1 before the second.

    Without a second launch, one that holds the pattern of the first.
    """
    held = dtype.poisoned(first, 0)
    if second is not None:
        held &= dtype.poisoned(second, 1)
    count = int(np.count_nonzero(held))
    if not count:
        return None
    index = _index(int(np.argmax(held)), held.shape)
    got, want = (_widened(a[index][None], dtype)[0] for a in (first, expected))
    return Mismatch(
        output, index, _text(got), _text(want), count, held.size, "not written", Reason.NOT_WRITTEN
    )


def _index(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(flat, shape)) if shape else ()


def compare(output: str, got: Array, expected: Array, dtype: DType, allowed: Allowed) -> Mismatch | None:
    """The first element that is wrong. `expected` has the output's shape.

    What is NaN, +inf, −inf and finite must agree exactly, after the expected values are rounded to the output's type.
    """
    first: Mismatch | None = None
    count = 0

    def of_block(block: _Block) -> tuple[_Block, Array, Array | None]:
        return block, *_wrong(*block[1:], dtype, allowed)

    for (start, have, want), wrong, errors in _of_each(_blocks(got, expected, dtype), of_block):
        count += int(np.count_nonzero(wrong))
        if first is None and wrong.any():
            row, column = _index(int(np.argmax(wrong)), wrong.shape)
            index = _index((start + row) * have.shape[1] + column, got.shape)
            note = ""
            if errors is not None:
                note = f"relative error {errors[row, column]:.1e}, allowed {allowed.worst:.1e}"
            first = Mismatch(
                output, index, _text(have[row, column]), _text(want[row, column]), 0, got.size, note
            )
            if errors is not None and _kind_differs(have, want, dtype)[row, column]:
                first = replace(first, note="", code=Reason.NAN_MASK_DIFFERS)
    return replace(first, count=count) if first is not None else None


def _wrong(have: Array, want: Array, dtype: DType, allowed: Allowed) -> tuple[Array, Array | None]:
    """Which elements are wrong, and for floats how far all of them are off."""
    if not dtype.is_float:
        return have != want.astype(have.dtype), None
    kind_differs = _kind_differs(have, want, dtype)
    errors = relative_errors(have, want, dtype.quantum)
    return kind_differs | (errors > allowed.worst), errors


def _kind_differs(have: Array, want: Array, dtype: DType) -> Array:
    rounded = dtype.wide(dtype.narrow(want))
    same_special = (have == rounded) | (np.isnan(have) & np.isnan(rounded))
    return np.where(np.isfinite(rounded), ~np.isfinite(have), ~same_special)


def measure(got: Array, expected: Array, dtype: DType) -> Errors:
    """The worst and the root-mean-square relative error of an output."""
    worst = total = 0.0

    def of_block(block: _Block) -> Array:
        return relative_errors(*block[1:], dtype.quantum)

    for errors in _of_each(_blocks(got, expected, dtype), of_block):
        worst = max(worst, float(errors.max(initial=0.0)))
        total += float(np.sum(np.square(errors)))
    return Errors(worst, float(np.sqrt(total / max(1, got.size))))


def less_precise(output: str, errors: Errors, allowed: Allowed) -> str | None:
    """What to say when all elements pass but their errors together are those of a lower precision."""
    if errors.rms <= allowed.rms:
        return None
    return f"{output} is less precise than its type: rms error {errors.rms:.1e}, allowed {allowed.rms:.1e}"


def truncated(got: Array, expected: Array, dtype: DType) -> bool:
    """Whether an output of a type narrower than float32 was cut off instead of rounded to nearest.

    Elements that are off by more than half a step are then many, and nearly all of them too small.
    """
    if not dtype.is_float or dtype.itemsize > 2:
        return False
    far = towards_zero = considered = 0
    for _, have, want in _blocks(got, expected, dtype):
        size = np.abs(want)
        normal = np.isfinite(have) & (size >= dtype.smallest_normal) & (size <= dtype.largest)
        have, want, size = np.abs(have[normal]), want[normal], size[normal]
        _, exponent = np.frexp(size)
        half_step = np.ldexp(dtype.epsilon, exponent - 1)
        off = np.abs(have - size) > half_step
        considered += size.size
        far += int(np.count_nonzero(off))
        towards_zero += int(np.count_nonzero(off & (have < size)))
    return (
        far >= _TRUNCATED_LEAST
        and far > _TRUNCATED_SHARE * considered
        and towards_zero > _TOWARDS_ZERO_SHARE * far
    )


def notices_constants(expected: Array, dtype: DType, allowed: Allowed) -> bool:
    """Whether an output that is zero everywhere, or constant, would be found wrong."""
    if not expected.size:
        return False
    if not dtype.is_float:
        return bool(np.any(expected != expected.flat[0])) or bool(np.any(expected != 0))
    finite_sum, finite = 0.0, 0
    for _, _, want in _blocks(expected, expected, dtype):
        usable = want[np.isfinite(want)]
        finite_sum, finite = finite_sum + float(usable.sum()), finite + usable.size
    if not finite:
        return False
    mean = finite_sum / finite
    zero_seen, constant_seen = False, expected.size == 1
    for _, _, want in _blocks(expected, expected, dtype):
        for constant in (0.0, mean):
            seen = bool(
                np.any(relative_errors(np.full_like(want, constant), want, dtype.quantum) > allowed.worst)
            )
            if constant == 0.0:
                zero_seen |= seen
            else:
                constant_seen |= seen
        if zero_seen and (constant_seen or mean == 0.0):
            return True
    return zero_seen and (constant_seen or mean == 0.0)
