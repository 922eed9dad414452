"""Where a wrong element or a fault comes from, said beside it: the last store, and the changed lines that led there."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from kernel_gate.built import Built
from kernel_gate.cases import Case, elements
from kernel_gate.devices.base import Place
from kernel_gate.reasons import Reason
from kernel_gate.stages.changed_lines import align, changed_and_fed
from kernel_gate.stages.feeding import Element, Feeding, feeding, feeding_of_fault, in_users_lines
from kernel_gate.verdict import Stage
from kernel_gate.workload import Workload

_MOST_ELEMENTS = 1 << 20
"""Larger cases are not run again on the emulated device."""
_NAMED_MOST = 5
_CHANGED = "changed, and feeds the wrong element"
_LEADS_TO = "changed, and leads to this access"


def with_origin(stage: Stage, at_fault: Built, baseline: Built, workload: Workload, case: Case) -> Stage:
    """The stage of a wrong element, with who stored it, and the changed lines from which it was computed."""
    wrong = stage.details
    # What a launch has kept shows in other inputs than the case's own.
    if "output" not in wrong or stage.code is Reason.KEEPS_STATE:
        return stage
    if elements(workload, case.dims) > _MOST_ELEMENTS:
        return stage
    element = Element(workload, case, wrong["output"], tuple(wrong["index"]))
    # The program that is not at fault stores the element where the other one should.
    other = feeding(baseline, element) if baseline is not at_fault else None
    alignment = align(baseline.program.source, at_fault.program.source)
    # Another program may share the elements out among its blocks in another way.
    own = feeding(at_fault, element, other.storing if other is not None and alignment.alike else None)
    details, words = _writer(own, at_fault, other, baseline)
    details["fed_by"] = sorted(_users(line, at_fault) for line in own.lines)
    if (
        other is not None
        and alignment.alike
        and (changed := changed_and_fed(alignment, own.lines, other.lines))
    ):
        users = [_users(line, at_fault) for line in changed]
        details["related"] = [*details.get("related", ()), *(asdict(Place(_CHANGED, n)) for n in users)]
        words += f"; it is fed by {_numbers(users)}, which changed"
    return stage.model_copy(update={"reason": stage.reason + words, "details": {**wrong, **details}})


def with_fault_origin(
    stage: Stage, at_fault: Built, baseline: Built, workload: Workload, case: Case
) -> Stage:
    """The stage of an access at fault, with the changed lines that led to it."""
    if at_fault is baseline or elements(workload, case.dims) > _MOST_ELEMENTS:
        return stage
    kind, lines = feeding_of_fault(at_fault, workload, case)
    alignment = align(baseline.program.source, at_fault.program.source)
    if kind != stage.details.get("fault"):
        return stage
    culprits = changed_and_fed(alignment, lines, ()) if alignment.alike else ()
    named = [_users(line, at_fault) for line in culprits]
    # That the line at fault is new is no news.
    if not set(named) - {stage.details.get("line")}:
        return stage
    related = [*stage.details.get("related", ()), *(asdict(Place(_LEADS_TO, line)) for line in named)]
    reason = f"{stage.reason}; it comes from {_numbers(named)}, which changed"
    return stage.model_copy(update={"reason": reason, "details": {**stage.details, "related": related}})


def _writer(
    own: Feeding, at_fault: Built, other: Feeding | None, baseline: Built
) -> tuple[dict[str, Any], str]:
    """Details and words of the last store; of an element that nothing stored, where the baseline stores it."""
    if own.writer is not None:
        writer = in_users_lines(own.writer, at_fault)
        about = {"line": writer.line, "block": writer.block, "thread": writer.thread}
        return about, f"; written{_on(writer)} by block {writer.block}, thread {writer.thread}"
    if other is None or other.writer is None:
        return {}, ""
    writer = in_users_lines(other.writer, baseline)
    words = f"; the baseline writes it{_on(writer)} by block {writer.block}, thread {writer.thread}"
    return {"block": writer.block, "thread": writer.thread}, words


def _on(place: Place) -> str:
    return f" on line {place.line}" if place.line is not None else ""


def _users(line: int, built: Built) -> int:
    return line + built.program.first_line - 1


def _numbers(lines: list[int]) -> str:
    if len(lines) == 1:
        return f"line {lines[0]}"
    more = f" and {len(lines) - _NAMED_MOST} more" if len(lines) > _NAMED_MOST else ""
    return f"lines {', '.join(map(str, lines[:_NAMED_MOST]))}{more}"
