"""Inputs so large or so small that squares and products of them leave their type's range: whose doing it is.

Where the baseline itself overflows or underflows in between, or what it computes is noise, the case says
nothing. Where the candidate alone does, its inputs have to lie further inside: a condition.
"""

from __future__ import annotations

from kernel_gate.cases import Case
from kernel_gate.dtypes import DTYPES
from kernel_gate.inputs import make_inputs
from kernel_gate.reasons import Reason
from kernel_gate.stages.births import births_in
from kernel_gate.stages.check_state import CheckState, Dropped, Stop
from kernel_gate.stages.own_noise import noise_of
from kernel_gate.stages.reference import condition_of, run_baseline
from kernel_gate.value_variations import scale_of
from kernel_gate.variations import OF_RANGE, TO_LARGEST, TO_SMALLEST, Variation, is_scaled
from kernel_gate.workload import Argument

_NOISE = 2.0**-6
"""Relative error of the baseline's output, for inputs or results in between that differ in their last bit, from which
it says nothing.
"""
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
    errors = [
        *condition_of(run, case, reference).values(),
        *(n.errors for n in noise_of(run, case, reference).values()),
    ]
    if any(one.worst > _NOISE for one in errors):
        raise Dropped(Reason.WRONG_VALUE, "what the baseline computes there is noise")
    within = _within(run, case)
    after = births_in(run, run.candidate, case, inputs)
    if not after or not within:
        return None
    return within, f"{stop.reason}; {after[0]}; the baseline stays within its types' ranges"


def _within(run: CheckState, case: Case) -> str:
    """Inputs as large or as small as those that agreed."""
    large = case.variation in TO_LARGEST
    agreed = {passed.variation for passed in run.passed}
    reached = [v for v in (_UP if large else _DOWN) if v in agreed] or [Variation.DECLARED]
    arguments = [a for a in run.workload.args if a.kind in {"input", "inout"} and is_scaled(a)]
    return " and ".join(_inside(a, scale_of(reached[-1], DTYPES[a.dtype]), large) for a in arguments)


def _inside(argument: Argument, bound: float, large: bool) -> str:
    name, number = f"range({argument.name})", f"{bound:.3g}"
    if not argument.has_free_values:
        return f"{name} {'<=' if large else '>='} {number}"
    return f"-{number} <= {name} <= {number}" if large else f"({name} <= -{number} or {name} >= {number})"
