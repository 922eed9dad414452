"""What is wrong with a candidate that has been timed: one more launch, the guards, and new data at the same addresses.

What a program has learned while it was timed, of addresses or of how often it ran, must not be its answer.
"""

from __future__ import annotations

from kernel_gate.inputs import other_inputs
from kernel_gate.stages.timed_outputs import difference, difference_of
from kernel_gate.stages.timed_programs import TimedPrograms
from kernel_gate.timing.sampling import BASELINE, CANDIDATE, Launch

_FIRST = Launch(CANDIDATE, 0, 0)


def wrong_after_timing(timed: TimedPrograms) -> str:
    """What is wrong, with the case; "" when nothing is. The inputs are others afterwards. Raises `LaunchFailed`."""
    wrong = timed.seen_wrong or _once_more(timed) or _beside_the_buffers(timed) or _with_new_data(timed)
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
    timed.inputs = other_inputs(timed.workload, timed.case, timed.inputs)
    timed.replace_inputs(timed.inputs)
    timed.launch(_FIRST)
    own = timed.outputs(_FIRST)
    baseline = Launch(BASELINE, 0, 0)
    timed.launch(baseline)
    expected = timed.outputs(baseline)
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
