"""Zeros among the inputs of which the baseline makes NaNs that tell whole numbers: a condition on the inputs.

No order says which place a NaN takes, as in the largest of quotients of which one is 0 / 0.
"""

from __future__ import annotations

import numpy as np

from kernel_gate.cases import Case
from kernel_gate.dtypes import DTYPES, Array
from kernel_gate.inputs import make_inputs
from kernel_gate.reasons import Reason
from kernel_gate.stages.births import births_in
from kernel_gate.stages.check_state import CheckState, Stop, argument_of
from kernel_gate.stages.infinities import agrees_with
from kernel_gate.stages.judge_outputs import are_finite
from kernel_gate.stages.ranges import inside
from kernel_gate.stages.reference import Reference
from kernel_gate.variations import Variation


def needed_of_zeros(run: CheckState, case: Case, stop: Stop) -> tuple[str, str] | None:
    """The condition under which the check would not have ended at a case, and why; None: there is none.

    The zeros of one input have to do it: with other numbers in their places all outputs agree, and with the zeros those
    of floats do.
    """
    if case.variation is Variation.DECLARED or stop.code is not Reason.WRONG_VALUE:
        return None
    outputs = {a.name: DTYPES[a.dtype] for a in run.workload.args if a.kind in ("output", "inout")}
    if stop.at_fault != "candidate" or all(dtype.is_float for dtype in outputs.values()):
        return None
    inputs = make_inputs(run.workload, case)
    zeros = {name: held for name, values in inputs.items() if (held := _zeros(run, name, values)).any()}
    births = births_in(run, run.baseline, case, inputs) if zeros else None
    birth = next((one for one in births or () if one.what == "NaN"), None)
    if birth is None or not are_finite(run, inputs):
        return None

    def floats_alone(name: str, got: Array, reference: Reference) -> Array:
        dtype = outputs[name]
        return got if dtype.is_float else dtype.stored(reference.expected[name])

    if not agrees_with(run, case, inputs, floats_alone):
        return None
    without = {
        name: {**inputs, name: _with_ones(run, name, inputs[name], held)} for name, held in zeros.items()
    }
    # Of a quotient's two zeros the divisor's comes first: without the other alone, what is left is infinite.
    divided = sorted(without, key=lambda name: bool(births_in(run, run.baseline, case, without[name])))
    needed = next((name for name in divided if agrees_with(run, case, without[name])), None)
    if needed is None:
        return None
    argument = argument_of(run.workload, needed)
    why = f"{stop.reason}; in the baseline, {birth}; with other numbers for the zeros of {needed} it agrees"
    return inside(argument, DTYPES[argument.dtype].smallest_normal, False), why


def _with_ones(run: CheckState, name: str, values: Array, zeros: Array) -> Array:
    ones = DTYPES[argument_of(run.workload, name).dtype].narrow(np.ones(values.shape))
    return np.where(zeros, ones, values)


def _zeros(run: CheckState, name: str, values: Array) -> Array:
    """Where an input of floats is zero."""
    dtype = DTYPES[argument_of(run.workload, name).dtype]
    return np.asarray(dtype.wide(values) == 0) if dtype.is_float else np.zeros(values.shape, bool)
