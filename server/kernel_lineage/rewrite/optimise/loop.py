"""Proposals → gate → promote the best → again, until nothing is left, the roofline is reached, or a budget is spent.

Each round gates what the assists make of the current text against that text, at short measurements. After a gain that
is large the round only tries what would take its place or usually gains more; a skill for many devices is left out
where the one for this device alone gains. In the end the last text is gated against the file as it was, in full; only
that verdict speaks for the result, and a step that it rejects is taken back. Without a GPU, what is correct is ordered
by counted work, and nothing is said to be faster.

A search ends within its seconds, and within a deadline around it (`kernel_gate.deadline`): no candidate's gate takes
more than two thirds of what is left, and once something gains, the last verdict's part is kept for it. A gate that is
cut off says nothing of its candidate.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kernel_gate.deadline import ends_within, seconds_left
from kernel_gate.options import GateOptions
from kernel_gate.reasons import Reason
from kernel_gate.verdict import Outcome, StageStatus, Verdict
from kernel_lineage.rewrite.optimise.document import OptimiseDocument, RefusedDocument, TriedDocument, Work
from kernel_lineage.rewrite.optimise.proposals import NotProposed, Proposal, proposals_of
from kernel_lineage.rewrite.optimise.search import Search, Version, kernels_in
from kernel_lineage.rewrite.profile_facts import profile_facts, profile_of
from kernel_lineage.skills.conditions.facts import Facts

SCREENING = GateOptions(profile_seconds=1.0, interval=0.02, check_seconds=60.0, watch_seconds=0.0)
"""Only the last verdict watches on the emulated device as well, which takes most of the time where there is a GPU."""
_LEAST_GAIN = 1.02
"""A smaller gain is not promoted: it would be within what a short measurement can tell."""
_LARGE_GAIN = 1.5
_AT_ROOFLINE = 0.95
_TRIES_WITHOUT_GAIN = 2
_FOR_ONE = 2 / 3
"""The share of what is left that one candidate's gate may take."""
_IN_FULL = 2.0, 5.0
"""The last verdict's seconds: so many times those of the same candidate's short one, and so many besides."""
_LEAST = 0.05
"""The share of the budget below which no gate is begun, before one has told how long it takes."""
_CUT = frozenset({Reason.HANG, Reason.CASE_TIME_SPENT})
"""How a verdict ends that is inconclusive for want of time."""
_OF_THE_BASELINE = frozenset(r for r in Reason if r.value.startswith("baseline-"))


Judge = Callable[[Version, Version, GateOptions], Verdict]
"""Before, after, options → the gate's verdict."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a search ended."""

    document: OptimiseDocument
    version: Version
    """The last one that was promoted; the first one when nothing was."""
    texts: Mapping[str, bytes]
    """Every file that was tried, by the digest that the document gives it."""


@dataclass(slots=True)
class _State:
    current: Version
    started: float
    promoted: list[Version] = field(default_factory=list)
    tried: list[TriedDocument] = field(default_factory=list)
    texts: dict[str, bytes] = field(default_factory=dict)
    """Every file that was tried, by its digest."""
    gainless: dict[tuple[str, str], int] = field(default_factory=dict)
    """How often a skill, behind the kernel, has gained nothing."""
    refused: tuple[NotProposed, ...] = ()
    profile: Facts = field(default_factory=Facts)
    device_seconds: float = 0.0
    device: str = ""
    shortest: float | None = None
    """The seconds of the shortest gate that came to its end."""
    kept_back: float = 0.0
    """The seconds that the last verdict is likely to take."""
    cut: int = 0
    """Candidates whose gate the deadline ended."""

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started


def optimise(search: Search, judge: Judge, report: Callable[[TriedDocument], None] = lambda _: None) -> Ended:
    """Search until there is a reason to stop; Ctrl-C is one."""
    with ends_within(search.seconds):
        return _searched(search, judge, report)


def _searched(search: Search, judge: Judge, report: Callable[[TriedDocument], None]) -> Ended:
    first = Version(search.text, function=search.function)
    state = _State(first, time.monotonic())
    stopped, reason = "", ""
    number, verdict = 0, None
    try:
        while not stopped:
            number += 1
            stopped, reason = _round(search, state, judge, report, number)
        verdict = _in_full(first, state, judge) if state.promoted else None
    except KeyboardInterrupt:
        stopped, reason = "cancelled", "It was cancelled; what was promoted until then stands."
    if verdict is not None and _is_cut(verdict):
        reason += " That did not do for the last verdict; run it again: it goes on where it was."
    document = OptimiseDocument.model_validate(
        {
            "path": str(search.path),
            "kernel": search.name,
            "device": state.device,
            "tried": state.tried,
            "not_tried": [RefusedDocument(skill=r.skill, reason=r.reason) for r in state.refused],
            "stopped": stopped,
            "reason": reason,
            "timed": any(t.speedup is not None for t in state.tried),
            "verdict": verdict,
            "source_sha256": hashlib.sha256(search.text).hexdigest(),
            "seconds": round(state.seconds, 2),
            "device_seconds": round(state.device_seconds, 2),
        }
    )
    return Ended(document, state.current, state.texts)


