"""How far an output may be from what is expected, derived rather than guessed, and said in words.

Errors are relative to the expected element plus the scale of its row (root mean square of the finite expected values
along the last axis): an absolute tolerance that a constant could slip under does not exist. One step of the type's
subnormals is free. The floor is what correct rounding can cost: a few roundings of the output type, and the
random-walk growth √n·u of a sum of n terms in the type that it is accumulated in (Higham, Accuracy and Stability of
Numerical Algorithms, §4.2). Above the floor, the candidate is held to the baseline's own error on the same inputs.
Where inputs cancel, both may err far more than the floor: then √n times what an error of u in the inputs does to the
baseline's outputs (the condition of the problem) is allowed.

How many roundings: a type that code computes in (float64, float32) may be rounded to after each of a few operations;
16-bit types are mostly stored and sometimes computed in; 8-bit types are only stored, once. u is float32's 2⁻²⁴
(float64's for float64 outputs), or that of the arithmetic that the baseline's own instructions use where they are
coarser and no oracle tells how well it does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kernel_gate.arguments import Argument
from kernel_gate.dtypes import DTYPES, Array, DType
from kernel_gate.expressions import evaluate
from kernel_gate.workload import Workload

_SINGLE = 2.0**-24
_WORST_ROUNDINGS = {8: 8.0, 4: 8.0, 2: 4.0, 1: 1.0}
"""By bytes of the output type."""
_WORST_WALK = 4.0
_RMS_ROUNDINGS = 1.0
_RMS_WALK = 1.0
_ANOTHER_ORDER = 16.0
"""Far from the 2¹³ between the roundings of float32 and those of half or TF32."""
_ANOTHER_ORDER_OF_CONDITIONED = 4.0
"""Where the inputs cancel, the tolerance already has what the problem makes of a rounding: a longer way to the same
expression that loses more, such as E[x²] − E[x]², is not excused."""
_BASELINE_FACTOR = 4.0
"""A candidate that orders its sums otherwise may be unluckier than the baseline by this much, and no more."""


@dataclass(frozen=True, slots=True)
class Errors:
    """How far an output is from what is expected, where both are finite."""

    worst: float
    rms: float

    def larger(self, other: Errors | None) -> Errors:
        """The larger of each."""
        if other is None:
            return self
        return Errors(max(self.worst, other.worst), max(self.rms, other.rms))


@dataclass(frozen=True, slots=True)
class Allowed:
    """The largest errors that pass, and why."""

    worst: float
    rms: float
    why: str
    conditioned: bool = False
    """Whether what an error in the inputs does to the baseline decides."""

    def for_another_order(self) -> Allowed:
        """The limits for a program that is known to differ in the order of its sums alone."""
        times = _ANOTHER_ORDER_OF_CONDITIONED if self.conditioned else _ANOTHER_ORDER
        why = f"{self.why}; {times:g} times that, for the same expression in another order"
        return Allowed(times * self.worst, times * self.rms, why, self.conditioned)


def scale_of(expected: Array) -> Array:
    """The scale of each row of an expected float64 output, broadcastable against it; 1e-30 where a row is all zero."""
    finite = np.where(np.isfinite(expected), expected, 0.0)
    if not expected.ndim:
        return np.maximum(np.abs(finite), 1e-30)
    peak = np.max(np.abs(finite), axis=-1, keepdims=True, initial=0.0)
    safe = np.where(peak > 0, peak, 1.0)
    squares = np.sum(np.square(finite / safe), axis=-1, keepdims=True)
    rms: Array = safe * np.sqrt(squares / max(1, expected.shape[-1]))
    return np.maximum(rms, 1e-30)


def relative_errors(got: Array, expected: Array, quantum: float = 0.0) -> Array:
    """Error of each element beyond `quantum`, relative to it and the scale of its row; 0 where either is not finite."""
    both = np.isfinite(got) & np.isfinite(expected)
    with np.errstate(invalid="ignore", over="ignore"):
        difference = np.abs(np.where(both, got, 0.0) - np.where(both, expected, 0.0)) - quantum
        result: Array = np.maximum(difference, 0.0) / (
            np.abs(np.where(both, expected, 0.0)) + scale_of(expected)
        )
    return result


def reduction_depth(workload: Workload, dims: Mapping[str, int]) -> int:
    """How many terms one output may sum: as told, else the largest extent of any input."""
    depth = workload.tolerance.reduction
    if depth is not None:
        return max(1, int(evaluate(depth, dims)))
    extents = [
        extent for a in workload.args if a.kind in {"input", "inout"} for extent in workload.extents(a, dims)
    ]
    return max(extents, default=1)


_OPERATIONS = r"\b(?:add|sub|mul|fma|ex2|tanh)\.[\w.]*\b"
_COARSE_ARITHMETIC = (
    (2.0**-8, re.compile(_OPERATIONS + r"bf16(?:x2)?\s")),
    (
        2.0**-11,
        re.compile(
            _OPERATIONS
            + r"f16(?:x2)?\s|\bmma\.sync[\w.:]*\.f16\s|\bwgmma\.mma_async[\w.:]*k\d+\.f16\.|\.tf32\b"
        ),
    ),
)
"""Unit roundoff → instructions of PTX whose results have it; TF32 rounds the inputs of a product so."""


_COARSE_CONVERSIONS = (
    (2.0**-3, re.compile(r"\bcvt\.[\w.]*\.(?:e5m2|e4m3)(?:x\d)?\.")),
    (2.0**-8, re.compile(r"\bcvt\.[\w.]*\.bf16(?:x2)?\.f(?:32|64)\b")),
    (2.0**-11, re.compile(r"\bcvt\.[\w.]*\.(?:f16(?:x2)?|tf32)\.f(?:32|64)\b")),
)
"""Unit roundoff → conversions of PTX to types that have it."""


def coarsest_arithmetic(ptx: str) -> float | None:
    """The unit roundoff of the coarsest arithmetic that a program computes in; None when none is below float32's."""
    return next((unit for unit, pattern in _COARSE_ARITHMETIC if pattern.search(ptx)), None)


