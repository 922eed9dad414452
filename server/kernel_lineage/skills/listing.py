"""The skills for the kernels of a file, as `klineage applicable` lists them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_lineage.kernels.source import Kernel
from kernel_lineage.skills.applicable import Applicable, applicable
from kernel_lineage.skills.card import Skill
from kernel_lineage.skills.conditions.facts import Facts
from kernel_lineage.skills.conditions.stated import stated_facts
from kernel_lineage.skills.document import ApplicableDocument, applicable_document
from kernel_lineage.skills.library import library, nearest, repository_of
from kernel_lineage.skills.ranking.count_files import known_counts
from kernel_lineage.skills.target import TargetError, read_target


@dataclass(frozen=True, slots=True)
class Listed:
    """A kernel with the skills for it, and what they were judged on."""

    kernel: Kernel
    places: tuple[Applicable, ...]
    skills: tuple[Skill, ...]
    facts: Facts


Situation = Callable[[Kernel, Path], tuple[Facts, Sequence[str]]]
"""What a workload, a device and a toolchain tell of a kernel in a file, and why some of it is not known."""


def listing(
    target: str, only: Sequence[str], stated: Sequence[str], situation: Situation
) -> tuple[ApplicableDocument, list[Listed]]:
    """The document and the skills of `FILE[:KERNEL]`, restricted to the ids in `only` when there are any.

    `stated` are facts that the caller vouches for; they go before those of the situation. Raises `TargetError` and
    `StatedFactError`.
    """
    vouched = Facts().merged(*(stated_facts(text, "stated by the caller") for text in stated))
    meant = read_target(target)
    root = repository_of(meant.path.parent)
    collection = library(root)
    tally = known_counts(root)
    for skill_id in only:
        if collection.get(skill_id) is None:
            raise TargetError(f"no skill `{skill_id}`{nearest(collection, skill_id)}")
    skills = tuple(s for s in collection if not only or s.id in only)
    listed: list[Listed] = []
    notes: list[str] = [tally.note] if tally.note else []
    for kernel in meant.kernels:
        facts, unknown = situation(kernel, meant.path)
        facts = vouched.merged(facts)
        listed.append(Listed(kernel, applicable(kernel, skills, facts, tally.counts), skills, facts))
        notes += unknown
    problems = [f"{meant.path}: {p.message}" for p in meant.source.problems] + [
        str(p) for p in collection.problems
    ]
    pairs = [(one.kernel, one.places) for one in listed]
    return applicable_document(str(meant.path), pairs, problems, list(dict.fromkeys(notes))), listed