def _in_full(first: Version, state: _State, judge: Judge) -> Verdict:
    """The verdict on the last version that the full gate does not reject; on the last one where it rejects all."""
    last: Verdict | None = None
    while state.promoted:
        verdict = judge(first, state.promoted[-1], GateOptions())
        _spent(state, verdict)
        last = last or verdict
        if verdict.outcome is not Outcome.REJECTED:
            return verdict
        state.promoted.pop()
        state.current = state.promoted[-1] if state.promoted else first
        step = next(i for i in reversed(range(len(state.tried))) if state.tried[i].promoted)
        why = f"promoted at first, rejected in full: {verdict.reason}"
        state.tried[step] = state.tried[step].model_copy(update={"promoted": False, "reason": why})
    assert last is not None
    return last


def _round(
    search: Search, state: _State, judge: Judge, report: Callable[[TriedDocument], None], number: int
) -> tuple[str, str]:
    """One round; gives why to stop, or ("", "") to go on."""
    kernels = [(k, facts.merged(state.profile)) for k, facts in kernels_in(search, state.current)]
    offered = proposals_of(kernels, search.skills)
    state.refused = offered.refused
    best: tuple[TriedDocument, Proposal] | None = None
    try:
        for proposal in _sorted(offered.made, state, search.function):
            if best is not None and (
                best[1].candidate.becomes
                or best[1].replaces(proposal)
                or (best[0].gain >= max(_LARGE_GAIN, proposal.expected) and not _instead(proposal, best[1]))
            ):
                continue
            if _over(search, state) or not (search.is_open or proposal.candidate.becomes or state.promoted):
                # A change of one kernel of several is judged by that kernel's own workload, which tells more of it.
                break
            outcome, verdict = _try(state, proposal, judge, number)
            state.tried.append(outcome)
            report(outcome)
            if verdict.code in _OF_THE_BASELINE:
                return "baseline", f"{search.name} cannot be judged as it stands: {verdict.reason}."
            if state.profile.get("profile.bandwidth_share") is None:
                state.profile = profile_facts(profile_of(verdict), f"round {number}")
            if not outcome.promising or outcome.gain < _LEAST_GAIN:
                tried = proposal.candidate.kernel, proposal.skill
                state.gainless[tried] = state.gainless.get(tried, 0) + 1
            elif best is None or outcome.gain > best[0].gain:
                best = outcome, proposal
                state.kept_back = max(state.kept_back, _in_full_seconds(search, verdict))
    except KeyboardInterrupt:
        if best is not None:
            _promote(state, *best)
        raise
    if best is None:
        return _over(search, state) or (
            "seconds" if state.cut else "nothing_admissible",
            _nothing_left(state),
        )
    share = _promote(state, *best)
    if share is not None and share >= _AT_ROOFLINE:
        return "roofline", f"It moves its bytes at {_AT_ROOFLINE:.0%} or more of what the device can."
    return _over(search, state) or ("", "")


def _promote(state: _State, outcome: TriedDocument, proposal: Proposal) -> float | None:
    """Go on from a proposal; gives the share of the device's bandwidth that it reaches, where both were measured."""
    state.tried[state.tried.index(outcome)] = outcome.model_copy(update={"promoted": True})
    state.current = state.current.after(proposal)
    state.promoted.append(state.current)
    # Other choices of it lost; its other places are tried after it has won.
    state.gainless.pop((proposal.candidate.kernel, proposal.skill), None)
    share = state.profile.get("profile.bandwidth_share")
    state.profile = Facts()
    if share is None or outcome.speedup is None:
        return None
    return float(str(share.values[0])) * outcome.gain


def _instead(proposal: Proposal, other: Proposal) -> bool:
    """Whether one of two proposals takes the other's place: what the first finds there is gone after the second."""
    one, then = (p.candidate.kernel for p in (proposal, other))
    return one == then and proposal.place.anchor.pattern == other.place.anchor.pattern


