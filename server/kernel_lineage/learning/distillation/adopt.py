"""What another repository taught, taken over into a library: facts, and examples of the library's own.

A learned skill holds the code that it was learned from, which is for the repository that the code is from. Its
conditions, counterexamples, risks and verdicts are facts: they are put into the library's card of the same name, and a
counterexample becomes a refusing case on the library's own example kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kernel_lineage.kernels.anchors.registry import anchors_of
from kernel_lineage.learning.distillation.conditions import merged, silent
from kernel_lineage.learning.distillation.distil import Proposal, cases_of, once
from kernel_lineage.learning.distillation.publish import UnfitError, publish
from kernel_lineage.learning.distillation.skill_names import kernel_to_skill
from kernel_lineage.skills.applicable import bindings_at, is_at
from kernel_lineage.skills.card import Condition, Evidence, Origin, Risk, Skill, SkillLineage
from kernel_lineage.skills.case import Case, CaseError, read_case
from kernel_lineage.skills.conditions.facts import Facts
from kernel_lineage.skills.conditions.names import is_plain, rename_fact
from kernel_lineage.skills.conditions.tree import plain_names

_ALSO_NEEDED = re.compile(r"In \w+ it also needed |One way to carry it over needed ")
_HEADER = re.compile(r"^(?://|#) (facts|because): (.*)$")


@dataclass(frozen=True, slots=True)
class Adopted:
    """What became of one learned skill."""

    skill: str
    confirmed: tuple[str, ...]
    """Conditions of the library's card that were taught again."""
    added: tuple[str, ...]
    evidence: int
    """Verdicts that were added."""
    held_out: tuple[int, int]
    """Held-out uses that were accepted, and all held-out uses."""

    def __str__(self) -> str:
        accepted, uses = self.held_out
        phrases = [
            f"confirmed {', '.join(self.confirmed)}" if self.confirmed else "",
            f"added {', '.join(self.added)}" if self.added else "",
            f"{self.evidence} verdicts, {accepted} of {uses} held-out uses accepted" if self.evidence else "",
        ]
        return "; ".join(filter(None, phrases)) or "nothing new"


def adopt(learned: Skill, own: Skill, library: Path) -> Adopted:
    """Put what a learned skill holds besides its code into the library's card of the same name.

    Raises `UnfitError` when the result is no valid skill.
    """
    # A learned card begins as a copy of its own: what both say alike was not taught there.
    new = (c for c in learned.conditions if c not in own.conditions)
    taught = [_briefly(c) for c in new if c.origin is not Origin.AUTHOR]
    together = merged(own.conditions, taught)
    exprs = {c.expr for c in own.conditions}
    added = tuple(c.expr for c in together.conditions if c.expr not in exprs)
    new_evidence = [e for e in learned.evidence if _tells(e) and e not in own.evidence]
    if not added and not new_evidence and together.conditions == own.conditions:
        return Adopted(own.id, (), (), 0, (0, 0))
    skill = own.model_copy(
        update={
            "conditions": together.conditions,
            "nothing_to_say": silent(own.nothing_to_say, together.conditions),
            "risk": once((*own.risk, *together.risks, *_needs_elsewhere(learned))),
            "evidence": (*own.evidence, *new_evidence),
            "lineage": _joined(own.lineage, learned.lineage),
        }
    )
    cases = cases_of(own)
    cases |= _refusing(learned, own, [c.expr for c in skill.conditions], cases)
    publish(Proposal(skill, cases, (), together.confirmed), library)
    uses = [e for e in new_evidence if e.held_out]
    return Adopted(
        skill=skill.id,
        confirmed=together.confirmed,
        added=added,
        evidence=len(new_evidence),
        held_out=(sum(e.outcome == "accepted" for e in uses), len(uses)),
    )


def adopt_all(learned: Iterable[Skill], own: Mapping[str, Skill], library: Path) -> Iterator[Adopted | str]:
    """Each learned skill in turn; for one that cannot be taken over, why, in one line."""
    for skill in learned:
        card = own.get(skill.id)
        if card is None:
            yield f"{skill.id}: {library} has no card of this name; write one with cases of its own first"
            continue
        try:
            yield adopt(skill, card, library)
        except UnfitError as error:
            yield f"{skill.id}: {error}"


def _briefly(condition: Condition) -> Condition:
    """A condition with the case that shows it, and no more of what was found out about that case."""
    return condition.model_copy(update={"evidence": _brief(condition.evidence)})


