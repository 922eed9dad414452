"""What can be done to a kernel now, a line each: what an assist makes a candidate of, with what is known of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from kernel_lineage.kernels.naming import earlier_namesake
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.offers_document import (
    KernelOffersDocument,
    OfferDocument,
    OffersDocument,
    RefusedDocument,
)
from kernel_lineage.rewrite.optimise.proposals import Proposal, at_places, uses
from kernel_lineage.skills.applicable import Applicable
from kernel_lineage.skills.card import Skill
from kernel_lineage.skills.conditions.facts import Facts
from kernel_lineage.skills.listing import Listed

_MOST = 5


def offers_document(listed: Iterable[Listed], notes: Sequence[str] = ()) -> OffersDocument:
    """The document of some kernels."""
    offered = [offers_of(one.kernel, one.places, one.skills, one.facts) for one in listed]
    return OffersDocument(kernels=offered, notes=list(notes))


def offers_of(
    kernel: Kernel, offers: Sequence[Applicable], skills: Iterable[Skill] = (), facts: Facts | None = None
) -> KernelOffersDocument:
    """What can be done to one kernel: the one answer of the command line, of agents and of editors.

    `skills` are also tried, on these facts, on another form of the kernel.
    """
    if (namesake := earlier_namesake(kernel)) is not None:
        why = {one.skill.id: one.reason for one in reversed(offers)}
        why |= {one.skill.id: namesake for one in offers if one.possible}
        refused = [RefusedDocument(skill=skill, reason=reason) for skill, reason in why.items()]
        return KernelOffersDocument(kernel=kernel.name, line=kernel.span.first_line, refused=refused)
    made = at_places(kernel, skills, facts or Facts(), offers)
    first: dict[str, Proposal] = {}
    for proposal in made.made:
        first.setdefault(proposal.skill, proposal)
    return KernelOffersDocument(
        kernel=kernel.name,
        line=kernel.span.first_line,
        offers=[
            OfferDocument(
                skill=offer.skill,
                line=offer.place.anchor.span.first_line,
                where=offer.place.anchor.detail,
                guarded=offer.candidate.guarded,
                measured=measured(offer.place.skill),
                hypothesis=not offer.place.skill.admitted,
                gainless=offer.place.gainless,
            )
            for offer in first.values()
        ],
        refused=[
            RefusedDocument(skill=one.skill, standing=one.standing, reason=one.reason) for one in made.refused
        ],
    )


def offers_text(path: Path, listed: Iterable[Listed]) -> str:
    """For each kernel at most five lines: skill, place, why, what was measured, and the command to paste."""
    parts: list[str] = []
    for kernel in offers_document(listed).kernels:
        offers = kernel.offers
        rest = f"{len(offers) - _MOST} more, " if len(offers) > _MOST else ""
        parts.append(f"{kernel.kernel} ({path}:{kernel.line})")
        parts += [_line(path, kernel.kernel, offer) for offer in offers[:_MOST]]
        if not offers:
            parts.append("  no assist makes a candidate of it")
        parts.append(f"  {rest}{len(kernel.refused)} refused; --all says why, with every condition")
    return "\n".join(parts)


def _line(path: Path, kernel: str, offer: OfferDocument) -> str:
    guarded = ", guarded" if offer.guarded else ""
    gainless = ", no gain expected" if offer.gainless else ""
    hypothesis = "a hypothesis, " if offer.hypothesis else ""
    return (
        f"  {offer.skill} · line {offer.line} · {offer.where}{guarded}{gainless} · "
        f"{hypothesis}{offer.measured} · klineage apply {offer.skill} {path}:{kernel}"
    )


def measured(skill: Skill) -> str:
    """The range of everything that was measured of a skill, rejected uses included."""
    accepted, judged = uses(skill)
    if not judged:
        return (
            f"{len(skill.unverified)} uses by its own word, none verified"
            if skill.unverified
            else "never measured"
        )
    speeds = [s.speedup for e in skill.verified if e.outcome in ("accepted", "rejected") for s in e.sizes]
    among = f"{accepted} of {judged} uses accepted"
    return f"{min(speeds):.2f}× … {max(speeds):.2f}×, {among}" if speeds else among