def _sorted(made: tuple[Proposal, ...], state: _State, function: str) -> list[Proposal]:
    """What is worth a try: not seen before, and of no skill that has shown twice that it gains nothing here.

    What joins kernels needs a workload of the host function that launches them: it is the one that is judged.
    """
    left = [
        p
        for p in made
        if p.digest not in state.texts
        and state.gainless.get((p.candidate.kernel, p.skill), 0) < _TRIES_WITHOUT_GAIN
        and p.candidate.function in ("", function)
    ]
    # What changes one of several kernels keeps them apart, so that joining them is tried first, and gone on from.
    return sorted(left, key=lambda p: not p.candidate.becomes)


def _over(search: Search, state: _State) -> tuple[str, str] | None:
    room, least = _room(state), state.shortest if state.shortest is not None else _LEAST * search.seconds
    if room <= 0 or room < least:
        left = f"What is left of the {search.seconds:g} s is too little for another candidate"
        return "seconds", f"{left}; --seconds gives more."
    if state.device_seconds >= search.device_seconds:
        spent = f"The {search.device_seconds:g} s of the device are spent"
        return "device_seconds", f"{spent}; --device-seconds gives more."
    return None


def _room(state: _State) -> float:
    """The seconds that one candidate's gate may take."""
    left = seconds_left()
    return min(_FOR_ONE * left, left - state.kept_back)


def _seconds_of(verdict: Verdict) -> float:
    """The seconds of a verdict's stages, also of one that was kept from an earlier run."""
    return sum(stage.seconds or 0.0 for stage in verdict.stages)


def _in_full_seconds(search: Search, verdict: Verdict) -> float:
    """What the full gate is likely to take after this short one; at most half of the budget."""
    times, besides = _IN_FULL
    return min(times * _seconds_of(verdict) + besides, search.seconds / 2)


def _is_cut(verdict: Verdict) -> bool:
    return verdict.outcome is Outcome.INCONCLUSIVE and verdict.code in _CUT


def _nothing_left(state: _State) -> str:
    correct = sum(t.correct and not t.promoted for t in state.tried)
    also = f"; {correct} of those tried are correct and gain nothing" if correct else ""
    late = (
        f"; the time was too short to judge {state.cut} of those tried, --seconds gives more"
        if state.cut
        else ""
    )
    return f"No assist makes a candidate that is untried and gains{also}{late}."


def _try(state: _State, proposal: Proposal, judge: Judge, number: int) -> tuple[TriedDocument, Verdict]:
    began = time.monotonic()
    after = state.current.after(proposal)
    with ends_within(_room(state)):
        verdict = judge(state.current, after, SCREENING)
    _spent(state, verdict)
    if _is_cut(verdict):
        state.cut += 1
    else:
        took = _seconds_of(verdict)
        state.shortest = took if state.shortest is None else min(state.shortest, took)
    before_work, after_work = _work(verdict)
    stages = [verdict.stage(name) for name in ("build", "check", "sanitize")]
    passed = all(stage is not None and stage.status is StageStatus.PASS for stage in stages)
    state.texts[proposal.digest] = proposal.text
    outcome = TriedDocument(
        digest=proposal.digest,
        round=number,
        skill=proposal.skill,
        explanation=proposal.candidate.explanation,
        outcome=verdict.outcome.value,
        correct=passed or verdict.outcome is Outcome.ACCEPTED,
        reason=verdict.reason,
        speedup=verdict.speedup.median if verdict.speedup is not None else None,
        before=before_work,
        after=after_work,
        seconds=round(time.monotonic() - began, 2),
    )
    return outcome, verdict


def _spent(state: _State, verdict: Verdict) -> None:
    state.device_seconds += sum(s.seconds or 0.0 for s in verdict.stages if s.name != "build")
    check = verdict.stage("check")
    device = verdict.environment.get("device") or {}
    named = device.get("name") if isinstance(device, dict) else None
    state.device = str(named or (check.details.get("device") if check is not None else "") or state.device)


def _work(verdict: Verdict) -> tuple[Work | None, Work | None]:
    sanitize = verdict.stage("sanitize")
    counts = (sanitize.details.get("counts") or {}) if sanitize is not None else {}
    totals = [(counts.get(side) or {}).get("total") for side in ("before", "after")]
    if not all(totals):
        return None, None
    made = [
        Work(
            case=str(counts.get("case", "")),
            sectors=total["global_sectors"],
            requests=total["global_requests"],
            wavefronts=total["shared_wavefronts"],
            instructions=total["instructions"],
        )
        for total in totals
        if total is not None
    ]
    return made[0], made[1]
