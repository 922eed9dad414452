"""Inputs so large or so small that squares and products of them leave their type's range: whose doing it is.

Where the baseline itself overflows or underflows in between, or what it computes is noise, the case says
nothing. Where the candidate alone does, its inputs have to lie further inside: a condition. The same goes for a
candidate that takes subnormal inputs for zero.
"""

from __future__ import annotations

import numpy as np

from kernel_gate.arguments import Argument
from kernel_gate.cases import Case
from kernel_gate.dtype_names import FLOAT_NAMES
from kernel_gate.dtypes import DTYPES, Array, DType
from kernel_gate.inputs import make_inputs
from kernel_gate.reasons import Reason
from kernel_gate.stages.births import births_in
from kernel_gate.stages.check_state import CheckState, Dropped, Stop, argument_of
from kernel_gate.stages.own_noise import noise_of
from kernel_gate.stages.reference import Reference, condition_of, run_baseline
from kernel_gate.stages.unordered_sums import adds_in_any_order
from kernel_gate.value_variations import scale_of
from kernel_gate.variations import OF_RANGE, TO_LARGEST, TO_SMALLEST, Variation, is_scaled

_NOISE = 2.0**-6
"""Relative error of the baseline's output, for inputs or results in between that differ in their last bit, from which
it says nothing.
"""
_FEW_STEPS = 16
"""Fewer of the smallest steps than this another order of products may lose."""
_UP = (Variation.LARGE, Variation.ALL_LARGE, *TO_LARGEST)
_DOWN = (Variation.SMALL, Variation.ALL_TINY, *TO_SMALLEST)


def needed_of_range(run: CheckState, case: Case, stop: Stop) -> tuple[str, str] | None:
    """The condition under which the check would not have ended at a case, and why; None: there is none.

    Raises `Dropped` where the baseline does no better, or nothing can tell.
    """
    if case.variation not in OF_RANGE or stop.at_fault != "candidate":
        return None
    inputs = make_inputs(run.workload, case)
    before = births_in(run, run.baseline, case, inputs)
    if before is None:
        raise Dropped(stop.code, "nothing tells whether the baseline leaves its types' ranges")
    if before:
        raise Dropped(stop.code, f"the baseline leaves its types' ranges as well: {before[0]}")
    reference = run_baseline(run, case, inputs)
    if adds_in_any_order(run.baseline.images.values()) and not _is_finite(run, reference):
        raise Dropped(stop.code, "the baseline's sums leave their type's range in some orders")
    errors = [
        *condition_of(run, case, reference).values(),
        *(n.errors for n in noise_of(run, case, reference.inputs).values()),
    ]
    if any(one.worst > _NOISE for one in errors):
        raise Dropped(Reason.WRONG_VALUE, "what the baseline computes there is noise")
    within = _within(run, case)
    after = births_in(run, run.candidate, case, inputs)
    if not after or not within:
        return None
    return within, f"{stop.reason}; {after[0]}; the baseline stays within its types' ranges"


def _is_finite(run: CheckState, reference: Reference) -> bool:
    outputs = ((DTYPES[argument_of(run.workload, name).dtype], a) for name, a in reference.expected.items())
    return all(np.isfinite(a if a.dtype != d.storage else d.wide(a)).all() for d, a in outputs if d.is_float)


def needed_of_flushing(
    run: CheckState, case: Case, name: str, got: Array, reference: Reference
) -> tuple[str, str] | None:
    """The condition for a candidate whose output is zero wherever the baseline's is subnormal, as its inputs are."""
    dtype = DTYPES[argument_of(run.workload, name).dtype]
    if case.variation is not Variation.SUBNORMAL or not dtype.is_float:
        return None
    want = reference.expected[name]
    size = np.abs(dtype.wide(dtype.stored(want)))
    subnormal = (size >= _FEW_STEPS * dtype.quantum) & (size < dtype.smallest_normal)
    if not subnormal.any() or dtype.wide(got)[subnormal].any():
        return None
    inputs = [a for a in run.workload.args if a.name in reference.inputs and a.dtype in FLOAT_NAMES]
    small = [a for a in inputs if _has_subnormal(reference.inputs[a.name], DTYPES[a.dtype])]
    needed = " and ".join(inside(a, DTYPES[a.dtype].smallest_normal, False) for a in small)
    return (
        needed,
        f"{name} is zero where the baseline's is subnormal: {int(subnormal.sum())} elements; {case}",
    )


def _has_subnormal(values: Array, dtype: DType) -> bool:
    size = np.abs(dtype.wide(values))
    return bool(((size > 0) & (size < dtype.smallest_normal)).any())


def _within(run: CheckState, case: Case) -> str:
    """Inputs as large or as small as those that agreed."""
    large = case.variation in TO_LARGEST
    agreed = {passed.variation for passed in run.passed}
    reached = [v for v in (_UP if large else _DOWN) if v in agreed] or [Variation.DECLARED]
    arguments = [a for a in run.workload.args if a.kind in {"input", "inout"} and is_scaled(a)]
    return " and ".join(inside(a, scale_of(reached[-1], DTYPES[a.dtype]), large) for a in arguments)


def inside(argument: Argument, bound: float, large: bool) -> str:
    """The condition that an input is no larger than a bound, or no smaller, by its size."""
    name, number = f"range({argument.name})", f"{bound:.3g}"
    if not argument.has_free_values:
        return f"{name} {'<=' if large else '>='} {number}"
    return f"-{number} <= {name} <= {number}" if large else f"({name} <= -{number} or {name} >= {number})"