def coarsest_rounding(ptx: str) -> float:
    """The unit roundoff of the coarsest type that a program rounds to, in arithmetic or by a conversion."""
    patterns = (*_COARSE_CONVERSIONS, *_COARSE_ARITHMETIC)
    return max((unit for unit, pattern in patterns if pattern.search(ptx)), default=_SINGLE)


def derive(
    workload: Workload,
    argument: Argument,
    depth: int,
    baseline: Errors | None,
    condition: Errors | None = None,
    arithmetic: float | None = None,
) -> Allowed:
    """The allowed errors of one output.

    `depth` is the number of terms of the largest sum; `baseline` the baseline's own error against the oracle, if there
    is one; `condition` what one unit in the last place of the inputs does to the baseline's output, where that was
    measured; `arithmetic` the unit roundoff that the baseline computes in, if it is coarser than float32's.
    """
    dtype = DTYPES[argument.dtype]
    if not dtype.is_float:
        return Allowed(0.0, 0.0, f"{dtype.name} is exact")
    if workload.tolerance.relative is not None:
        relative = workload.tolerance.relative
        return Allowed(relative, relative, f"relative = {relative:g} in the workload")
    unit = min(dtype.epsilon, _SINGLE)
    coarse = ""
    if baseline is None and arithmetic is not None and arithmetic > unit:
        unit, coarse = (
            arithmetic,
            f" in arithmetic of unit roundoff {arithmetic:.1e}, which the baseline uses",
        )
    walk = math.sqrt(depth) * unit
    slack = 1.0 if baseline is not None else 2.0
    candidates = [
        Allowed(
            slack * (_WORST_ROUNDINGS[dtype.itemsize] * dtype.epsilon + _WORST_WALK * walk),
            slack * (_RMS_ROUNDINGS * dtype.epsilon + _RMS_WALK * walk),
            f"{dtype.name}, sums of up to {depth} terms{coarse}"
            + ("" if baseline is not None else ", twice because the baseline, itself rounded, is the oracle"),
        )
    ]
    if baseline is not None:
        worst, rms = _BASELINE_FACTOR * baseline.worst, _BASELINE_FACTOR * baseline.rms
        candidates.append(Allowed(worst, rms, f"{_BASELINE_FACTOR:g} × the baseline's own error"))
    if condition is not None:
        factor = math.sqrt(depth) * _share_of_last_bit(workload, unit, coarse=bool(coarse))
        worst, rms = factor * condition.worst, factor * condition.rms
        candidates.append(
            Allowed(
                worst, rms, f"√{depth} × what an error of {unit:.1e} in the inputs does to the baseline", True
            )
        )
    decisive = max(candidates, key=lambda a: a.worst)
    why = f"{decisive.worst:.1e}: {decisive.why}"
    return Allowed(decisive.worst, max(a.rms for a in candidates), why, decisive.conditioned)


def roundings(dtype: DType, arithmetic: float | None) -> float:
    """A few roundings of what a program computes in, relative to what it rounds: `arithmetic` where that is coarse."""
    return _WORST_ROUNDINGS[dtype.itemsize] * max(min(dtype.epsilon, _SINGLE), arithmetic or 0.0)


def _share_of_last_bit(workload: Workload, unit: float, *, coarse: bool) -> float:
    """How much of one unit in the last place of the coarsest input an error of `unit` is; at most 1, but for a
    baseline whose own arithmetic is `coarse`: a product in TF32 rounds its inputs by thousands of such units.

    What the inputs are stored in says nothing of how a kernel computes: sums of bfloat16 are kept in float32.
    """
    stored = [DTYPES[a.dtype] for a in workload.args if a.kind in {"input", "inout"}]
    roundoffs = [dtype.epsilon for dtype in stored if dtype.is_float]
    shares = [max(unit, min(e, _SINGLE)) / e for e in roundoffs]
    return min([*shares, *([] if coarse and shares else [1.0])])