_STATE = re.compile(r"\b[\w./-]+ of [0-9a-f]{12}\b")


def _brief(evidence: str | None) -> str | None:
    """The first clause, and the state in which it was seen."""
    if evidence is None:
        return None
    first, state = evidence.partition("; ")[0], _STATE.search(evidence)
    return f"{first}; {state[0]}" if state is not None and state[0] not in first else first


def _needs_elsewhere(learned: Skill) -> Iterator[Risk]:
    """What the skill needed in one kernel or other besides its conditions; where it failed is in their evidence."""
    for risk in learned.risk:
        if _ALSO_NEEDED.match(risk.what):
            yield risk.model_copy(update={"evidence": _brief(risk.evidence)})


def _tells(evidence: Evidence) -> bool:
    """Whether a verdict was decided or timed; that nothing was timed says nothing for another repository."""
    return evidence.outcome != "inconclusive" or bool(evidence.sizes)


def _joined(one: SkillLineage | None, other: SkillLineage | None) -> SkillLineage | None:
    if one is None or other is None:
        return one or other
    repositories = {name for lineage in (one, other) for name in lineage.repository.split(" and ")}
    licences = {name for lineage in (one, other) for name in lineage.licence.split(" AND ")}
    return SkillLineage(
        repository=" and ".join(sorted(repositories)),
        commits=tuple(sorted({*one.commits, *other.commits})),
        authors=tuple(sorted({*one.authors, *other.authors})),
        licence=" AND ".join(sorted(licences)),
        paths=tuple(sorted({*one.paths, *other.paths})),
    )


def _refusing(learned: Skill, own: Skill, exprs: Iterable[str], files: Mapping[str, str]) -> dict[str, str]:
    """For each condition without a case of its own, the learned counterexample told of the library's example."""
    example = _example(own)
    if example is None:
        return {}
    path, case = example
    suffix = path.rpartition(".")[2]
    mark = "#" if suffix == "py" else "//"
    text = "".join(line for line in files[path].splitlines(keepends=True) if not _HEADER.match(line)).strip()
    shown = {
        header[2] for there in files.values() for header in map(_HEADER.match, there.splitlines()) if header
    }
    number = sum(name.startswith("cases/refuses/") for name in files)
    made: dict[str, str] = {}
    for expr in exprs:
        facts = _counterexample(learned, expr) if expr not in shown else None
        statement = _in_names_of(facts, own, case) if facts else None
        if statement is not None:
            number += 1
            head = f"{mark} facts: {statement}\n{mark} because: {expr}\n"
            made[f"cases/refuses/{number:02}.{suffix}"] = f"{head}{text}\n"
    return made


def _example(own: Skill) -> tuple[str, Case] | None:
    """The first case of the library in which its skill applies."""
    for path in own.applies:
        try:
            return path, read_case((own.folder or Path()) / path)
        except CaseError:
            continue
    return None


def _counterexample(learned: Skill, expr: str) -> dict[str, str] | None:
    """Facts with which a condition fails, in the skill's own names, from the learned skill's refusing cases."""
    for path in learned.refuses:
        try:
            case = read_case((learned.folder or Path()) / path)
        except CaseError:
            continue
        if case.because != expr:
            continue
        for anchor in (a for a in anchors_of(case.kernel) if is_at(learned, a)):
            facts = _renamed(_values(case.facts), kernel_to_skill(bindings_at(learned, anchor)))
            if facts:
                return facts
    return None


def _in_names_of(facts: Mapping[str, str], own: Skill, case: Case) -> str | None:
    """Facts in the skill's names as the example's kernel has them, at all places where the skill applies to it."""
    values: dict[str, str] = {}
    for anchor in (a for a in anchors_of(case.kernel) if is_at(own, a)):
        bound = {n: b.partition("[")[0].strip() for n, b in bindings_at(own, anchor).items()}
        values |= _renamed(facts, {name: plain for name, plain in bound.items() if is_plain(plain)})
    return ", ".join(f"{name} = {value}" for name, value in sorted(values.items())) or None


def _renamed(facts: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """Facts by other names, without those that speak of something that has none."""
    return {
        rename_fact(fact, names): value
        for fact, value in facts.items()
        if set(plain_names(fact)) <= set(names)
    }


def _values(facts: Facts) -> dict[str, str]:
    """Name → values, as a case states them."""
    return {name: " | ".join(map(str, fact.values)) for name, fact in facts.known.items()}
