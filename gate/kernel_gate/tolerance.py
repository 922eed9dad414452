"""How far an output may be from what is expected, derived rather than guessed, and said in words.

Errors are relative to the expected element plus the scale of its row (root mean square of the finite expected values
along the last axis): an absolute tolerance that a constant could slip under does not exist. The floor is what correct
rounding can cost: a few roundings of the output type, and the random-walk growth √n·u of a sum of n terms in the type
that it is accumulated in (Higham, Accuracy and Stability of Numerical Algorithms, §4.2). Above the floor, the
candidate is held to the baseline's own error on the same inputs. Where inputs cancel, both may err far more than the
floor: then √n times what one unit in the last place of the inputs does to the baseline's outputs (the condition of
the problem) is allowed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kernel_gate.dtypes import DTYPES, Array
from kernel_gate.expressions import evaluate
from kernel_gate.workload import Argument, Workload

_SINGLE = 2.0**-24
_WORST_ROUNDINGS = 8.0
_WORST_WALK = 4.0
_RMS_ROUNDINGS = 1.0
_RMS_WALK = 1.0
_BASELINE_FACTOR = 4.0
"""A candidate that orders its sums otherwise may be unluckier than the baseline by this much, and no more."""


@dataclass(frozen=True, slots=True)
class Errors:
    """How far an output is from what is expected, where both are finite."""

    worst: float
    rms: float


@dataclass(frozen=True, slots=True)
class Allowed:
    """The largest errors that pass, and why."""

    worst: float
    rms: float
    why: str


def scale_of(expected: Array) -> Array:
    """The scale of each row of an expected float64 output, broadcastable against it; 1e-30 where a row is all zero."""
    finite = np.where(np.isfinite(expected), expected, 0.0)
    if not expected.ndim:
        return np.maximum(np.abs(finite), 1e-30)
    peak = np.max(np.abs(finite), axis=-1, keepdims=True, initial=0.0)
    safe = np.where(peak > 0, peak, 1.0)
    rms: Array = safe * np.sqrt(np.mean(np.square(finite / safe), axis=-1, keepdims=True))
    return np.maximum(rms, 1e-30)


def relative_errors(got: Array, expected: Array) -> Array:
    """Error of each element relative to it and the scale of its row; 0 where either is not finite."""
    both = np.isfinite(got) & np.isfinite(expected)
    with np.errstate(invalid="ignore", over="ignore"):
        difference = np.abs(np.where(both, got, 0.0) - np.where(both, expected, 0.0))
        result: Array = difference / (np.abs(np.where(both, expected, 0.0)) + scale_of(expected))
    return result


def measure(got: Array, expected: Array) -> Errors:
    """The worst and the root-mean-square relative error."""
    errors = relative_errors(got, expected)
    if not errors.size:
        return Errors(0.0, 0.0)
    return Errors(float(errors.max()), float(np.sqrt(np.mean(np.square(errors)))))


def reduction_depth(workload: Workload, dims: Mapping[str, int]) -> int:
    """How many terms one output may sum: as told, else the largest extent of any input."""
    told = workload.tolerance.reduction
    if told is not None:
        return max(1, int(evaluate(told, dims)))
    extents = [
        extent for a in workload.args if a.kind in {"input", "inout"} for extent in workload.extents(a, dims)
    ]
    return max(extents, default=1)


def derive(
    workload: Workload,
    argument: Argument,
    dims: Mapping[str, int],
    baseline: Errors | None,
    condition: Errors | None = None,
) -> Allowed:
    """The allowed errors of one output.

    `baseline` is the baseline's own error against the oracle, if there is one; `condition` what one unit in the last
    place of the inputs does to the baseline's output, where that was measured.
    """
    dtype = DTYPES[argument.dtype]
    if not dtype.is_float:
        return Allowed(0.0, 0.0, f"{dtype.name} is exact")
    if workload.tolerance.relative is not None:
        told = workload.tolerance.relative
        return Allowed(told, told, f"relative = {told:g} in the workload")
    depth = reduction_depth(workload, dims)
    walk = math.sqrt(depth) * min(dtype.epsilon, _SINGLE)
    slack = 1.0 if baseline is not None else 2.0
    found = [
        Allowed(
            slack * (_WORST_ROUNDINGS * dtype.epsilon + _WORST_WALK * walk),
            slack * (_RMS_ROUNDINGS * dtype.epsilon + _RMS_WALK * walk),
            f"{dtype.name}, sums of up to {depth} terms"
            + ("" if baseline is not None else ", twice because the baseline, itself rounded, is the oracle"),
        )
    ]
    if baseline is not None:
        worst, rms = _BASELINE_FACTOR * baseline.worst, _BASELINE_FACTOR * baseline.rms
        found.append(Allowed(worst, rms, f"{_BASELINE_FACTOR:g} × the baseline's own error"))
    if condition is not None:
        worst, rms = math.sqrt(depth) * condition.worst, math.sqrt(depth) * condition.rms
        found.append(Allowed(worst, rms, f"√{depth} × what the last bit of the inputs does to the baseline"))
    decisive = max(found, key=lambda a: a.worst)
    why = f"{decisive.worst:.1e}: {decisive.why}"
    return Allowed(decisive.worst, max(a.rms for a in found), why)
