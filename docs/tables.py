"""The generated parts of this folder's pages: page → name of the part → what writes it, from what the product reads."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from typing import get_args

from kernel_gate.emulated.registry import builders
from kernel_gate.reasons import Reason, Where
from kernel_gate.standing import Standing
from kernel_lineage.learning.probes.registry import axes as probed_axes
from kernel_lineage.learning.replay.codes import Code
from kernel_lineage.skills.card import ConditionKind, Skill
from kernel_lineage.skills.card_text import direction, evidence_text, standing
from kernel_lineage.skills.conditions.names import DTYPES, FACT_NAMES
from kernel_lineage.skills.conditions.render import sentence
from kernel_lineage.skills.conditions.tree import FUNCTIONS
from kernel_lineage.skills.library import builtin_folder, load
from kernel_lineage.skills.ranking.rules import rules as limiting_rules

_STAGES = {
    "run": "The whole run",
    "build": "Build",
    "check": "Check",
    "sanitize": "Sanitize",
    "profile": "Profile",
    "watch": "Watch",
}


def table(head: str, rows: Iterable[tuple[object, ...]]) -> str:
    """Markdown; `head` names the columns, with ` | ` between them."""
    lines = [f"| {head} |", "|" + "---|" * len(head.split(" | "))]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows)])


def standings() -> str:
    """What a verdict comes to."""
    return table(
        "standing | outcome | exit status | comes about when",
        (
            (s, s.value if s.is_conclusive else "inconclusive", s.exit_code.value, s.means)
            for s in reversed(Standing)
        ),
    )


def reasons() -> str:
    """The index of the gate's reason codes, and each with its remedy."""
    index = table(
        "code | stage | leads to", ((f"[{r}](#{r})", r.stage, " or ".join(r.leads_to)) for r in Reason)
    )
    parts = [index]
    for where in get_args(Where):
        parts.append(f"## {_STAGES[where]}")
        parts += [f"### {r}\n\n{r.means}\n\n*What to do:* {r.remedy}" for r in Reason if r.stage == where]
    return "\n\n".join(parts)


def axes() -> str:
    """What probes move."""
    return table("fact | moved", ((axis.title, axis.moves) for axis in probed_axes().values()))


def replay_codes() -> str:
    """The codes that replaying adds to the gate's."""
    return table("code | means | what to do", ((f"`{c}`", c.means, c.remedy) for c in Code))


def rules() -> str:
    """Rules on what limits a kernel."""
    return table(
        "rule | when | favours | forbids | because | source",
        (
            (
                r.id,
                f"`{r.when}`",
                ", ".join(r.favours) or "–",
                ", ".join(r.forbids) or "–",
                r.reason,
                r.source,
            )
            for r in limiting_rules()
        ),
    )


def instructions() -> str:
    """The opcodes of each file of the emulated device's instructions, and the first line of its docstring."""
    by_module: dict[str, list[str]] = {}
    for name, builder in builders().items():
        by_module.setdefault(builder.__module__, []).append(f"`{name}`")
    about = {m: (importlib.import_module(m).__doc__ or "").strip().splitlines()[0] for m in by_module}
    ordered = sorted(by_module.items(), key=lambda item: min(item[1]))
    rows = ((", ".join(sorted(names)), about[m].replace("|", "¦")) for m, names in ordered)
    return table("opcodes | what they are", rows)


def library() -> str:
    """The built-in skills: an index, and each with its conditions, risks and evidence."""
    skills, _ = load(builtin_folder(), builtin=True)
    index = table(
        "skill | works on | language | carried over by | evidence",
        (
            (
                f"[{s.title}](#{s.id})",
                direction(s),
                ", ".join(s.languages),
                f"assist `{s.assist}`" if s.assist else "a model",
                standing(s),
            )
            for s in skills
        ),
    )
    return "\n\n".join([index, *(part for skill in skills for part in _skill(skill))])


def _skill(skill: Skill) -> Iterator[str]:
    yield f'<a id="{skill.id}"></a>\n### {skill.title}'
    names = f"`{skill.id}` · mechanism `{skill.mechanism}` · anchor `{skill.anchor.pattern}`"
    yield f"{names}. {skill.summary} {skill.effect}"
    yield table(
        " | condition | says | otherwise",
        (
            (f"{kind.value}, {c.category.value}", f"`{c.expr}`", sentence(c.expr), c.reason)
            for kind in ConditionKind
            for c in skill.conditions
            if c.kind is kind
        ),
    ).replace("|  |", "| |", 1)
    if skill.risk:
        yield "\n".join(f"- Risk: {r.what} ({r.evidence})." for r in skill.risk)
    if skill.evidence:
        yield "\n".join(f"- {evidence_text(e)}" for e in skill.evidence)


def facts() -> str:
    """The facts that conditions may name."""
    named = table(
        "name | type | unit | from | says",
        ((f"`{f.form}`", f.type.value, f.unit, f.source.value, f.doc) for f in FACT_NAMES.values()),
    )
    return f"{named}\n\nData types: {', '.join(f'`{d}`' for d in DTYPES)}."


def functions() -> str:
    """The functions that conditions may call."""
    return "\n".join(
        f"- `{name}({', '.join(p.value for p in f.parameters)}{', …' if f.variadic else ''})`: {f.doc}"
        for name, f in FUNCTIONS.items()
    )


TABLES: dict[str, dict[str, Callable[[], str]]] = {
    "verdicts.md": {"standings": standings},
    "reason-codes.md": {"codes": reasons},
    "replay-reference.md": {"axes": axes, "codes": replay_codes},
    "offered-next.md": {"rules": rules},
    "skills.md": {"library": library, "facts": facts, "functions": functions},
    "emulated-device-reference.md": {"instructions": instructions},
}
