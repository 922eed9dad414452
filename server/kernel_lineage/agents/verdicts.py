"""Verdicts as an agent gets them: what was found, where, under which conditions, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, Field

from kernel_gate.reasons import Reason
from kernel_gate.reporting.figures import interval
from kernel_gate.reporting.named import deciding, line_of
from kernel_gate.standing import Standing
from kernel_gate.verdict import Outcome, Verdict

_LONGEST = 500
_COUNTEREXAMPLE = (
    "dims",
    "seed",
    "inputs",
    "memory",
    "buffer",
    "element",
    "block",
    "thread",
    "counterexample",
)
"""Fields of a failed stage's details that say how it is seen again."""


class VerdictResult(BaseModel):
    """The gate's verdict on one kernel."""

    kernel: str
    file: str = ""
    verdict: str
    """`accepted`, `rejected`, `right, speed not shown`, `undecided`, `not judged` or `this machine lacks something`."""
    why: str
    code: str = ""
    line: int | None = None
    """Where the reason lies in the candidate's file."""
    counterexample: dict[str, Any] = Field(default_factory=dict)
    conditions: list[str] = Field(default_factory=list)
    """What it holds under and the old code does not need."""
    speedup: str = ""
    """Old time over new time, with its interval; "" when nothing was timed."""
    counts: list[str] = Field(default_factory=list)
    """What one case counts on the emulated device, before and after."""
    stages: dict[str, str] = Field(default_factory=dict)
    workload: str = ""
    assumed: list[str] = Field(default_factory=list)
    """What was chosen for a workload that was drafted for this."""


class GateResult(BaseModel):
    """The verdicts on the kernels of one change."""

    written: bool = False
    """Whether the file was changed."""
    reason: str = ""
    kernels: list[VerdictResult] = Field(default_factory=list)


def verdict_result(verdict: Verdict, kernel: str, file: str = "", workload: str = "") -> VerdictResult:
    """What of a verdict an agent gets."""
    stage = deciding(verdict) if verdict.outcome is not Outcome.ACCEPTED else None
    details = stage.details if stage is not None else {}
    sanitize = verdict.stage("sanitize")
    counts = sanitize.details.get("counts", {}) if sanitize is not None else {}
    conditions = dict.fromkeys(
        str(condition["expr"]) for one in verdict.stages for condition in one.details.get("conditions", ())
    )
    return VerdictResult(
        kernel=kernel,
        file=file,
        verdict=verdict.standing.label,
        why=_short(verdict.reason),
        code=str(verdict.code) if verdict.code is not None else "",
        line=line_of(stage) if stage is not None else None,
        counterexample={name: details[name] for name in _COUNTEREXAMPLE if details.get(name)}
        if stage is not None and verdict.outcome is Outcome.REJECTED
        else {},
        conditions=list(conditions),
        speedup=f"{interval(verdict.speedup)}, {verdict.speedup.state}" if verdict.speedup else "",
        counts=list(counts.get("summary", ())),
        stages={one.name: one.status.value for one in verdict.stages},
        workload=workload or str(verdict.environment.get("workload", "")),
        assumed=list(verdict.environment.get("workload_assumed", ())),
    )


def advice(verdicts: Sequence[Verdict], written: bool) -> str:
    """What to do after some verdicts, by the worst of them."""
    if not verdicts:
        return "Nothing is to be gated: no kernel changes."
    worst = min(verdicts, key=lambda verdict: list(Standing).index(verdict.standing))
    match worst.standing:
        case Standing.ACCEPTED:
            return (
                "The file is written."
                if written
                else "Accepted: the same call with write=true makes this edit."
            )
        case Standing.RIGHT:
            return (
                "Right as far as it was checked, and nothing is written: nothing shows that it is not slower. "
                "Gate it on a machine with a GPU, or leave the edit to a person and say what was checked."
            )
        case Standing.NOT_JUDGED if worst.code is Reason.NO_WORKLOAD:
            return "draft_workload says what is missing to run the kernel, and takes the answers."
    return (
        worst.code.remedy
        if worst.code is not None
        else "Nothing is written. Read `why`, change it, gate again."
    )


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"
