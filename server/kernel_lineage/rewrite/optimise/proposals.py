"""What the assists make of a kernel as it stands: each skill at each of its places, run before it is offered."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

from kernel_lineage.kernels.mechanisms.registry import mechanisms
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import data_of
from kernel_lineage.rewrite.assists.model import Refusal, attempt
from kernel_lineage.rewrite.assists.readable_forms import ReadableForm, readable_form
from kernel_lineage.rewrite.assists.registry import assist_for
from kernel_lineage.rewrite.candidate import Candidate
from kernel_lineage.rewrite.materialise import carried_over
from kernel_lineage.rewrite.optimise.gains import expected_gain
from kernel_lineage.rewrite.standing import Standing
from kernel_lineage.skills.applicable import Applicable, applicable
from kernel_lineage.skills.card import ConditionKind, Skill
from kernel_lineage.skills.conditions.evaluate import judge
from kernel_lineage.skills.conditions.facts import Fact, Facts
from kernel_lineage.skills.conditions.truth import Truth
from kernel_lineage.workloads.programs import launch_after

_FIRST = (
    "algorithm",
    "parallel mapping",
    "data reuse",
    "memory access",
    "instruction throughput",
    "latency hiding",
    "launch",
    "precision",
)
"""Directions in the order in which they are tried where nothing else tells: who does what decides what can be done
afterwards.
"""
_SHARING = "parallel mapping"
_PROMISE = "restrict_read_only"
"""The mechanism that says of pointers that they do not overlap."""
_AT_ONCE = 2
"""Choices of a skill that are tried before the other skills'."""
_MUCH = 10.0
"""A gain for which a step ahead is looked at."""
_AHEAD = 3
"""Candidates behind which one more step is looked for."""
_SEVERAL = 3
"""A skill that was judged so often and never won comes last."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A candidate that an assist has made."""

    place: Applicable
    candidate: Candidate
    text: bytes
    """The whole file with the candidate's edits."""
    choice: int = 0
    """How many choices of its assist at its place come before it."""
    gainless: bool = False
    """A condition of its skill's profit fails at the largest sizes that the kernel is run with."""

    @property
    def skill(self) -> str:
        """The skill's id."""
        return self.place.skill.id

    @property
    def expected(self) -> float:
        """What the skill has gained on naive kernels, as a factor."""
        return expected_gain(self.skill, judged=uses(self.place.skill)[1] > 0)

    @property
    def of_this_device(self) -> bool:
        """Whether the skill is for the device's own compute capability, and for no other."""
        return any(c.expr.startswith("device.compute_capability ==") for c in self.place.skill.conditions)

    def replaces(self, other: Proposal) -> bool:
        """Whether this does by what only this device has what the other one does on many, in the same place."""
        mine, others = self.place, other.place
        same = mine.anchor.pattern == others.anchor.pattern and mine.anchor.span == others.anchor.span
        return (
            same
            and mine.skill.mechanism == others.skill.mechanism
            and self.of_this_device
            and not other.of_this_device
        )

    @property
    def digest(self) -> str:
        """SHA-256 of the file and the launch; a grid that is told over the one before follows from the rest."""
        options = {name: text for name, text in self.candidate.launch.items() if "grid." not in text}
        launch = repr(sorted(options.items())).encode()
        return hashlib.sha256(self.text + launch).hexdigest()


@dataclass(frozen=True, slots=True)
class NotProposed:
    """A skill that has a place in the kernel and makes no candidate there."""

    skill: str
    standing: Standing
    reason: str


@dataclass(frozen=True, slots=True)
class Proposals:
    """All candidates for a kernel, in the order in which they are to be tried, and why there are no others."""

    made: tuple[Proposal, ...]
    refused: tuple[NotProposed, ...]


