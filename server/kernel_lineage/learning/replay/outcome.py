"""What a verdict says of a transition, by what was claimed of it.

Where the earlier state is expected to fail (a fix, a revert), the later state is the baseline and the earlier one the
candidate, so that what the gate finds is found in the earlier one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from kernel_gate.reasons import Reason
from kernel_gate.standing import Standing
from kernel_gate.verdict import ShapeSpeed, SpeedState, Speedup, Stage, StageStatus, Verdict
from kernel_lineage.learning.replay.claims import Claim
from kernel_lineage.learning.replay.codes import Code
from kernel_lineage.learning.replay.record import Counterexample, Effect, FaultIn, Label, Status

_DOES_NOT_BUILD = {
    Reason.CANDIDATE_DOES_NOT_COMPILE,
    Reason.BASELINE_DOES_NOT_COMPILE,
    Reason.UNKNOWN_KERNEL,
    Reason.SOURCE_NOT_ALLOWED,
    Reason.COMPILER_LIMIT,
    Reason.UNSUPPORTED_PROGRAM,
}
_OF_VALUES = {Reason.WRONG_VALUE, Reason.NOT_WRITTEN, Reason.NAN_MASK_DIFFERS, Reason.LESS_PRECISE}
_NO_DOUBT: Mapping[str, str] = MappingProxyType({})
_OF_THE_MOMENT = {
    *(
        reason for reason in Reason if Standing.LACKING in reason.leads_to
    ),  # a full disk, no memory, no compiler
    *(Reason.CANCELLED, Reason.HANG, Reason.WORKER_DIED, Reason.DEVICE_LOST, Reason.COMPANION_CHANGED),
}
_MIRROR = {SpeedState.FAST: SpeedState.SLOW, SpeedState.SLOW: SpeedState.FAST}
_BASELINE_SAYS = re.compile(r"^the baseline (?:does not pass its own check|does not build): ")
_LAUNCH_US = 5.0
"""A launch that takes less is mostly the device's work on launching it."""
_SEED = re.compile(r"\bseed (\d+)")
_DIM = re.compile(r"\b([A-Za-z_]\w*) (\d+)(?=[,;]|$)")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The status of a transition and why."""

    status: Status
    code: str
    reason: str
    label: Label = Label.INFERRED
    effect: Effect | None = None
    counterexample: Counterexample | None = None
    fault_in: FaultIn | None = None


def earlier_is_candidate(claim: Claim) -> bool:
    """Whether the earlier state is the one that the gate looks for faults in."""
    return claim in (Claim.FIXED, Claim.UNDONE)


def is_of_the_moment(verdict: Verdict) -> bool:
    """Whether another run may end otherwise: nothing of it should be kept."""
    return verdict.code in _OF_THE_MOMENT


def outcome_of(claim: Claim, verdict: Verdict, doubts: Mapping[str, str] = _NO_DOUBT) -> Outcome:
    """What a verdict says of a transition of which this is claimed.

    `doubts`: output (or "" for all) → why other values there may be what the state is for, and so decide nothing.
    """
    swapped = earlier_is_candidate(claim)
    for name in ("build", "check", "sanitize"):
        stage = verdict.stage(name)
        if stage is None or stage.status is StageStatus.SKIPPED:
            return _undecided(verdict.code, verdict.reason)
        if stage.status is StageStatus.PASS:
            continue
        if name == "build":
            return _not_built(stage, swapped)
        if stage.status is StageStatus.FAIL:
            doubt = doubts.get("") or doubts.get(str(stage.details.get("output")))
            if doubt and stage.code in _OF_VALUES:
                return _undecided(Code.CONTRACT_DIFFERS, f"the states differ, but {doubt}: {stage.reason}")
            if _is_contradicted(stage):
                sentence = (
                    "both states give the same, and the emulated device saw no fault where synccheck sees one"
                )
                return _undecided(stage.code, f"{sentence}: {stage.reason}")
            return _wrong(stage, swapped)
        if stage.code is Reason.BASELINE_FAILS_CHECK:
            return _baseline_fails(stage, swapped)
        return _undecided(stage.code, stage.reason)
    return _right(claim, verdict, swapped, next(iter(doubts.values()), ""))


def asks_for_less(outcome: Outcome, verdict: Verdict, *, built_per_shape: bool = False) -> bool:
    """Whether what was found may lie outside of what the workload names: a fault of a state, or of both.

    A program that is built for each shape anew may lie there with its compiler's error too, whichever state's it is:
    a product of tiles needs rows of 16, and the cases that nobody names have rows of one.
    """
    sanitized = verdict.stage("sanitize")
    shared = (
        sanitized is not None
        and sanitized.status is StageStatus.UNAVAILABLE
        and bool(sanitized.details.get("findings"))
    )
    if outcome.status == "unbuildable":
        return built_per_shape
    return (outcome.status == "failed" and outcome.fault_in == "later") or (
        outcome.status == "undecided" and (shared or outcome.code == Code.EARLIER_STATE_FAILS)
    )


def narrowed(everywhere: Outcome, named: Outcome) -> Outcome:
    """A step of which a fault was found somewhere, as it is when only what the workload names is run.

    Where both states are right there, the times there say what the step is; a fault of the later state alone is a
    condition of it. A fault that is found there too is the one to tell: callers come with such sizes. An earlier state
    that fails by itself there, or has another task there, says nothing of the later one.
    """
    if not agrees(named):
        decided = named.status == "failed" or named.code in (Code.EARLIER_STATE_FAILS, Code.CONTRACT_DIFFERS)
        if everywhere.status == "unbuildable":  # nothing was seen there
            return named if decided or named.status == "reproduced" else everywhere
        return named if decided and everywhere.status == "failed" else everywhere
    seen = everywhere.counterexample
    if everywhere.fault_in == "earlier":
        return replace(
            named, reason=f"on what the workload names, {named.reason}; elsewhere {everywhere.reason}"
        )
    if everywhere.status == "unbuildable":
        seen = Counterexample(what=everywhere.reason, code=everywhere.code)
    if seen is None:
        return replace(named, reason=f"{named.reason}; elsewhere both states fail: {everywhere.reason}")
    return replace(
        named,
        status="narrower" if named.status == "reproduced" else named.status,
        code=Code.NARROWER if named.status == "reproduced" else named.code,
        reason=f"on what the workload names, {named.reason}; elsewhere only the earlier state is right: "
        f"{seen.what}",
        counterexample=seen,
    )


def agrees(outcome: Outcome) -> bool:
    """Whether both states were seen to give the same, whatever the times say."""
    return outcome.label is not Label.INFERRED and outcome.fault_in is None


def _not_built(stage: Stage, swapped: bool) -> Outcome:
    """The state that does not build, with the compiler's first error."""
    if stage.code not in _DOES_NOT_BUILD:
        return _undecided(stage.code, stage.reason)
    who: FaultIn = "later" if (stage.details.get("program") == "baseline") == swapped else "earlier"
    code = Reason.CANDIDATE_DOES_NOT_COMPILE if stage.code is Reason.BASELINE_DOES_NOT_COMPILE else stage.code
    message = _BASELINE_SAYS.sub("", stage.reason)
    reason = f"the {who} state does not build with today's toolchain: {message}"
    return Outcome("unbuildable", str(code), reason, fault_in=who)


