"""What is wrong with a candidate under a condition alone, which the verdict names: on scalars, ranges, infinities."""

from __future__ import annotations

from kernel_gate.cases import Case
from kernel_gate.deadline import TimeSpentError
from kernel_gate.stages.check_state import CheckState, Dropped, Stop
from kernel_gate.stages.divided_zeros import needed_of_zeros
from kernel_gate.stages.infinities import needed_of_infinities
from kernel_gate.stages.ranges import needed_of_range
from kernel_gate.stages.scalar_order import needed_of_kind, needed_of_order


def is_condition(run: CheckState, stop: Stop, case: Case) -> bool:
    """Whether what is wrong is the candidate's only under a condition, or says nothing; it is kept then."""
    if stop.at_fault != "candidate":
        return False
    try:
        if (of_kind := needed_of_kind(run, case)) is not None:
            _keep_condition(run.conditions, of_kind, f"{stop.reason}; the baseline takes other values")
            return True
        if (ordered := needed_of_order(run, case)) is not None:
            _keep_condition(run.conditions, ordered, stop.reason)
            return True
        ways = (needed_of_range, needed_of_infinities, needed_of_zeros)
        needed = next(filter(None, (way(run, case, stop) for way in ways)), None)
    except Dropped as dropped:
        run.dropped.append(f"{case}: {dropped.code}: {dropped}")
        return True
    except TimeSpentError:  # wrong it is, whether or not a range of values tells when
        return False
    if needed is None:
        return False
    run.conditions.setdefault(*needed)
    return True


def _keep_condition(conditions: dict[str, str], needed: str, why: str) -> None:
    """One value of a scalar says more than its sign."""
    name, operator, _ = needed.split()
    if operator == "==":
        conditions.pop(f"{name} >= 0", None)
    elif any(other.startswith(f"{name} == ") for other in conditions):
        return
    conditions[needed] = why
