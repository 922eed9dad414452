"""Infinities and NaNs among the inputs of which one program alone makes NaNs: a condition on the inputs.

A compensated sum subtracts infinity from infinity where a plain one is infinity, and so does a maximum that is carried
along a row and starts at one; one that asks whether its maximum is infinite does not, where the baseline does. Rows of
nothing else, as masks leave them, are to be expected: there a NaN for a number is as wrong as anywhere.

What the candidate multiplies by zero, as a weight by what lies around a tile, and the baseline leaves out, may be no
number either: the output has a NaN, and does not depend on it otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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

_WITH_NANS = frozenset(
    {Variation.NON_FINITE, Variation.INFINITE, Variation.NOT_A_NUMBER, Variation.NAN_AT_ENDS}
)


def needed_of_infinities(run: CheckState, case: Case, stop: Stop) -> tuple[str, str] | None:
    """The condition under which the check would not have ended at a case, and why; None: there is none.

    The infinities have to do it: with numbers in their places the case agrees, and with them all but the NaNs does.
    """
    if case.variation not in _WITH_NANS:
        return None
    if stop.at_fault != "candidate" or stop.code not in (Reason.NAN_MASK_DIFFERS, Reason.WRONG_VALUE):
        return None
    inputs = make_inputs(run.workload, case)
    if stop.code is Reason.WRONG_VALUE:
        return _needed_of_places(run, case, stop, inputs)
    if case.variation is Variation.NAN_AT_ENDS:
        return None
    numbers = {name: _with_numbers(run, name, values) for name, values in inputs.items()}
    infinite = [name for name in inputs if numbers[name] is not inputs[name]]
    if not infinite or not agrees_with(run, case, numbers):
        return None
    needed = " and ".join(f"finite({name})" for name in infinite)
    of_infinities = case.variation is not Variation.NOT_A_NUMBER
    if of_infinities and agrees_with(run, case, inputs, lambda *output: _without_nans(run, case, *output)):
        return needed, f"{stop.reason}; with numbers for infinities it agrees"
    drawn = [_drawn(run, inputs, seed) for seed in range(2)]
    outputs = [_outputs(run, case, values) for values in drawn]
    if None in outputs or not all(agrees_with(run, case, values) for values in drawn):
        return None

    def unmoved(name: str, got: Array, reference: Reference) -> Array:
        dtype = DTYPES[argument_of(run.workload, name).dtype]
        one, other = (done[name] for done in outputs if done is not None)
        expected = dtype.stored(reference.expected[name])
        nans = np.isnan(dtype.wide(got)) & ~np.isnan(dtype.wide(expected)) if dtype.is_float else False
        left = _without_nans(run, case, name, got, reference) if of_infinities else got
        return np.where(nans & (one == other), expected, left)

    if not agrees_with(run, case, inputs, unmoved):
        return None
    return needed, f"{stop.reason}; with numbers it agrees, and does not depend on them"


def _needed_of_places(
    run: CheckState, case: Case, stop: Stop, inputs: Mapping[str, Array]
) -> tuple[str, str] | None:
    """The condition for whole numbers alone that differ beside NaNs: no order says which place a NaN takes."""
    ordered = _drawn(run, inputs, 0)
    unordered = [name for name in inputs if not np.array_equal(ordered[name], inputs[name])]

    def floats_alone(name: str, got: Array, reference: Reference) -> Array:
        dtype = DTYPES[argument_of(run.workload, name).dtype]
        if dtype.is_float:
            return got
        expected = dtype.stored(reference.expected[name])
        if case.variation is not Variation.INFINITE:
            return expected
        rows = _rows_of_nans(run, reference, len(expected) if expected.ndim else 0)
        return np.where(rows.reshape(-1, *[1] * (expected.ndim - 1)), expected, got) if len(rows) else got

    if (
        not unordered
        or not agrees_with(run, case, ordered)
        or not agrees_with(run, case, inputs, floats_alone)
    ):
        return None
    needed = " and ".join(f"finite({name})" for name in unordered)
    return needed, f"{stop.reason}; with numbers for NaNs and infinities it agrees"


def _rows_of_nans(run: CheckState, reference: Reference, count: int) -> Array:
    """Which of so many rows have a NaN in an output of floats that has as many."""
    rows = np.zeros(count, bool)
    for name, values in reference.expected.items():
        dtype = DTYPES[argument_of(run.workload, name).dtype]
        wide = dtype.wide(dtype.stored(values)) if dtype.is_float else values
        if dtype.is_float and wide.ndim and len(wide) == count:
            rows |= np.isnan(wide).reshape(count, -1).any(axis=1)
    return rows


def _drawn(run: CheckState, inputs: Mapping[str, Array], seed: int) -> dict[str, Array]:
    """The inputs with normal numbers where they have none."""
    generator = np.random.default_rng(seed)
    drawn: dict[str, Array] = {}
    for name, values in inputs.items():
        dtype = DTYPES[argument_of(run.workload, name).dtype]
        numbers = dtype.narrow(generator.standard_normal(values.shape))
        drawn[name] = np.where(np.isfinite(dtype.wide(values)), values, numbers) if dtype.is_float else values
    return drawn


def _outputs(run: CheckState, case: Case, inputs: Mapping[str, Array]) -> Mapping[str, Array] | None:
    """What the candidate gives; None where it faults."""
    with execution_of(run, "candidate", case) as execution:
        done = launch(run, execution, inputs, 0)
    return None if hard_fault(done) is not None else done.outputs


def _with_numbers(run: CheckState, name: str, values: Array) -> Array:
    """The same array where everything is finite; else with ±1 for infinities, and 1 for NaNs."""
    dtype = DTYPES[argument_of(run.workload, name).dtype]
    wide = dtype.wide(values)
    other = ~np.isfinite(wide)
    if not dtype.is_float or not other.any():
        return values
    return np.where(other, dtype.narrow(np.sign(np.where(np.isnan(wide), 1.0, wide))), values)


def agrees_with(
    run: CheckState,
    case: Case,
    inputs: Mapping[str, Array],
    excused: Callable[[str, Array, Reference], Array] | None = None,
) -> bool:
    """Whether the candidate's outputs are what is expected, by what is `excused` of them by name."""
    try:
        reference = run_baseline(run, case, inputs)
        with execution_of(run, "candidate", case) as execution:
            done = launch(run, execution, inputs, 0)
        if hard_fault(done) is not None:
            return False
        outputs = {
            name: excused(name, got, reference) if excused is not None else got
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