def proposals(kernel: Kernel, skills: Iterable[Skill], facts: Facts) -> Proposals:
    """The candidates that assists make of a kernel. Nothing is built and nothing is run.

    Where pointers can be promised not to overlap, what is made only then is made together with the promise; what gains
    much and has a place only after another candidate is made together with that one.
    """
    skills = tuple(skills)
    plain = at_places(kernel, skills, facts, applicable(kernel, skills, facts))
    plain = _with_second_steps(kernel, skills, facts, plain)
    offered = {p.skill for p in plain.made}
    waiting = [s for s in skills if s.id not in offered]
    promise = next((p for p in plain.made if p.place.skill.mechanism == _PROMISE), None)
    promised = read(promise.text, kernel.language).kernel(kernel.name) if promise and waiting else None
    if promise is None or promised is None:
        return plain
    also = at_places(promised, waiting, facts, applicable(promised, waiting, facts)).made
    both = [replace(p, candidate=_joined(promise.candidate, p.candidate)) for p in also]
    waited = {p.skill for p in both}
    return Proposals(
        tuple(sorted((*plain.made, *both), key=_order)),
        tuple(r for r in plain.refused if r.skill not in waited),
    )


def proposals_of(kernels: Iterable[tuple[Kernel, Facts]], skills: Iterable[Skill]) -> Proposals:
    """The candidates for any of several kernels of a file, in the order in which they are to be tried."""
    each = [(kernel, proposals(kernel, skills, facts)) for kernel, facts in kernels]
    if len(each) == 1:
        return each[0][1]
    made = sorted((p for _, own in each for p in own.made), key=_order)
    refused = [replace(r, reason=f"{kernel.name}: {r.reason}") for kernel, own in each for r in own.refused]
    return Proposals(tuple(made), tuple(refused))


def at_places(
    kernel: Kernel, skills: Iterable[Skill], facts: Facts, places: Iterable[Applicable]
) -> Proposals:
    """The candidates at places that are judged already, and what other skills make of another form of the kernel, which
    they can read.
    """
    plain = carried(kernel, places, facts)
    form = readable_form(kernel)
    if form is None:
        return plain
    offered = {p.skill for p in plain.made}
    waiting = [s for s in skills if s.id not in offered]
    also = carried(form.kernel, applicable(form.kernel, waiting, facts), facts)
    refused = {r.skill: r for r in also.refused}
    made: list[Proposal] = []
    for one in also.made:
        both = attempt(partial(form.of_both, one.candidate))
        if isinstance(both, Refusal):
            refused.setdefault(one.skill, NotProposed(one.skill, Standing.DOES_NOT_APPLY, both.reason))
            continue
        made.append(
            replace(one, place=_in(form, one.place), candidate=both, text=both.apply(data_of(kernel)))
        )
    refused = {n: replace(r, reason=_reason(form, r.reason)) for n, r in refused.items()}
    refused |= {r.skill: r for r in plain.refused if r.skill not in refused or form.apart is None}
    now = {p.skill for p in made}
    return Proposals(
        tuple(sorted((*plain.made, *made), key=_order)), tuple(r for n, r in refused.items() if n not in now)
    )


def _reason(form: ReadableForm, reason: str) -> str:
    """A reason against a candidate of another form of a kernel, with what was changed: "calls are written out"."""
    first = form.explanation
    return form.named(reason) + (f" (where {first[:1].lower()}{first[1:].rstrip('.')})" if first else "")


def _in(form: ReadableForm, place: Applicable) -> Applicable:
    """A place of another form of a kernel: no line of the kernel itself is known for it."""
    anchor = place.anchor
    return replace(place, anchor=replace(anchor, span=form.of.span, detail=form.named(anchor.detail)))


def _with_second_steps(
    kernel: Kernel, skills: tuple[Skill, ...], facts: Facts, plain: Proposals
) -> Proposals:
    """With what skills that gain much make only of what the likeliest candidates leave of a kernel."""
    offered = {p.skill for p in plain.made}
    waiting = [s for s in skills if s.id not in offered and expected_gain(s.id, judged=False) >= _MUCH]
    made = list(plain.made)
    for first in [p for p in plain.made if not p.choice][:_AHEAD] if waiting else ():
        after = read(first.text, kernel.language).kernel(kernel.name)
        if after is None:
            continue
        also = carried(after, applicable(after, waiting, facts), facts).made
        made += [replace(p, candidate=_joined(first.candidate, p.candidate)) for p in also]
        waiting = [s for s in waiting if s.id not in {p.skill for p in also}]
    now = {p.skill for p in made}
    refused = tuple(r for r in plain.refused if r.skill not in now)
    return Proposals(tuple(sorted(made, key=_order)), refused)


