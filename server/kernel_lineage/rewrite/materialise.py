"""A skill at an anchor → a candidate, by an assist, a model, or a handoff.

Validity first: where a condition fails, there is no candidate; where one is not known to hold, only a guarded form,
which keeps the old code on the path where it does not. Nobody can tell of a model's candidate whether it is guarded, so
where validity is unknown it is gated and shown, and not applied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal

from kernel_gate.verdict import Outcome, Verdict
from kernel_lineage.kernels.anchors.registry import anchors_of
from kernel_lineage.kernels.mechanisms.registry import mechanisms_of
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.model import Assist, Refusal
from kernel_lineage.rewrite.assists.model import attempt as attempted
from kernel_lineage.rewrite.assists.readable_forms import readable_form
from kernel_lineage.rewrite.assists.registry import assist_for
from kernel_lineage.rewrite.candidate import Candidate
from kernel_lineage.rewrite.handoff import ask_again, open_handoff, read_answer
from kernel_lineage.rewrite.model.client import Answer, Budget, Message, Patience, ask
from kernel_lineage.rewrite.model.prompt import RewriteRequest, messages_for, repair_message
from kernel_lineage.rewrite.model.repair import OnRound, attempt, findings, silent
from kernel_lineage.rewrite.model.secrets import secrets_in
from kernel_lineage.rewrite.model.settings import ModelSettings
from kernel_lineage.skills.applicable import Applicable, fits, is_at, judge_at, known_here
from kernel_lineage.skills.card import Skill
from kernel_lineage.skills.conditions.facts import Facts
from kernel_lineage.skills.conditions.truth import Truth
from kernel_lineage.skills.promises import promises_of

Gate = Callable[[Candidate], Verdict | None]
"""A verdict, or None when there is no workload to gate with."""


@dataclass(frozen=True, slots=True)
class Lane:
    """By what a candidate is made."""

    name: Literal["assist", "model", "handoff"]
    settings: ModelSettings | None = None
    """The model lane's endpoint."""
    patience: Patience = field(default_factory=Patience)
    on_round: OnRound = silent


@dataclass(frozen=True, slots=True)
class Materialised:
    """A candidate, and what is known of it."""

    candidate: Candidate
    verdict: Verdict | None = None
    """When it was gated on the way."""
    note: str = ""
    """What to say after the explanation."""
    unknown: str = ""
    """A validity condition that is not known to hold and that nothing guards: then it is not applied."""


@dataclass(frozen=True, slots=True)
class NoCandidate:
    """Why there is none, in one line."""

    reason: str


def materialise(
    lane: Lane, skill: Skill, kernel: Kernel, facts: Facts, root: Path, gate: Gate, line: int | None = None
) -> Materialised | NoCandidate:
    """A candidate for the first anchor that takes one; an assist may need another form of the kernel to find it.

    Raises `ModelError`, `HandoffError`.
    """
    made = _of_this_form(lane, skill, kernel, facts, root, gate, line)
    form = readable_form(kernel) if lane.name == "assist" and isinstance(made, NoCandidate) else None
    if form is None:
        return made
    also = _of_this_form(lane, skill, form.kernel, facts, root, gate, None)
    both = attempted(partial(form.of_both, also.candidate)) if isinstance(also, Materialised) else None
    if both is None or isinstance(both, Refusal) or isinstance(also, NoCandidate):
        return made
    return replace(also, candidate=both, note=form.named(also.note))


def _of_this_form(
    lane: Lane, skill: Skill, kernel: Kernel, facts: Facts, root: Path, gate: Gate, line: int | None
) -> Materialised | NoCandidate:
    if kernel.language not in skill.languages:
        return NoCandidate(
            f"{skill.id} is for {' and '.join(skill.languages)}, and {kernel.name} is {kernel.language}"
        )
    places = [a for a in anchors_of(kernel) if is_at(skill, a)]
    if line is not None:
        places.sort(key=lambda a: abs(a.span.first_line - line))
    if not places:
        return NoCandidate(
            f"{skill.title} has nothing to start from in {kernel.name} (no {skill.anchor.pattern})"
        )
    sites = mechanisms_of(kernel)
    if not fits(skill, kernel, {s.mechanism for s in sites}):
        return NoCandidate(
            f"{skill.title} does not fit {kernel.name}: a mechanism is there already, or one is missing"
        )
    everything = known_here(kernel, facts, sites)
    judged = [judge_at(skill, anchor, everything, promises_of(kernel)) for anchor in places]
    possible = [j for j in judged if j.verdict is not Truth.FAILS or (lane.name == "assist" and j.possible)]
    if not possible:
        return NoCandidate(judged[0].reason)
    if lane.name == "assist":
        return _by_assist(skill, kernel, possible)
    first = possible[0]
    request = RewriteRequest(
        kernel,
        skill,
        tuple((c.condition, c.judgement) for c in first.conditions),
        everything,
        kernel.launches[0] if len(kernel.launches) == 1 else None,
    )
    if lane.name == "handoff":
        return _by_handoff(request, root, gate, first)
    assert lane.settings is not None
    return _by_model(request, lane, lane.settings, gate, first)


