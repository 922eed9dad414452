"""A condition that is not known, as a line of the workload: what a person states of every caller."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kernel_gate.workload import Workload, WorkloadError, parse_workload
from kernel_lineage.editor.workload_files.places import Entry, entries
from kernel_lineage.skills.applicable import Applicable, Judged
from kernel_lineage.skills.card import ConditionKind
from kernel_lineage.skills.conditions.names import split_fact
from kernel_lineage.skills.conditions.tree import FactRef, Literal, Op


@dataclass(frozen=True, slots=True)
class Statement:
    """A condition, and the edit that states it. Offsets are in bytes of the workload's text."""

    sentence: str
    """The condition as a sentence."""
    start: int
    end: int
    new: str


def statements(candidate: Applicable, data: bytes) -> Iterator[Statement]:
    """What can be stated of a skill's validity conditions that are not known, each with its own edit.

    `data` is the workload of the kernel: it tells every size, so what can be missing in it is the alignment. Gives
    nothing that would leave it no workload.
    """
    try:
        workload = parse_workload(data.decode("utf-8"))
    except (UnicodeDecodeError, WorkloadError):
        return
    for judged in candidate.conditions:
        if judged.condition.kind is not ConditionKind.VALIDITY or not judged.unknown:
            continue
        edit = _alignment(judged, workload, data)
        if edit is None:
            continue
        start, end, new = edit
        changed = data[:start] + new.encode() + data[end:]
        if _is_workload(changed):
            yield Statement(judged.sentence, start, end, new)


def _alignment(judged: Judged, workload: Workload, data: bytes) -> tuple[int, int, str] | None:
    """`align(x) >= 16` as `align = 16` among the keys of `x`."""
    match judged.tree:
        case Op(op=">=", operands=(FactRef(name=name), Literal(value=int() as wanted))):
            head, arguments = split_fact(name)
        case _:
            return None
    number = next((n for n, a in enumerate(workload.args) if [a.name] == [*arguments] and a.is_pointer), None)
    if head != "align" or number is None:
        return None
    own = [e for e in entries(data) if e.path[:2] == ("args", number) and not e.is_table]
    if not any(e.path == ("args", number, "name") for e in own):
        return None  # a table within one line
    there = next((e for e in own if e.path[-1] == "align"), None)
    if there is not None:
        return there.value, there.end, str(wanted)
    return _line_after(data, own[-1], f"align = {wanted}")


def _line_after(data: bytes, entry: Entry, line: str) -> tuple[int, int, str]:
    """On a line of its own behind an entry and what is said of it."""
    end = data.find(b"\n", entry.end)
    at = len(data) if end < 0 else end
    return at, at, f"\n{line}"


def _is_workload(data: bytes) -> bool:
    try:
        parse_workload(data.decode("utf-8"))
    except WorkloadError:
        return False
    return True
