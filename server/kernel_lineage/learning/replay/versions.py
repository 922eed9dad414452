"""What the replayed transitions of a lineage say of its versions: which are right, which are wrong and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kernel_lineage.history.model import Lineage, Transition
from kernel_lineage.learning.replay.codes import Code
from kernel_lineage.learning.replay.record import Record
from kernel_lineage.learning.version_checks import VersionCheck, VersionState

_RANK = {VersionState.WRONG: 2, VersionState.RIGHT: 1, VersionState.UNKNOWN: 0}


def version_checks(lineage: Lineage, records: Mapping[str, Record]) -> dict[str, VersionCheck]:
    """Version id → what is known of it, by the records of the lineage's transitions; none for what was not replayed.

    A version that a step was seen to break is wrong, also when another step says nothing against it.
    """
    checks: dict[str, VersionCheck] = {}
    for transition in lineage.transitions:
        record = records.get(transition.id)
        for check in _ends(transition, record, checks) if record is not None else ():
            previous = checks.get(check.version)
            if previous is None or _RANK[check.state] > _RANK[previous.state]:
                checks[check.version] = check
    return checks


def _ends(
    transition: Transition, record: Record, checks: Mapping[str, VersionCheck]
) -> Iterator[VersionCheck]:
    """What one transition says of its two versions."""
    before, after = transition.before, transition.after
    if record.fault_in is not None:
        faulty, other = (before, after) if record.fault_in == "earlier" else (after, before)
        state = VersionState.UNKNOWN if record.counterexample is None else VersionState.WRONG
        what = record.counterexample.what if record.counterexample is not None else record.reason
        yield VersionCheck(faulty, state, what)
        compared = record.code not in (Code.EARLIER_STATE_FAILS, Code.LATER_STATE_FAILS)
        if compared and state is VersionState.WRONG:
            yield VersionCheck(other, VersionState.RIGHT, f"right where the {record.fault_in} state is wrong")
        return
    agreed = next((s.reason for s in record.stages if s.name == "check" and s.status == "pass"), None)
    if agreed is None and record.code != Code.SAME_PROGRAM:
        yield from (VersionCheck(v, VersionState.UNKNOWN, record.reason) for v in (before, after))
        return
    earlier = checks.get(before)
    if agreed is None:
        if earlier is not None:
            yield VersionCheck(after, earlier.state, earlier.reason)
        return
    state = earlier.state if earlier is not None else VersionState.RIGHT
    if state is not VersionState.WRONG:
        state = VersionState.RIGHT
        yield VersionCheck(before, state, agreed)
    yield VersionCheck(
        after, state, agreed if state is VersionState.RIGHT else "gives what the one before gives"
    )
