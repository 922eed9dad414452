"""A candidate's outputs against the reference, and against its own of other launches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace

import numpy as np

from kernel_gate.cases import Case
from kernel_gate.compare import (
    Mismatch,
    compare,
    less_precise,
    measure,
    notices_constants,
    truncated,
    unwritten,
)
from kernel_gate.devices.base import Birth
from kernel_gate.dtypes import DTYPES, Array, DType
from kernel_gate.execution import Run
from kernel_gate.reasons import FAULT_REASONS, Reason
from kernel_gate.stages.births import birth_of
from kernel_gate.stages.check_state import (
    REPETITIONS,
    CheckState,
    Dropped,
    Stop,
    argument_of,
    execution_of,
    hard_fault,
    launch_baseline,
    promise_hint,
    say,
    unusable_baseline,
)
from kernel_gate.stages.expressions import reordered
from kernel_gate.stages.own_noise import (
    is_coarser,
    noise_of,
    rounds_in_between,
    with_noise,
    with_noise_beside_exact,
)
from kernel_gate.stages.ranges import needed_of_flushing
from kernel_gate.stages.reference import Reference, condition_of
from kernel_gate.stages.unordered_sums import adds_in_any_order
from kernel_gate.tolerance import Allowed, Errors, derive, roundings, scale_of
from kernel_gate.variations import OF_CONSTANTS, OF_RANGE, Variation

_DIFFERS = frozenset({Reason.WRONG_VALUE, Reason.NAN_MASK_DIFFERS, Reason.LESS_PRECISE})


def wrong_element(run: CheckState, case: Case, mismatch: Mismatch, birth: Birth | None = None) -> Stop:
    """How the check ends at a wrong element; `birth`: what made a NaN or an infinity of it."""
    births = {} if birth is None else {"births": [asdict(birth)]}
    message = str(mismatch) if birth is None else f"{mismatch}; {birth}"
    reason = f"{message}; {case}; {run.candidate.label}{promise_hint(case)}"
    return Stop("candidate", mismatch.code, reason, {**mismatch.about(), **births})


def require_written(run: CheckState, case: Case, first: Run, second: Run, reference: Reference) -> None:
    """Raise `Stop` for an element that held its poison, whatever it was, after both launches."""
    if hard_fault(second) is not None:
        return
    for name, got in first.outputs.items():
        argument = argument_of(run.workload, name)
        if argument.kind != "output":
            continue
        want, dtype = reference.expected[name], DTYPES[argument.dtype]
        if missed := unwritten(name, got, second.outputs[name], dtype, want):
            raise wrong_element(run, case, missed)


def _where_finite(
    run: CheckState, case: Case, name: str, got: Array, reference: Reference, dtype: DType
) -> Array:
    """The output as it is where the baseline's is finite, and the baseline's elsewhere; a condition where they differ.

    Finite inputs that are larger than declared overflow what the baseline adds up in: a candidate that adds in another
    order, or in more bits, overflows elsewhere or not at all.
    """
    want = reference.expected[name]
    expected = dtype.stored(want)
    wide = dtype.wide(expected)
    overflows = ~np.isfinite(wide)
    if not overflows.any() or not are_finite(run, reference.inputs):
        return got
    own = dtype.wide(got)
    differs = overflows & ~((own == wide) | (np.isnan(own) & np.isnan(wide)))
    if not differs.any():
        return got
    run.conditions.setdefault(f"finite({name})", f"{int(differs.sum())} elements overflow otherwise; {case}")
    return np.where(overflows, expected, got)


def are_finite(run: CheckState, inputs: Mapping[str, Array]) -> bool:
    """Whether the float inputs hold numbers alone."""
    dtypes = {name: DTYPES[argument_of(run.workload, name).dtype] for name in inputs}
    return all(bool(np.isfinite(dtypes[n].wide(a)).all()) for n, a in inputs.items() if dtypes[n].is_float)


def _largest(run: CheckState, inputs: Mapping[str, Array]) -> float:
    """The largest finite magnitude of the float inputs."""
    dtypes = {name: DTYPES[argument_of(run.workload, name).dtype] for name in inputs}
    wide = (np.abs(dtypes[n].wide(a)) for n, a in inputs.items() if dtypes[n].is_float)
    return max((float(v[np.isfinite(v)].max(initial=0.0)) for v in wide), default=0.0)


def _where_cancelled(got: Array, want: Array, dtype: DType, noise: float) -> Array:
    """The output with what is expected in rows that cancel: where `noise`, the rounding of the inputs, covers all of
    the row and the difference. `x * s - m * s` of a row of one element is such noise, and `(x - m) * s` is zero.
    """
    expected = dtype.stored(want)
    wide, own = dtype.wide(expected), dtype.wide(got)
    with np.errstate(invalid="ignore", over="ignore"):
        covered = (scale_of(wide) <= noise) & (np.abs(own - wide) <= noise)
    return np.where(covered, expected, got) if covered.any() else got


def _fits(name: str, got: Array, want: Array, dtype: DType, allowed: Allowed) -> bool:
    agrees_there = compare(name, got, want, dtype, allowed) is None
    return agrees_there and not less_precise(name, measure(got, want, dtype), allowed)


def _wide(expected: Array, dtype: DType) -> Array:
    """An oracle's float64 as they are, a baseline's stored elements as float64."""
    return dtype.wide(expected) if expected.dtype == dtype.storage else expected


def compare_outputs(run: CheckState, case: Case, done: Run, reference: Reference) -> None:
    """Raise `Stop` at the first wrong element."""
    depth = 1 if run.strict else run.depths.of(case.dims)
    for name, got in done.outputs.items():
        argument = argument_of(run.workload, name)
        dtype = _with_usual_roundings(run, case, name, DTYPES[argument.dtype])
        want, own = reference.expected[name], reference.errors[name]
        if dtype.is_float and case.variation not in {Variation.DECLARED, *OF_RANGE}:
            got = _where_finite(run, case, name, got, reference, dtype)
        errors = measure(got, want, dtype) if dtype.is_float else Errors(0.0, 0.0)
        allowed = derive(run.workload, argument, depth, own, None, run.arithmetic)
        wrong = compare(name, got, want, dtype, allowed)
        imprecise = less_precise(name, errors, allowed)
        if dtype.is_float and (wrong or imprecise) and not is_coarser(run):
            condition = condition_of(run, case, reference).get(name)
            allowed = derive(run.workload, argument, depth, own, condition, run.arithmetic)
            wrong = compare(name, got, want, dtype, allowed)
            imprecise = less_precise(name, errors, allowed)
        if dtype.is_float and (wrong or imprecise) and not run.strict and not is_coarser(run):
            wider = allowed.for_another_order()
            rounding = derive(run.workload, argument, 1, None, None, run.arithmetic).for_another_order().worst
            # Beside inputs near the end of their range any output is noise.
            noise = 0.0 if case.variation in OF_RANGE else rounding * _largest(run, reference.inputs)
            near = _where_cancelled(got, want, dtype, noise)
            fits = _fits(name, near, want, dtype, wider)
            if not fits:
                near = with_noise_beside_exact(run, case, name, near, reference)
                fits = _fits(name, near, want, dtype, wider)
            if fits and reordered(run, case, reference.inputs):
                wrong, imprecise, allowed = None, None, wider
        if dtype.is_float and (wrong or imprecise) and (own_noise := noise_of(run, case, reference.inputs)):
            allowed = with_noise(allowed, own_noise[name], _wide(want, dtype), run.usual.get(name, 0.0))
            got = own_noise[name].without_part(got, want, dtype)
            errors = measure(got, want, dtype)
            wrong = compare(name, got, want, dtype, allowed)
            imprecise = less_precise(name, errors, allowed)
        run.tolerances.setdefault(name, allowed.why)
        if wrong:
            raise wrong_element(run, case, wrong, birth_of(run, case, wrong, reference.inputs))
        if case.variation is Variation.LONE:
            # Of outputs that are one value, the rounding of that one says nothing of how well others are rounded.
            continue
        if imprecise:
            reason = f"{imprecise} ({allowed.why}); {case}; {run.candidate.label}"
            raise Stop("candidate", Reason.LESS_PRECISE, reason)
        if name not in reference.truncates and truncated(got, want, dtype):
            reason = f"{name} is cut off instead of rounded to the nearest {dtype.name}"
            raise Stop("candidate", Reason.LESS_PRECISE, f"{reason}; {case}; {run.candidate.label}")
        if case.variation is Variation.DECLARED and (
            note := rounds_in_between(run, case, name, got, reference)
        ):
            raise Stop("candidate", Reason.LESS_PRECISE, f"{note}; {case}; {run.candidate.label}")
        if needed := needed_of_flushing(run, case, name, got, reference):
            run.conditions.setdefault(*needed)
        if dtype.is_float and case.variation is Variation.DECLARED:
            scale = float(np.median(scale_of(_wide(want, dtype))))
            run.usual[name] = max(scale, run.usual.get(name, 0.0))
        if name not in run.noticed and notices_constants(want, dtype, allowed):
            run.noticed.add(name)
        if argument.kind == "output" or not np.array_equal(
            reference.inputs[name], want, equal_nan=dtype.is_float
        ):
            run.changed.add(name)
        if dtype.is_float:
            worst, base = run.errors.get(name, (0.0, 0.0))
            run.errors[name] = (max(worst, errors.worst), max(base, own.worst if own else 0.0))


def _with_usual_roundings(run: CheckState, case: Case, name: str, dtype: DType) -> DType:
    """The type of an output; where the code's constants are tried, a few roundings at its usual scale are free.

    There a whole row may lie where the baseline saturates: what its own steps round off is all that is left of it.
    """
    if case.variation not in OF_CONSTANTS or not dtype.is_float:
        return dtype
    free = roundings(dtype, run.arithmetic) * run.usual.get(name, 0.0)
    return replace(dtype, quantum=max(dtype.quantum, free))


def agrees(run: CheckState, case: Case, name: str, got: Array, reference: Reference) -> bool:
    """Whether an output, of whichever program, is what is expected within the tolerance."""
    argument = argument_of(run.workload, name)
    depth = run.depths.of(case.dims)
    allowed = derive(run.workload, argument, depth, reference.errors[name], None, run.arithmetic)
    return compare(name, got, reference.expected[name], DTYPES[argument.dtype], allowed) is None


Difference = tuple[str, tuple[int, ...], Array, Array]
"""Output, index, and what two launches gave."""


def first_difference(first: Run, second: Run) -> Difference | None:
    """The first element in which the outputs of two launches are not the same bits."""
    for name, got in first.outputs.items():
        width = f"u{got.dtype.itemsize}"
        differs = got.view(width) != second.outputs[name].view(width)
        if differs.any():
            index = tuple(int(i) for i in np.unravel_index(int(np.argmax(differs)), got.shape))
            return name, index, got, second.outputs[name]
    return None


def require_repeated(run: CheckState, case: Case, first: Run, again: Run, reference: Reference) -> None:
    """The same inputs must give the same bytes, in whatever order blocks run.

    Atomics and locks may add in another order, and a candidate may vary where the baseline does: within the tolerance.
    """
    if fault := hard_fault(again):
        reason = f"only on a repeated launch: {say(fault, run.candidate.label, case)}"
        about = {"fault": fault.kind, **fault.where()}
        raise Stop("candidate", FAULT_REASONS[fault.kind], reason, about)
    difference = first_difference(first, again)
    if difference is None:
        return
    if may_vary(run):
        why = "as sums by atomics and under locks may"
    elif _baseline_varies(run, case, reference):
        why = "as the baseline's do"
    else:
        raise Stop(
            "candidate", Reason.NOT_REPEATABLE, unrepeatable("the same inputs gave", difference, run, case)
        )
    compare_outputs(run, case, again, reference)
    run.notes.append(f"outputs differ from launch to launch within the tolerance, {why}")


def unless_order_decides(run: CheckState, case: Case, reference: Reference, stop: Stop) -> Stop | Dropped:
    """What is wrong; the baseline where it, the only reference, differs from itself as well when blocks run in another
    order: as where callers let several blocks write one element.
    """
    if stop.at_fault != "candidate" or stop.code not in _DIFFERS or run.oracle is not None:
        return stop
    with execution_of(run, "baseline", case) as execution:
        others = [
            launch_baseline(run, case, execution, reference.inputs, *other) for other in REPETITIONS[1:]
        ]
    for other in filter(lambda done: hard_fault(done) is None, others):
        try:
            compare_outputs(run, case, other, reference)
        except Stop as own:
            why = f"it gives other values when its blocks run in another order: {own.reason}"
            return unusable_baseline(case, own.code, why, own.details)
    return stop


def may_vary(run: CheckState) -> bool:
    """Whether the candidate adds floats in an order that nothing fixes: by atomics, or under a lock."""
    return adds_in_any_order(run.candidate.images.values())


def _baseline_varies(run: CheckState, case: Case, reference: Reference) -> bool:
    with execution_of(run, "baseline", case) as execution:
        first, *others = [
            launch_baseline(run, case, execution, reference.inputs, *other) for other in REPETITIONS
        ]
    return any(first_difference(first, other) is not None for other in others)


def unrepeatable(what: str, difference: Difference, run: CheckState, case: Case) -> str:
    """What to say of two launches that should have given the same."""
    name, index, before, after = difference
    dtype = DTYPES[argument_of(run.workload, name).dtype]
    a, b = (dtype.wide(held[index][None])[0] for held in (before, after))
    place = f"{name}[{', '.join(map(str, index))}]"
    return f"{what} {place} = {a:.7g} and then {b:.7g}; {case}; {run.candidate.label}"
