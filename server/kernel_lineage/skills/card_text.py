"""The hover card: a skill at an anchor in Markdown that also reads well as plain text. Hover, CLI and report use it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from kernel_lineage.kernels.mechanisms.registry import mechanisms
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.skills.applicable import Applicable, Judged
from kernel_lineage.skills.card import ConditionKind, Evidence, Origin, Skill
from kernel_lineage.skills.conditions.render import sentence
from kernel_lineage.skills.conditions.truth import Truth
from kernel_lineage.skills.effect import Match

SIGNS = {Truth.HOLDS: "✓", Truth.FAILS: "✗", Truth.UNKNOWN: "?"}
_MATCH = {Match.EXACT: "same size", Match.OTHER_SIZE: "other size", Match.OTHER_DEVICE: "other device"}


def card_text(candidate: Applicable) -> str:
    """The whole card. Sections with nothing to say are left out, but a missing measurement is said."""
    skill = candidate.skill
    parts = [f"**{skill.title}** · {direction(skill)} · {standing(skill)}", skill.summary]
    for kind, heading in ((ConditionKind.VALIDITY, "Valid when"), (ConditionKind.PROFIT, "Pays when")):
        lines = [_line(j) for j in candidate.conditions if j.condition.kind is kind]
        if lines:
            parts.append("\n".join([f"**{heading}**", "", *lines]))
    if candidate.guardable:
        parts.append("Can be applied guarded: the fast path where these hold, the old code elsewhere.")
    parts.append(f"**Expected here:** {effect_text(candidate)}")
    if candidate.not_now:
        parts.append(f"**{candidate.not_now[0].upper()}{candidate.not_now[1:]}**")
    if candidate.rank_reason:
        parts.append(f"**Offered here because:** {candidate.rank_reason}")
    if wrong := _goes_wrong(candidate):
        parts.append(f"**Goes wrong otherwise:** {wrong}")
    parts.append(f"**From:** {origin(skill)}")
    return "\n\n".join(parts) + "\n"


def skill_text(skill: Skill) -> str:
    """The card of a skill by itself, as `skills show` prints it: its conditions, not their truth anywhere."""
    parts = [f"**{skill.title}** (`{skill.id}`) · {direction(skill)} · {standing(skill)}", skill.summary]
    for kind, heading in ((ConditionKind.VALIDITY, "Valid when"), (ConditionKind.PROFIT, "Pays when")):
        lines = [
            f"- `{c.expr}` — {sentence(c.expr)} ({c.category.value}; {c.origin.value}). Otherwise: {c.reason}"
            for c in skill.conditions
            if c.kind is kind
        ]
        if lines:
            parts.append("\n".join([f"**{heading}**", "", *lines]))
    if skill.nothing_to_say:
        silent = [f"- {n.category.value}: {n.reason}" for n in skill.nothing_to_say]
        parts.append("\n".join(["**No condition on**", "", *silent]))
    rule = skill.anchor
    where = [f"`{rule.pattern}` in {', '.join(skill.languages)}"]
    where += [f"needs {', '.join(rule.requires)}"] if rule.requires else []
    where += [f"not with {', '.join(rule.conflicts)}"] if rule.conflicts else []
    by = f"assist `{skill.assist}`" if skill.assist else "a model, from the card"
    parts.append(f"**Where:** {'; '.join(where)} · **Carried over by:** {by}")
    parts.append(f"**Effect:** {skill.effect}" + ("" if skill.evidence else " Not measured yet."))
    parts += [f"**Risk:** {r.what} ({r.evidence})" for r in skill.risk]
    parts += [f"**Measured:** {line}" for line in map(evidence_text, skill.evidence)]
    return "\n\n".join([*parts, skill.carrier, f"**From:** {origin(skill)} · {skill.licence}"]) + "\n"


def skill_lines(skills: Iterable[Skill]) -> str:
    """One line per skill, in columns."""
    rows = [
        (s.id, direction(s), "/".join(s.languages), "assist" if s.assist else "model", s.summary)
        for s in skills
    ]
    widths = [max(map(len, column), default=0) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in rows)


def cards_text(path: Path, listed: Iterable[tuple[Kernel, Sequence[Applicable]]]) -> str:
    """All cards of a file's kernels, as `klineage applicable` prints them."""
    parts: list[str] = []
    for kernel, candidates in listed:
        parts.append(f"# {kernel.name} ({path}:{kernel.span.first_line})")
        parts += [
            f"{path}:{a.anchor.span.first_line}: {a.anchor.detail}\n\n{card_text(a)}" for a in candidates
        ]
        if not candidates:
            parts.append("No skill has a place in this kernel.\n")
    return "\n\n".join(parts)


