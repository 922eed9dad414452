"""Infinities among the inputs of which one program alone makes NaNs: a condition on the inputs.

A compensated sum subtracts infinity from infinity where a plain one is infinity, and so does a maximum that is carried
along a row and starts at one; one that asks whether its maximum is infinite does not, where the baseline does. Rows of
nothing else, as masks leave them, are to be expected: there a NaN for a number is as wrong as anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from kernel_gate.cases import Case
from kernel_gate.dtypes import DTYPES, Array
from kernel_gate.inputs import make_inputs
from kernel_gate.reasons import Reason
from kernel_gate.stages.check_state import (
    CheckState,
    Dropped,
    Stop,
    argument_of,
    execution_of,
    hard_fault,
    launch,
)
from kernel_gate.stages.judge_outputs import compare_outputs
from kernel_gate.stages.reference import Reference, run_baseline
from kernel_gate.variations import Variation


def needed_of_infinities(run: CheckState, case: Case, stop: Stop) -> tuple[str, str] | None:
    """The condition under which the check would not have ended at a case, and why; None: there is none.

    The infinities have to do it: with numbers in their places the case agrees, and with them all but the NaNs does.
    """
    if case.variation not in {Variation.NON_FINITE, Variation.INFINITE}:
        return None
    if stop.at_fault != "candidate" or stop.code is not Reason.NAN_MASK_DIFFERS:
        return None
    inputs = make_inputs(run.workload, case)
    numbers = {name: _with_numbers(run, name, values) for name, values in inputs.items()}
    infinite = [name for name in inputs if numbers[name] is not inputs[name]]
    if not infinite or not _agrees(run, case, numbers) or not _agrees(run, case, inputs, excused=True):
        return None
    needed = " and ".join(f"finite({name})" for name in infinite)
    return needed, f"{stop.reason}; with numbers for infinities it agrees"


def _with_numbers(run: CheckState, name: str, values: Array) -> Array:
    """The same array where nothing is infinite; else with ±1 for infinities."""
    dtype = DTYPES[argument_of(run.workload, name).dtype]
    wide = dtype.wide(values)
    infinite = np.isinf(wide)
    if not dtype.is_float or not infinite.any():
        return values
    return np.where(infinite, dtype.narrow(np.sign(np.where(infinite, wide, 0.0))), values)


def _agrees(run: CheckState, case: Case, inputs: Mapping[str, Array], *, excused: bool = False) -> bool:
    """Whether the candidate's outputs are what is expected; `excused`: apart from NaNs that infinities explain."""
    try:
        reference = run_baseline(run, case, inputs)
        with execution_of(run, "candidate", case) as execution:
            done = launch(run, execution, inputs, 0)
        if hard_fault(done) is not None:
            return False
        outputs = {
            name: _without_nans(run, case, name, got, reference) if excused else got
            for name, got in done.outputs.items()
        }
        compare_outputs(run, case, replace(done, outputs=outputs), reference)
    except (Stop, Dropped):
        return False
    return True


def _without_nans(run: CheckState, case: Case, name: str, got: Array, reference: Reference) -> Array:
    """The output with what is expected where only one has a NaN: the candidate for an infinity, or beside a single
    infinity for a number; or the baseline for an infinity. A number in the place of its NaN is wrong.
    """
    dtype = DTYPES[argument_of(run.workload, name).dtype]
    if not dtype.is_float:
        return got
    want = reference.expected[name]
    expected = dtype.stored(want)
    wide = dtype.wide(expected)
    have, wanted = dtype.wide(got), np.isnan(wide)
    nans = np.isnan(have) & ~wanted
    if case.variation is Variation.INFINITE:
        nans &= np.isinf(wide)
    return np.where(nans | (np.isinf(have) & wanted), expected, got)