def _wrong(stage: Stage, swapped: bool) -> Outcome:
    seen = counterexample_of(stage)
    if swapped:
        return Outcome(
            "reproduced",
            Code.FAILURE_SEEN,
            f"the earlier state fails where the later one is right: {stage.reason}",
            Label.REPRODUCED,
            counterexample=seen,
            fault_in="earlier",
        )
    reason = f"the later state is wrong where the earlier one is right: {stage.reason}"
    return Outcome("failed", str(stage.code), reason, counterexample=seen, fault_in="later")


def _is_contradicted(stage: Stage) -> bool:
    """Whether synccheck alone objects, and the emulated device watched the same cases to the end and did not.

    Both look at barriers, and the tool looks at barrier objects by rules of its own: a library's arrivals for copies
    that are under way are among what it asks a wait for.
    """
    findings = [f for f in stage.details.get("findings", ()) if f.get("program") == "candidate"]
    second = next((o for o in stage.details.get("opinions", ()) if o["source"] == "emulated device"), None)
    complete = second is not None and not second.get("unavailable") and not second["found"]
    return complete and bool(findings) and all(f.get("source") == "synccheck" for f in findings)


def _baseline_fails(stage: Stage, swapped: bool) -> Outcome:
    seen, message = counterexample_of(stage), _BASELINE_SAYS.sub("", stage.reason)
    if swapped:
        reason = f"the later state fails by itself: {message}"
        return Outcome("failed", Code.LATER_STATE_FAILS, reason, counterexample=seen, fault_in="later")
    reason = f"the earlier state fails by itself: {message}"
    return Outcome("undecided", Code.EARLIER_STATE_FAILS, reason, counterexample=seen, fault_in="earlier")


