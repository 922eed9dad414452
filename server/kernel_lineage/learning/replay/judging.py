"""A step through the gate: which state is whose baseline, and what is asked again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kernel_gate.arguments import Argument
from kernel_gate.dtype_names import FLOAT_NAMES
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest
from kernel_gate.verdict import StageStatus, Verdict
from kernel_gate.workload import Workload
from kernel_lineage.learning.replay.claims import Claim
from kernel_lineage.learning.replay.outcome import earlier_is_candidate
from kernel_lineage.learning.steps import Judge, Step
from kernel_lineage.workloads.proof import Device

_NOT_TIMED_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class JudgedStep:
    """A step as it was judged in the end, and the verdict."""

    step: Step
    verdict: Verdict
    said: tuple[str, ...] = ()
    doubts: Mapping[str, str] = field(default_factory=dict)
    """Outputs that the baseline leaves alone in part: a candidate that writes there does more, which is no fault."""


def judge_step(
    step: Step, claim: Claim, judge: Judge, *, device: Device, options: GateOptions, drafted: bool
) -> JudgedStep:
    """The verdict on a step. Raises what `judge` raises.

    In a drafted workload an output of which the baseline leaves elements alone becomes an inout: what is there before
    is kept and compared.
    """
    left: list[str] = []
    pair = _ordered(step, claim)
    if claim is Claim.FIXED:  # a failure is looked for, not a time
        options = options.model_copy(update={"profile_seconds": _NOT_TIMED_SECONDS})
    for _ in step.workload.args:
        verdict = judge(GateRequest.of(*pair, step.workload, device=device, options=options))
        name = _left_alone(verdict) if drafted else None
        if name is None:
            break
        step = replace(step, workload=_as_inout(step.workload, name))
        left.append(name)
    notes = [f"{name} is not written everywhere, so what is left alone is compared too" for name in left]
    doubts = {name: f"the earlier state leaves a part of {name} alone" for name in left}
    if _differs_in(verdict, left):
        cleared = replace(step, workload=_cleared(step.workload, left))
        again = judge(GateRequest.of(*pair, cleared.workload, device=device, options=options))
        if not _differs_in(again, left):
            step, verdict, doubts = cleared, again, {}
            notes.append(f"{' and '.join(left)} is taken to be cleared before, as the later state has it")
    return JudgedStep(step, verdict, tuple(notes), {} if earlier_is_candidate(claim) else doubts)


def _ordered(step: Step, claim: Claim) -> tuple[Program, Program]:
    """The baseline and the candidate."""
    return (step.after, step.before) if earlier_is_candidate(claim) else (step.before, step.after)


def _differs_in(verdict: Verdict, left: Sequence[str]) -> bool:
    """Whether the states give other values in an output of which the baseline leaves a part alone."""
    check = verdict.stage("check")
    return (
        check is not None
        and check.status is StageStatus.FAIL
        and check.code is Reason.WRONG_VALUE
        and check.details.get("output") in left
    )


def _cleared(workload: Workload, names: Sequence[str]) -> Workload:
    """The workload with zeros in those buffers before each launch."""
    args = tuple(
        a.model_copy(update={"values": "integers(0, 1)"}) if a.name in names else a for a in workload.args
    )
    return workload.model_copy(update={"args": args})


def _left_alone(verdict: Verdict) -> str | None:
    """The output of which the baseline leaves elements alone, if that is why nothing was compared."""
    check = verdict.stage("check")
    if check is None or check.code is not Reason.BASELINE_FAILS_CHECK:
        return None
    if check.details.get("cause") != Reason.NOT_WRITTEN:
        return None
    name = check.details.get("output")
    return name if isinstance(name, str) else None


def _as_inout(workload: Workload, name: str) -> Workload:
    def as_inout(argument: Argument) -> Argument:
        exact = argument.dtype not in FLOAT_NAMES
        return argument.model_copy(update={"kind": "inout", **({"values": "integers"} if exact else {})})

    args = tuple(as_inout(a) if a.name == name else a for a in workload.args)
    return workload.model_copy(update={"args": args})
