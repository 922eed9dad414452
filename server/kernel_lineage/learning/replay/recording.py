"""What becomes of a replayed transition, as the document that is kept."""

from __future__ import annotations

import datetime as dt
import time
from typing import Any

from kernel_gate.verdict import Verdict
from kernel_lineage.learning.replay.claims import Claimed
from kernel_lineage.learning.replay.judging import JudgedStep
from kernel_lineage.learning.replay.outcome import Outcome, earlier_is_candidate
from kernel_lineage.learning.replay.preparing import Prepared
from kernel_lineage.learning.replay.record import KeptStep, Record, StageRecord
from kernel_lineage.workloads.proof import Proof

_TOOLCHAIN = ("nvrtc", "nvcc", "triton", "driver")


def record_of(
    item: Claimed,
    device: str,
    outcome: Outcome,
    started: float,
    prepared: Prepared | None = None,
    judged: JudgedStep | None = None,
    proof: Proof | None = None,
) -> Record:
    """The record of a transition that was worked out since `started`, on the clock of `time.monotonic`."""
    verdict = judged.verdict if judged is not None else None
    environment = verdict.environment if verdict is not None else {}
    return Record(
        transition=item.transition.id,
        claim=item.claim,
        status=outcome.status,
        code=str(outcome.code),
        reason=outcome.reason,
        label=outcome.label,
        device=device,
        made=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        seconds=round(time.monotonic() - started, 2),
        workload=prepared.told_by if prepared is not None else "",
        assumed=prepared.said if prepared is not None else (),
        sees={t.mutant.id: t.fate for t in proof.tried} if proof is not None else {},
        effect=outcome.effect,
        counts=_counts(verdict, item) if verdict is not None else None,
        counterexample=outcome.counterexample,
        fault_in=outcome.fault_in,
        stages=_stages(verdict) if verdict is not None else (),
        step=KeptStep.of(prepared.step) if prepared is not None else None,
        toolchain={name: environment[name] for name in _TOOLCHAIN if name in environment},
    )


def _stages(verdict: Verdict) -> tuple[StageRecord, ...]:
    return tuple(
        StageRecord(
            name=s.name,
            status=s.status.value,
            code=str(s.code) if s.code is not None else None,
            reason=s.reason,
            seconds=s.seconds,
        )
        for s in verdict.stages
    )


def _counts(verdict: Verdict, item: Claimed) -> dict[str, Any] | None:
    """The counts of both states, in the direction of the transition."""
    sanitized = verdict.stage("sanitize")
    counts = sanitized.details.get("counts") if sanitized is not None else None
    if not isinstance(counts, dict) or "before" not in counts:
        return None
    if earlier_is_candidate(item.claim):
        return {"case": counts.get("case"), "before": counts["after"], "after": counts["before"]}
    return dict(counts)