def evidence_text(evidence: Evidence) -> str:
    """One gate verdict in one line; failures are shown like successes."""
    sizes = [
        f"{s.speedup:.2f}× ({s.low:.2f} … {s.high:.2f}) at {', '.join(f'{n} = {v}' for n, v in s.dims.items())}"
        for s in evidence.sizes
    ]
    use = "held out" if evidence.held_out else "learned from"
    return f"{evidence.outcome} on {evidence.kernel} ({use}), {evidence.device}, {evidence.date}: " + (
        "; ".join(sizes) or evidence.reason
    )


def direction(skill: Skill) -> str:
    """What the skill's mechanism works on: `memory access`."""
    mechanism = mechanisms().get(skill.mechanism)
    return mechanism.direction.value if mechanism is not None else skill.mechanism


def standing(skill: Skill) -> str:
    """Whether verified uses admit the skill: `admitted (3 of 3 held-out uses)`, else that it is a hypothesis."""
    if skill.admitted:
        return f"admitted ({len(skill.uses)} of {sum(e.held_out for e in skill.evidence)} held-out uses)"
    return f"hypothesis ({no_use(skill)})"


def no_use(skill: Skill) -> str:
    """Why a skill is not admitted."""
    tried = sum(e.held_out for e in skill.evidence)
    if not tried:
        return "no use on another kernel has been verified"
    if skill.unverified:
        return f"of {tried} uses that come with it none was verified by you; `klineage skills measure` does"
    return f"none of {tried} uses on other kernels was accepted"


def effect_text(candidate: Applicable) -> str:
    """The expected effect with its interval and how near the measurement is; says so when there is none."""
    effect = candidate.expected
    if effect is None:
        return f"not measured yet. {candidate.skill.effect}"
    size = ", ".join(f"{name} = {value}" for name, value in effect.dims.items())
    return (
        f"{effect.speedup:.2f}× ({effect.low:.2f} … {effect.high:.2f}), {effect.device}, {_MATCH[candidate.match]}"
        f" (measured on {effect.kernel} at {size})"
    )


def origin(skill: Skill) -> str:
    """Where the skill and its conditions come from."""
    if skill.lineage is not None:
        came = f"{skill.lineage.repository} {' → '.join(c[:7] for c in skill.lineage.commits)}"
    else:
        came = "the built-in library" if skill.builtin else "written by hand"
    counts = {o: sum(c.origin is o for c in skill.conditions) for o in Origin}
    phrases = [f"{n} by {o.value}" for o, n in counts.items() if n]
    return " · ".join([came, *([f"conditions: {', '.join(phrases)}"] if phrases else [])])


def _line(judged: Judged) -> str:
    known_by = f" ({judged.condition.origin.value}{_after_colon(judged.condition.evidence)})"
    evidence = f": {judged.evidence}" if judged.evidence else ""
    return f"- {SIGNS[judged.judgement.truth]} `{judged.expr}` — {judged.sentence}{known_by}{evidence}"


def _after_colon(text: str | None) -> str:
    return f": {text}" if text else ""


def _goes_wrong(candidate: Applicable) -> str:
    """What failing or unknown validity conditions would do, then what is recorded as risk."""
    reasons = [
        j.condition.reason.rstrip(".")
        for j in candidate.conditions
        if j.condition.kind is ConditionKind.VALIDITY and j.judgement.truth is not Truth.HOLDS
    ]
    recorded = [f"{r.what.rstrip('.')} ({r.evidence})" for r in candidate.skill.risk]
    return "; ".join([*reasons, *recorded])
