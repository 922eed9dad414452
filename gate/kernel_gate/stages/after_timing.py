"""What is wrong with a candidate that has been timed: one more launch, the guards, and new data at the same addresses.

What a program has learned while it was timed, of addresses or of how often it ran, must not be its answer.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kernel_gate.dtypes import DTYPES
from kernel_gate.inputs import other_inputs, thinned
from kernel_gate.stages.timed_outputs import Outputs, difference, difference_of
from kernel_gate.stages.timed_programs import TimedPrograms
from kernel_gate.timing.sampling import BASELINE, CANDIDATE, Launch

_FIRST = Launch(CANDIDATE, 0, 0)
_NARROW = 2
"""Bytes of an integer that is data, and no index."""
_FEW_TERMS = 512
"""Few enough for one of them to show in their sum."""


def wrong_after_timing(timed: TimedPrograms) -> str:
    """What is wrong, with the case; "" when nothing is. The inputs are others afterwards. Raises `LaunchFailed`."""
    wrong = (
        timed.seen_wrong
        or _once_more(timed)
        or _beside_the_buffers(timed)
        or _with_new_data(timed)
        or _with_few_terms(timed)
        or _with_equal_integers(timed)
    )
    return f"{wrong}; {timed.case}; {timed.labels[CANDIDATE]}" if wrong else ""


def _once_more(timed: TimedPrograms) -> str:
    timed.launch(_FIRST)
    return timed.wrong_outputs(_FIRST)


def _beside_the_buffers(timed: TimedPrograms) -> str:
    for number in range(timed.buffer_sets):
        faults = timed.executions[Launch(CANDIDATE, 0, number)].damage() + timed.changed_inputs(number)
        if faults:
            return str(faults[0].message)
    return ""


def _with_new_data(timed: TimedPrograms) -> str:
    """Each copy of the candidate, on each set of buffers; it comes first, so that nothing of the baseline's is left."""
    timed.replace_inputs(other_inputs(timed.workload, timed.case, timed.inputs))
    own, expected = _both_outputs(timed)
    leeway = timed.leeway()
    wrong = difference(timed.workload, timed.case, own, expected, leeway)
    for key in timed.executions:
        if wrong:
            break
        if key.program == CANDIDATE and key != _FIRST:
            timed.launch(key)
            buffers = timed.executions[key].buffers
            wrong = difference_of(timed.workload, timed.case, buffers, own, expected, leeway)
    return f"with new data at the same addresses, {wrong}" if wrong else ""


def _with_few_terms(timed: TimedPrograms) -> str:
    """Where only another order of long sums excuses a difference: the same sums with few terms that are not zero.

    A baseline that adds millions of small terms to one large sum loses many of them, and a better order differs by
    more than any sound tolerance. With few terms both are exact enough to tell a term that is left out. Terms that are
    products of two or three elements that are thinned out are fewer still: then more is left of each input.
    """
    depth = timed.depth()
    if not timed.stretched or depth <= _FEW_TERMS:
        return ""
    whole = timed.inputs
    for factors in (1, 2, 3):
        share = (_FEW_TERMS / depth) ** (1 / factors)
        timed.replace_inputs(thinned(timed.workload, timed.case, whole, share))
        own, expected = _both_outputs(timed)
        if any(held.read().any() for held in expected.values()):
            break
    leeway = replace(timed.leeway(), depth=2 * _FEW_TERMS, another_order=False)
    wrong = difference(timed.workload, timed.case, own, expected, leeway)
    return f"with about {_FEW_TERMS} terms that are not zero in a sum, {wrong}" if wrong else ""


def _with_equal_integers(timed: TimedPrograms) -> str:
    """Narrow integers of an input all alike, as of a blank image: what counts them in too few bits overflows.

    Wider ones may be indices: where several threads write one element, the last one decides.
    """
    equal = {
        a.name: np.full_like(timed.inputs[a.name], timed.inputs[a.name].flat[0])
        for a in timed.workload.args
        if a.kind == "input" and a.values_spec[0] == "integers" and DTYPES[a.dtype].itemsize <= _NARROW
        if not DTYPES[a.dtype].is_float and timed.inputs[a.name].size
    }
    if not equal:
        return ""
    timed.replace_inputs({**timed.inputs, **equal})
    own, expected = _both_outputs(timed)
    wrong = difference(timed.workload, timed.case, own, expected, timed.leeway())
    return f"with equal numbers in {' and '.join(equal)}, {wrong}" if wrong else ""


def _both_outputs(timed: TimedPrograms) -> tuple[Outputs, Outputs]:
    """The candidate's, then the baseline's, on the inputs that the buffers hold now."""
    timed.launch(_FIRST)
    own = timed.outputs(_FIRST)
    baseline = Launch(BASELINE, 0, 0)
    timed.launch(baseline)
    return own, timed.outputs(baseline)