def _joined(first: Candidate, then: Candidate) -> Candidate:
    """A candidate made of another one's text; its edits are of that text."""
    explanation = f"{first.explanation} {then.explanation}"
    return replace(
        then, explanation=explanation, launch=launch_after(first.launch, then.launch), alternatives=()
    )


def carried(kernel: Kernel, places: Iterable[Applicable], facts: Facts) -> Proposals:
    """The candidates that assists make of a kernel at places that are judged already."""
    assert kernel.source is not None
    data = kernel.source.data
    made: dict[str, Proposal] = {}
    refused: dict[str, NotProposed] = {}
    largest = _at_largest(facts)
    for place in places:
        skill = place.skill.id
        assist = assist_for(skill)
        if assist is None:
            applies = not place.not_now and place.possible
            standing = Standing.NO_ASSIST if applies else Standing.DOES_NOT_APPLY
            why = place.not_now or ("no assist carries it over; a model may" if applies else place.reason)
            refused.setdefault(skill, NotProposed(skill, standing, why))
            continue
        if place.not_now or not place.possible:
            why = place.not_now or place.reason
            refused.setdefault(skill, NotProposed(skill, Standing.DOES_NOT_APPLY, why))
            continue
        candidate = carried_over(assist, kernel, place)
        if isinstance(candidate, Refusal):
            waits = place.verdict is Truth.UNKNOWN and candidate.reason == place.reason
            standing = Standing.NEEDS_FACT if waits else Standing.DOES_NOT_APPLY
            refused.setdefault(skill, NotProposed(skill, standing, candidate.reason))
            continue
        gainless = any(
            c.condition.kind is ConditionKind.PROFIT and judge(c.tree, largest).truth is Truth.FAILS
            for c in place.conditions
        )
        for number, choice in enumerate((candidate, *candidate.alternatives)):
            proposal = Proposal(place, choice, choice.apply(data), number, gainless)
            made.setdefault(proposal.digest, proposal)
    offered = {p.skill for p in made.values()}
    return Proposals(
        tuple(sorted(made.values(), key=_order)), tuple(r for r in refused.values() if r.skill not in offered)
    )


def _at_largest(facts: Facts) -> Facts:
    """The facts that are whole numbers, each with its largest value."""
    largest: dict[str, Fact] = {}
    for name in facts:
        fact = facts.get(name)
        values = [v for v in fact.values if isinstance(v, int)] if fact is not None else []
        if fact is not None and values and len(values) == len(fact.values):
            largest[name] = replace(fact, values=(max(values),))
    return Facts(largest)


def _order(proposal: Proposal) -> tuple[bool, bool, bool, float, int, bool, float]:
    """What has gained most on naive kernels comes first, so that a short budget reaches it; of two that have gained
    alike, the one that decides what can be done afterwards, then what is made for this device alone.

    A skill's third choice and those after it wait until each skill has had two, and what would share out too little
    waits for everything else.
    """
    skill, by_name = proposal.place.skill, mechanisms()
    directions = [str(by_name[m].direction) for m in (skill.mechanism, *skill.provides) if m in by_name]
    first = min((_FIRST.index(d) for d in directions if d in _FIRST), default=len(_FIRST))
    won, judged = uses(skill)
    return (
        judged >= _SEVERAL and not won,
        proposal.gainless and _FIRST[first : first + 1] == (_SHARING,),
        proposal.choice >= _AT_ONCE,
        -proposal.expected,
        first,
        not proposal.of_this_device,
        -(won + 1) / (judged + 2),
    )


def uses(skill: Skill) -> tuple[int, int]:
    """How many uses of a skill the gate has accepted, and how many it has judged."""
    judged = [e.outcome for e in skill.verified if e.outcome in ("accepted", "rejected")]
    return judged.count("accepted"), len(judged)
