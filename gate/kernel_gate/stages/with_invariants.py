"""The check's stage with what the candidate's invariants say: a violation is its verdict, what is undecided is said."""

from __future__ import annotations

from kernel_gate.reasons import Reason
from kernel_gate.stages.invariants import Findings
from kernel_gate.verdict import Stage, StageStatus

GOES_ON = (Reason.INVARIANT_UNREADABLE, Reason.INVARIANT_UNDECIDED)
"""A check that ended so has found nothing wrong with the values: the sanitize stage still looks."""


def with_invariants(stage: Stage, findings: Findings, label: str) -> Stage:
    """The stage, with the invariants in its details.

    A violation explains a wrong value and comes before it; an access that breaks a rule of the device comes before
    both. An invariant that cannot be read, or that nothing decides, makes a check that passed unavailable.
    """
    details = {**stage.details, "invariants": findings.document()}
    kept = stage.model_copy(update={"details": details})
    if findings.violations and "fault" not in stage.details:
        return _violated(kept, findings, label)
    if stage.status is not StageStatus.PASS:
        return kept
    if findings.mistakes:
        line, message = findings.mistakes[0]
        place = label if line is None else f"{label}:{line}"
        return _unclear(kept, Reason.INVARIANT_UNREADABLE, f"{message}; {place}", line)
    if findings.undecided:
        first = findings.undecided[0]
        why = {
            "unreached": f"was not reached in {findings.cases} cases",
            "untagged": f"was reached {first.untagged} times, and never by data with tags",
        }[first.status]
        lost = _lost(findings)
        hint = f"; {findings.notes[0]}" if findings.notes else ""
        reason = f"the invariant `{first.text}` {why}{lost}{hint}; {label}:{first.line}"
        return _unclear(kept, Reason.INVARIANT_UNDECIDED, reason, first.line)
    held = sum(note.status == "held" for note in findings.stated)
    if not held:
        return kept
    note = f"{held} invariant{'s' if held > 1 else ''} held in {findings.cases} case{'s' if findings.cases > 1 else ''}"
    return kept.model_copy(update={"reason": f"{stage.reason}; {note}{_lost(findings)}"})


def _lost(findings: Findings) -> str:
    """The first instruction through which tags were not followed: what it gives was not compared."""
    return "".join(f"; tags are not followed through {p.what} (line {p.line})" for p in findings.lost[:1])


def _violated(stage: Stage, findings: Findings, label: str) -> Stage:
    fault = findings.violations[0]
    place = label if fault.line is None else f"{label}:{fault.line}"
    reason = f"{fault.message}; {findings.case}; {place}"
    details = {**stage.details, "fault": fault.kind, **fault.where()}
    if stage.status is not StageStatus.PASS:
        reason += f"; and {stage.reason}"
        details["also"] = stage.code
    return stage.model_copy(
        update={
            "status": StageStatus.FAIL,
            "code": Reason.INVARIANT_VIOLATED,
            "reason": reason,
            "details": details,
        }
    )


def _unclear(stage: Stage, code: Reason, reason: str, line: int | None) -> Stage:
    details = {**stage.details, "line": line}
    return stage.model_copy(
        update={"status": StageStatus.UNAVAILABLE, "code": code, "reason": reason, "details": details}
    )
