"""The skills at hand as a tree: admitted ones, hypotheses, and those that this repository taught."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.editor.views.tree import Link, Node
from kernel_lineage.skills.card import Skill
from kernel_lineage.skills.card_text import direction, standing
from kernel_lineage.skills.library import Library


def skill_nodes(library: Library, uri: str | None) -> tuple[Node, ...]:
    """The groups that have a skill, and what could not be read. `uri` says whose repository it is."""
    groups = (
        ("Admitted", "verified", [s for s in library if s.builtin and s.admitted]),
        ("Hypotheses", "beaker", [s for s in library if s.builtin and not s.admitted]),
        ("Learned here", "mortar-board", [s for s in library if not s.builtin]),
    )
    return tuple(_group(*group, uri) for group in groups if group[2]) + tuple(_unread(library))


def _group(label: str, icon: str, skills: list[Skill], uri: str | None) -> Node:
    return Node(
        id=label,
        label=label,
        description=str(len(skills)),
        icon=icon,
        spoken=f"{label}: {len(skills)} skill{'s' * (len(skills) != 1)}",
        expanded=label != "Hypotheses",
        children=tuple(_skill(skill, uri) for skill in sorted(skills, key=lambda s: s.title)),
    )


def _skill(skill: Skill, uri: str | None) -> Node:
    languages = "/".join(skill.languages)
    by = f"assist {skill.assist}" if skill.assist else "a model"
    return Node(
        id=f"skill {skill.id}",
        label=skill.title,
        description=f"{direction(skill)} · {languages}",
        tooltip=f"{skill.summary}\n{standing(skill)}\nCarried over by {by}",
        icon="lightbulb" if skill.assist else "lightbulb-autofix",
        spoken=f"{skill.title}, {direction(skill)}, {standing(skill)}",
        kind="skill",
        open=Link(
            command="klineage.openCard", title="Open the card", arguments=({"skill": skill.id, "uri": uri},)
        ),
    )


def _unread(library: Library) -> Iterator[Node]:
    for number, problem in enumerate(library.problems):
        yield Node(
            id=f"problem {number}",
            label=str(problem),
            tooltip=f"{problem}\n`klineage skills check` says what is wrong with a skill.",
            icon="warning",
            color="list.warningForeground",
            spoken=f"could not be read: {problem}",
        )