def _by_assist(skill: Skill, kernel: Kernel, possible: Iterable[Applicable]) -> Materialised | NoCandidate:
    assist = assist_for(skill.id)
    if assist is None:
        return NoCandidate(f"no assist carries {skill.id} over; use --by model or --by handoff")
    reasons: list[str] = []
    for place in possible:
        made = carried_over(assist, kernel, place)
        if isinstance(made, Refusal):
            reasons.append(made.reason)
            continue
        note = "" if place.verdict is Truth.HOLDS else f" Guarded, because {place.reason}."
        return Materialised(made, note=note)
    return NoCandidate(reasons[0])


def carried_over(assist: Assist, kernel: Kernel, place: Applicable) -> Candidate | Refusal:
    """What an assist makes of a skill at a place; a refusal where it changes nothing or guards too little."""
    made = assist.rewrite(kernel, place.anchor)
    if isinstance(made, Refusal):
        return made
    if not (made.edits or made.launch):
        return Refusal(f"there is nothing to change in {kernel.name}")
    if place.verdict is not Truth.HOLDS and not made.guarded:
        return Refusal(place.reason)
    return replace(made, skill=place.skill.id)


def _unknown(place: Applicable) -> str:
    return place.reason if place.verdict is Truth.UNKNOWN else ""


def _held_back(kernel: Kernel) -> NoCandidate | None:
    """Where a secret stands in what a model would be sent; the secret itself is not repeated."""
    for secret in secrets_in(kernel.text):
        line = kernel.span.first_line + secret.line - 1
        return NoCandidate(
            f"Held back: {secret.kind} stands in line {line} of the file, in {kernel.name}. Nothing was sent; "
            "take it out of the code, and renew it where it may have been seen"
        )
    return None


def _by_model(
    request: RewriteRequest, lane: Lane, settings: ModelSettings, gate: Gate, place: Applicable
) -> Materialised | NoCandidate:
    if held := _held_back(request.kernel):
        return held
    budget = Budget(settings.token_budget)

    def put(messages: list[Message]) -> Answer:
        return ask(settings, messages, budget, lane.patience)

    ended = attempt(request, f"model:{settings.model}", put, gate, on_round=lane.on_round)
    if ended.candidate is None:
        return NoCandidate(f"{ended.reason} ({ended.rounds} of its answers were read)")
    return Materialised(ended.candidate, ended.verdict, unknown=_unknown(place))


def _by_handoff(
    request: RewriteRequest, root: Path, gate: Gate, place: Applicable
) -> Materialised | NoCandidate:
    if held := _held_back(request.kernel):
        return held
    handoff, messages = open_handoff(root, messages_for(request))
    text = read_answer(handoff)
    if text is None:
        return NoCandidate(
            f"The request is in {handoff.request}. Put the answer into {handoff.answer} and run the same command again."
        )
    ended = attempt(request, "handoff", lambda _messages: Answer(text, 0), gate, rounds=0)
    verdict = ended.verdict
    if ended.candidate is not None and (verdict is None or verdict.outcome is not Outcome.REJECTED):
        return Materialised(ended.candidate, verdict, unknown=_unknown(place))
    finding = findings(verdict) if verdict is not None else ended.reason
    ask_again(handoff, [*messages, {"role": "assistant", "content": text}, repair_message(finding)])
    again = f" The request with this finding is in {handoff.request}."
    if ended.candidate is None:
        return NoCandidate(ended.reason + again)
    return Materialised(ended.candidate, verdict, again, _unknown(place))
