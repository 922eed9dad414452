"""A step that fails somewhere, told as what it is where it is right: `narrower`, with the conditions of its region."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernel_gate.verdict import Outcome, StageStatus, Verdict
from kernel_lineage.learning.probes.asking import Budget
from kernel_lineage.learning.probes.probe import probe
from kernel_lineage.learning.probes.report import ProbedCondition, ProbeReport
from kernel_lineage.learning.replay.codes import Code
from kernel_lineage.learning.replay.record import Record
from kernel_lineage.learning.steps import Judge, Step
from kernel_lineage.skills.card import Condition, Origin

_RUNS = 10_000
"""More than any number of seconds allows that a person waits."""


def narrowed_verdict(verdict: Verdict, step: Step, judge: Judge, seconds: float) -> Verdict:
    """A rejected verdict that says where the candidate is right, as far as `seconds` of probing show.

    It stays rejected: the region is for whoever guards the candidate, or promises it in the workload. Other verdicts
    are given back as they are. Raises `DeviceError`.
    """
    failed = next((s for s in verdict.stages if s.status is StageStatus.FAIL), None)
    if verdict.outcome is not Outcome.REJECTED or failed is None or failed.name == "build":
        return verdict
    report = probe(step, judge, Budget(runs=_RUNS, seconds=seconds))
    conditions = [c for c in report.conditions if c.condition.origin is Origin.PROBE]
    region = " and ".join(c.condition.expr for c in conditions)
    note = f"narrower: right where {region}" if conditions else f"not narrowed: {_why_not(report, seconds)}"
    details: dict[str, Any] = {**failed.details, "narrower": [_document(c) for c in conditions]}
    stages = [s if s is not failed else s.model_copy(update={"details": details}) for s in verdict.stages]
    return verdict.model_copy(update={"reason": f"{verdict.reason}; {note}", "stages": stages})


def _document(probed_condition: ProbedCondition) -> dict[str, Any]:
    seen = probed_condition.confirmation
    return {
        "expr": probed_condition.condition.expr,
        "kind": str(probed_condition.condition.kind),
        "evidence": probed_condition.condition.evidence,
        "holds": [seen.kept_agree, seen.kept],
        "broken": [seen.broken_agree + seen.near_agree, seen.broken + seen.near],
    }


def _why_not(report: ProbeReport, seconds: float) -> str:
    if report.dropped:
        return f"no condition parts where it is right from where it is wrong ({report.runs} cases)"
    return f"no region in which it is right was found in {report.runs} cases and {seconds:g} s"


def narrowed_record(record: Record, conditions: Sequence[Condition]) -> Record:
    """A step of which the later state fails, with what probing says of where it is right."""
    region = " and ".join(c.expr for c in conditions if c.origin is Origin.PROBE)
    if record.status != "failed" or record.fault_in != "later" or not region:
        return record
    reason = f"right where {region}; elsewhere {record.reason}"
    return record.model_copy(update={"status": "narrower", "code": str(Code.NARROWED), "reason": reason})
