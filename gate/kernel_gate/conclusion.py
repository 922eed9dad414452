"""From stages to a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernel_gate.reasons import Reason
from kernel_gate.verdict import Outcome, Speedup, Stage, StageStatus, Verdict

_STAGES = ("build", "check", "sanitize", "profile")


def not_judged(kernel: str, why: str, code: Reason = Reason.NO_WORKLOAD) -> Verdict:
    """The verdict on a kernel that no stage was begun for: nothing says how to run it, or there is no such kernel."""
    return Verdict(
        outcome=Outcome.INCONCLUSIVE,
        code=code,
        reason=f"{kernel}: {why}",
        stages=[
            Stage(name=name, status=StageStatus.SKIPPED, code=code, reason=code.replace("-", " "))
            for name in _STAGES
        ],
        inputs_hash="",
    )


def not_read(file: str, why: str) -> Verdict:
    """The verdict on all kernels of a file that changed and cannot be read."""
    return not_judged(file, why, Reason.SOURCE_UNREAD)


def conclude(
    stages: Sequence[Stage], speedup: Speedup | None, about: dict[str, Any], inputs_hash: str
) -> Verdict:
    """The verdict that these stages amount to; stages that were not reached are `skipped`."""
    reached = {stage.name for stage in stages}
    ended = stages[-1].name if stages else "start"
    rest = [
        Stage(
            name=name,
            status=StageStatus.SKIPPED,
            code=Reason.RUN_ENDED,
            reason=f"the run ended at {ended}",
        )
        for name in _STAGES
        if name not in reached
    ]
    failed = next((s for s in stages if s.status is StageStatus.FAIL), None)
    unclear = next((s for s in stages if s.status is StageStatus.UNAVAILABLE), None)
    decided = failed or unclear or (rest[0] if rest else stages[-1])
    if failed is not None:
        outcome, reason = Outcome.REJECTED, f"Rejected by {failed.name}: {failed.reason}"
    elif unclear is not None:
        prefix = "" if unclear.reason.startswith("not profiled") else f"{unclear.name}: "
        outcome, reason = Outcome.INCONCLUSIVE, f"{prefix}{unclear.reason}"
    elif rest:
        outcome, reason = Outcome.INCONCLUSIVE, f"{rest[0].name} did not run"
    else:
        outcome = Outcome.ACCEPTED
        decided = next(s for s in reversed(stages) if s.name == "profile")
        unwatched = (s.reason for s in stages if s.code is Reason.NOT_WATCHED)
        reason = "; ".join([decided.reason, *unwatched])
    if outcome is not Outcome.REJECTED:
        conditions = dict.fromkeys(c["expr"] for s in stages for c in s.details.get("conditions", ()))
        if conditions:
            reason += f"; only if {' and '.join(conditions)}, which the baseline does not need"
        left_out = about.get("cases_left_out", ())
        if left_out and any(s.name == "check" and s.status is StageStatus.PASS for s in stages):
            reason += (
                f"; {len(left_out)} drawn cases were left out: one check builds no more images of a program"
            )
    return Verdict(
        outcome=outcome,
        code=decided.code,
        reason=reason,
        stages=[*stages, *rest],
        speedup=speedup,
        environment=about,
        inputs_hash=inputs_hash,
    )
