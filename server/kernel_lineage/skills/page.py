"""docs/skills.md: the built-in skills, and the language of their conditions, from the same data that the product reads."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.skills.card import ConditionKind, Skill
from kernel_lineage.skills.card_text import direction, evidence_text, standing
from kernel_lineage.skills.conditions.names import DTYPES, FACT_NAMES
from kernel_lineage.skills.conditions.render import sentence
from kernel_lineage.skills.conditions.tree import FUNCTIONS
from kernel_lineage.skills.library import builtin_folder, load


def render() -> str:
    """The page in Markdown; the same library gives the same bytes."""
    skills, _ = load(builtin_folder(), builtin=True)
    parts = ["# Skills", _INTRODUCTION, "## The built-in library", _index(skills)]
    parts += [part for skill in skills for part in _skill(skill)]
    parts += ["## The language of conditions", _LANGUAGE, "### Facts", _facts(), "### Functions", _functions()]
    return "\n\n".join(parts) + "\n"


_INTRODUCTION = """\
A skill is one optimisation that can be carried over to another kernel: where it applies, under which conditions its
result is right (validity) and worth it (profit), what it changes, and what was measured. Each condition is executable:
`klineage applicable FILE` judges it on the facts of the kernel at hand. `klineage skills check` runs every skill's cases.
How a skill lies on disk is in [skills-format.md](skills-format.md)."""

_LANGUAGE = """\
A condition is an expression in a small typed subset of Python: comparisons (also chained), `and`, `or`, `not`,
`+ - * // % **`, `in` with a tuple, numbers, texts and tuples. Dimensions, scalars and tensors are named by themselves,
once an anchor has bound the skill's names to the kernel's. A condition holds, fails, or is unknown when a fact is missing
and the others do not decide it; unknown never counts as holding. A fact with several values must satisfy it with every
one of them."""


def _index(skills: tuple[Skill, ...]) -> str:
    rows = ["| skill | works on | language | carried over by | evidence |", "|---|---|---|---|---|"]
    rows += [
        f"| [{s.title}](#{s.id}) | {direction(s)} | {', '.join(s.languages)} | "
        f"{f'assist `{s.assist}`' if s.assist else 'a model'} | {standing(s)} |"
        for s in skills
    ]
    return "\n".join(rows)


def _skill(skill: Skill) -> Iterator[str]:
    yield f'<a id="{skill.id}"></a>\n### {skill.title}'
    yield f"`{skill.id}` · mechanism `{skill.mechanism}` · anchor `{skill.anchor.pattern}`. {skill.summary} {skill.effect}"
    rows = ["| | condition | says | otherwise |", "|---|---|---|---|"]
    for kind in ConditionKind:
        rows += [
            f"| {kind.value}, {c.category.value} | `{c.expr}` | {sentence(c.expr)} | {c.reason} |"
            for c in skill.conditions
            if c.kind is kind
        ]
    yield "\n".join(rows)
    if skill.risk:
        yield "\n".join(f"- Risk: {r.what} ({r.evidence})." for r in skill.risk)
    if skill.evidence:
        yield "\n".join(f"- {evidence_text(e)}" for e in skill.evidence)


def _facts() -> str:
    rows = ["| name | type | unit | from | says |", "|---|---|---|---|---|"]
    rows += [f"| `{f.form}` | {f.type.value} | {f.unit} | {f.source.value} | {f.doc} |" for f in FACT_NAMES.values()]
    return "\n".join(rows) + f"\n\nData types: {', '.join(f'`{d}`' for d in DTYPES)}."


def _functions() -> str:
    return "\n".join(
        f"- `{name}({', '.join(p.value for p in f.parameters)}{', …' if f.variadic else ''})`: {f.doc}"
        for name, f in FUNCTIONS.items()
    )
