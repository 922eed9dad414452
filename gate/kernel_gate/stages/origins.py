"""Where a wrong element or a fault comes from, said beside it: the last store, and the changed lines that led there.

Where the two texts have too little in common to be compared, it is the lines that are likeliest at fault.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from kernel_gate.built import Built
from kernel_gate.cases import Case
from kernel_gate.devices.base import Place
from kernel_gate.reasons import Reason
from kernel_gate.shapes import elements
from kernel_gate.stages.changed_lines import Alignment, align, changed_and_fed
from kernel_gate.stages.feeding import Element, Feeding, feeding, feeding_of_fault, in_users_lines
from kernel_gate.stages.suspects import MOST, leading_to, ranked
from kernel_gate.verdict import Stage
from kernel_gate.workload import Workload

_MOST_ELEMENTS = 1 << 20
"""Larger cases are not run again on the emulated device."""
_NAMED_MOST = 5
_CHANGED = "changed, and feeds the wrong element"
_LEADS_TO = "changed, and leads to this access"
_LIKELY = "likely at fault"


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
    if other is not None:
        changed = changed_and_fed(alignment, own.lines, other.lines) if alignment.alike else ()
        what, lines = (
            (_CHANGED, changed) if changed else (_LIKELY, _suspects(own, other, alignment, workload))
        )
        if lines:
            users = [_users(line, at_fault) for line in lines]
            details["related"] = [*details.get("related", ()), *(asdict(Place(what, n)) for n in users)]
            words += _sentence(what, users)
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
    what, culprits = (_LEADS_TO, culprits) if culprits else (_LIKELY, leading_to(lines, alignment.texts))
    named = [_users(line, at_fault) for line in culprits]
    # That the line at fault is new is no news.
    if not set(named) - {stage.details.get("line")}:
        return stage
    related = [*stage.details.get("related", ()), *(asdict(Place(what, line)) for line in named)]
    reason = stage.reason + _sentence(what, named)
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


def _suspects(own: Feeding, other: Feeding, alignment: Alignment, workload: Workload) -> tuple[int, ...]:
    """Lines that are likeliest at fault, told from what both programs computed; none where that was not recorded."""
    from kernel_gate.emulated.slicing.clues import clues

    if own.history is None or other.history is None:
        return ()
    inputs = {argument.name for argument in workload.args if argument.kind == "input"}
    evidence = clues(own.history, other.history, inputs)
    return () if evidence is None else ranked(evidence, own.lines, alignment.texts)[:MOST]


def _sentence(what: str, lines: list[int]) -> str:
    if what == _LIKELY:
        return f"; likeliest at fault: {_numbers(lines)}"
    return f"; it {'is fed by' if what == _CHANGED else 'comes from'} {_numbers(lines)}, which changed"


def _users(line: int, built: Built) -> int:
    return line + built.program.first_line - 1


def _numbers(lines: list[int]) -> str:
    if len(lines) == 1:
        return f"line {lines[0]}"
    more = f" and {len(lines) - _NAMED_MOST} more" if len(lines) > _NAMED_MOST else ""
    return f"lines {', '.join(map(str, lines[:_NAMED_MOST]))}{more}"