def _right(claim: Claim, verdict: Verdict, swapped: bool, doubt: str) -> Outcome:
    """Both states give the same; what the times say, where there are any."""
    agreed = verdict.stage("check")
    sentence = agreed.reason if agreed is not None else ""
    profiled = verdict.stage("profile")
    if profiled is not None and profiled.code is Reason.WRONG_AFTER_TIMING and doubt:
        return _undecided(Code.CONTRACT_DIFFERS, f"the states differ, but {doubt}: {profiled.reason}")
    if profiled is not None and profiled.code is Reason.WRONG_AFTER_TIMING:
        return _wrong(profiled, swapped)
    if profiled is not None and profiled.code is Reason.BASELINE_FAILS_CHECK:
        return _baseline_fails(profiled, swapped)
    if claim is Claim.FIXED:
        return _undecided(Code.FAILURE_NOT_SEEN, f"both states give the same: {sentence}")
    if verdict.speedup is None:
        if claim is Claim.UNDONE:
            return _undecided(Code.NEEDS_TIMES, f"both states give the same ({sentence}); nothing was timed")
        why = profiled.reason if profiled is not None else ""
        return Outcome("reproduced", Code.AGREES, f"{sentence}; {why}" if why else sentence, Label.REPRODUCED)
    effect = effect_of(verdict, swapped)
    figures = f"{effect.median:.3f}× ({effect.low:.3f} … {effect.high:.3f})"
    code = str(verdict.code)
    if effect.state is SpeedState.AMBIGUOUS:
        return Outcome("undecided", code, f"{sentence}; {verdict.reason}", Label.REPRODUCED, effect)
    slower = effect.state is not SpeedState.FAST
    of_speed = claim in (Claim.FASTER, Claim.UNDONE)
    if of_speed and slower and _too_short(effect):
        why = f"both launches take less than {_LAUNCH_US:g} µs, which says little of the kernel: {figures}"
        return Outcome("undecided", Code.TOO_SHORT, f"{sentence}; {why}", Label.MEASURED, effect)
    if of_speed and effect.state is SpeedState.SAME:
        why = f"no effect is to be seen here: {figures}"
        return Outcome("undecided", Code.NO_EFFECT, f"{sentence}; {why}", Label.MEASURED, effect)
    if claim is Claim.FASTER and slower:
        return Outcome("failed", code, f"{sentence}, but not faster here: {figures}", Label.MEASURED, effect)
    if claim is Claim.UNDONE and slower:
        return Outcome(
            "failed",
            code,
            f"{sentence}, and what was undone was not slower here: {figures}",
            Label.MEASURED,
            effect,
        )
    return Outcome("reproduced", code, f"{sentence}; {figures}", Label.MEASURED, effect)


def _too_short(effect: Effect) -> bool:
    """Whether all that was timed took little more than launching takes."""
    took = [max(shape.baseline_us, shape.candidate_us) for shape in effect.by_shape]
    return bool(took) and max(took) < _LAUNCH_US


def _undecided(code: str | None, reason: str) -> Outcome:
    return Outcome("undecided", str(code or Code.NO_WORKLOAD), reason)


def effect_of(verdict: Verdict, swapped: bool) -> Effect:
    """The speed-up of a verdict in the direction of the transition. The verdict has one."""
    speedup = verdict.speedup
    if speedup is None:
        raise ValueError("nothing was timed")
    gain = _mirrored(speedup) if swapped else speedup
    device = (verdict.environment.get("device") or {}).get("name", "a GPU")
    return Effect(**gain.model_dump(), device=str(device))


def _mirrored(speedup: Speedup) -> Speedup:
    return Speedup(
        median=1 / speedup.median,
        low=1 / speedup.high,
        high=1 / speedup.low,
        state=_MIRROR.get(speedup.state, speedup.state),
        by_shape=[
            ShapeSpeed(
                dims=shape.dims,
                baseline_us=shape.candidate_us,
                candidate_us=shape.baseline_us,
                median=1 / shape.median,
                low=1 / shape.high,
                high=1 / shape.low,
                noise=shape.noise,
                state=_MIRROR.get(shape.state, shape.state),
            )
            for shape in speedup.by_shape
        ],
    )


def counterexample_of(stage: Stage) -> Counterexample:
    """Where a stage saw a state fail; for a sanitizer's finding the case is read from its name."""
    about: dict[str, Any] = dict(stage.details)
    finding: dict[str, Any] = next(iter(about.get("findings", ())), {}) if stage.name == "sanitize" else {}
    case = str(about.get("case") or finding.get("case") or "")
    seed = about.get("seed") or (int(match[1]) if (match := _SEED.search(case)) else None)
    dims = about.get("dims") or {n: int(v) for n, v in _DIM.findall(case) if n != "seed"}
    cause = about.get("cause") if stage.code is Reason.BASELINE_FAILS_CHECK else stage.code
    return Counterexample(
        what=_BASELINE_SAYS.sub("", stage.reason),
        code=str(cause or stage.code),
        dims=dims,
        seed=seed,
        inputs=str(about.get("inputs") or ""),
        line=about.get("line") or finding.get("line"),
    )
