"""A skill at a place in at most six lines: what, expected range, the one open condition, what can be done."""

from __future__ import annotations

from kernel_lineage.rewrite.offers_document import KernelOffersDocument
from kernel_lineage.rewrite.standing import Standing
from kernel_lineage.skills.applicable import Applicable, Judged
from kernel_lineage.skills.card import ConditionKind
from kernel_lineage.skills.card_text import SIGNS, direction, effect_text, standing
from kernel_lineage.skills.conditions.truth import Truth

_WORDS = {
    Standing.NEEDS_FACT: "Needs a fact",
    Standing.NO_ASSIST: "No assist carries it over",
    Standing.DOES_NOT_APPLY: "Not here",
}


def skill_lines(candidate: Applicable, offers: KernelOffersDocument | None) -> list[str]:
    """The lines of a hover; `klineage.cards` has the whole card."""
    skill = candidate.skill
    return [
        f"**{skill.title}** · {direction(skill)} · {standing(skill)}",
        skill.summary,
        f"**Expected here:** {effect_text(candidate)}",
        _condition(candidate),
        _standing(candidate, offers),
    ]


def offers_line(candidates: list[Applicable], offers: KernelOffersDocument | None, hypotheses: bool) -> str:
    """What can be done to a kernel, in one line; `hypotheses` counts them as the other skills."""
    titles = {one.skill.id: one.skill.title for one in candidates}
    if not titles:
        return "**Skills** none has a place here"
    if offers is None:
        return f"**Skills** {len(titles)} have a place here; which of them can be done is not known yet"
    named = [
        (
            titles.get(o.skill, o.skill) + " (no gain expected)" * bool(o.gainless),
            o.hypothesis and not hypotheses,
        )
        for o in offers.offers
    ]
    now, guesses = [t for t, guess in named if not guess], [t for t, guess in named if guess]
    parts = [f"{len(now)} can be done now" + (f": {', '.join(now)}" if now else "")]
    parts += [f"{len(guesses)} as a hypothesis: {', '.join(guesses)}"] if guesses else []
    standings = [refused.standing for refused in offers.refused]
    waiting, by_model = standings.count(Standing.NEEDS_FACT), standings.count(Standing.NO_ASSIST)
    parts += [f"{waiting} need{'s' * (waiting == 1)} a fact"] if waiting else []
    parts += [f"{by_model} only a model can"] if by_model else []
    return f"**Skills** {' · '.join(parts)}"


def _condition(candidate: Applicable) -> str:
    """The first condition that is not known to hold: of validity before profit."""
    open_ = sorted(
        (j for j in candidate.conditions if j.judgement.truth is not Truth.HOLDS),
        key=lambda j: (j.condition.kind is not ConditionKind.VALIDITY, j.judgement.truth is not Truth.FAILS),
    )
    if not open_:
        return f"{SIGNS[Truth.HOLDS]} every condition holds"
    more = f" ({len(open_) - 1} more)" if len(open_) > 1 else ""
    return _line(open_[0]) + more


def _line(judged: Judged) -> str:
    evidence = f": {judged.evidence}" if judged.evidence else ""
    pays = "pays when " if judged.condition.kind is ConditionKind.PROFIT else ""
    return f"{SIGNS[judged.judgement.truth]} {pays}`{judged.expr}` — {judged.sentence}{evidence}"


def _standing(candidate: Applicable, offers: KernelOffersDocument | None) -> str:
    if candidate.not_now:
        return f"**{candidate.not_now[0].upper()}{candidate.not_now[1:]}**"
    if offers is None:
        return ""
    offer = next((one for one in offers.offers if one.skill == candidate.skill.id), None)
    if offer is not None and not candidate.possible:
        return f"**Not at this place**: it can be done at line {offer.line}, where {offer.where}"
    if offer is not None:
        guarded = ", guarded: the old code runs elsewhere" if offer.guarded else ""
        gainless = f"; no gain is expected, as this does not hold: {offer.gainless}" if offer.gainless else ""
        return f"**Can be done now**{guarded}{gainless}"
    refused = next((one for one in offers.refused if one.skill == candidate.skill.id), None)
    return f"**{_WORDS[refused.standing]}**: {refused.reason}" if refused is not None else ""
