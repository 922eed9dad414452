"""`klineage skills check`: a card that says too little, names what does not exist, or whose cases fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from kernel_lineage.kernels.anchors.registry import anchors, anchors_of
from kernel_lineage.kernels.mechanisms.registry import mechanisms, mechanisms_of
from kernel_lineage.skills.applicable import Applicable, fits, is_at, judge_at, known_here
from kernel_lineage.skills.card import Category, Skill
from kernel_lineage.skills.case import NO_ANCHOR, Case, CaseError, read_case
from kernel_lineage.skills.conditions.names import split_fact
from kernel_lineage.skills.conditions.parse import parse
from kernel_lineage.skills.conditions.tree import facts_in, names_in
from kernel_lineage.skills.conditions.truth import Truth
from kernel_lineage.skills.library import library, load, repository_of
from kernel_lineage.skills.promises import promises_of
from kernel_lineage.skills.skill_file import SkillProblem, read_skill


def check_all(folders: Sequence[Path], repository: Path) -> tuple[int, list[SkillProblem]]:
    """How many skills were checked, and what is wrong: those in `folders` (skills or libraries), or all at hand."""
    skills: list[Skill] = []
    problems: list[SkillProblem] = []
    if not folders:
        collection = library(repository_of(repository))
        skills, problems = list(collection.skills), list(collection.problems)
    for folder in folders:
        if (folder / "SKILL.md").exists() or (folder / "conditions.toml").exists():
            one, wrong = read_skill(folder.resolve(), builtin=False)
            read: tuple[Skill, ...] = (one,) if one is not None else ()
        else:
            read, wrong = load(folder, builtin=False)
            if not read and not wrong:
                wrong = (SkillProblem(folder, "", "holds no skill; name a skill's folder or a library"),)
        skills += read
        problems += wrong
    unread = {p.folder for p in problems} - {s.folder for s in skills}
    for skill in skills:
        problems += check(skill)
    return len(skills) + len(unread), problems


def check(skill: Skill) -> tuple[SkillProblem, ...]:
    """Everything that is wrong with a skill that was read from a folder; empty when it may be offered."""
    if skill.folder is None:
        raise ValueError(f"{skill.id} was not read from a folder")
    folder = skill.folder
    problems = [
        ("conditions.toml", sentence) for sentence in (*_says_too_little(skill), *_unknown_names(skill))
    ]
    if not problems:
        problems += _failing_cases(skill)
    return tuple(SkillProblem(folder, file, message) for file, message in problems)


def _says_too_little(skill: Skill) -> Iterator[str]:
    if not skill.conditions:
        yield "no condition; say in a [[condition]] when it is valid and when it pays"
    if not skill.effect.strip():
        yield "no effect; say in [skill] what it changes, and that it is not measured yet if so"
    if not skill.evidence and not (skill.applies and skill.refuses):
        yield "neither evidence nor cases; add cases/applies/01.before.*, 01.after.* and cases/refuses/01.*"
    elif not skill.applies:
        yield "no case that applies; add cases/applies/01.before.* and 01.after.*"
    elif not skill.refuses:
        yield "no case that refuses; add cases/refuses/01.*"
    spoken, silent = {c.category for c in skill.conditions}, {n.category for n in skill.nothing_to_say}
    for category in Category:
        if category not in spoken | silent:
            yield f"nothing on {category.value}; add a [[condition]], or a [[nothing_to_say]] with the reason"
        if category in spoken & silent:
            yield f"{category.value} has a condition and nothing to say; remove one"


def _unknown_names(skill: Skill) -> Iterator[str]:
    pattern = anchors().get(skill.anchor.pattern)
    if pattern is None:
        yield f"anchor `{skill.anchor.pattern}` does not exist; there are {', '.join(anchors())}"
    elif unread := sorted(set(skill.languages) - pattern.languages):
        yield f"anchor `{pattern.id}` is not found in {', '.join(unread)}"
    for name in (*skill.anchor.otherwise.values(), *skill.anchor.where):
        if pattern is not None and name not in pattern.names:
            yield f"anchor: `{name}` is not bound by `{pattern.id}`"
    named = {skill.mechanism, *skill.provides, *skill.anchor.requires, *skill.anchor.conflicts}
    for number, condition in enumerate(skill.conditions, 1):
        tree = parse(condition.expr)
        facts = [split_fact(ref.name) for ref in facts_in(tree)]
        if not facts:
            yield f"condition {number}: `{condition.expr}` speaks of no fact"
        named |= {arguments[0].strip('"') for head, arguments in facts if head == "kernel.has"}
        if pattern is not None and (
            loose := sorted(names_in(tree) - {*pattern.names, *skill.anchor.otherwise})
        ):
            bound = ", ".join(pattern.names) or "nothing"
            yield f"condition {number}: `{', '.join(loose)}` is bound by no anchor; `{pattern.id}` binds {bound}"
    for mechanism in sorted(named - set(mechanisms())):
        yield f"mechanism `{mechanism}` does not exist; there are {', '.join(mechanisms())}"


def _failing_cases(skill: Skill) -> Iterator[tuple[str, str]]:
    assert skill.folder is not None
    cases = [
        case
        for file in skill.applies
        for case in ((file, _applies), (file.replace(".before.", ".after."), _shows))
    ]
    for path, verify in (*cases, *((file, _refuses) for file in skill.refuses)):
        try:
            why = verify(skill, read_case(skill.folder / path))
        except CaseError as error:
            why = str(error)
        if why:
            yield path, why


def _applies(skill: Skill, case: Case) -> str | None:
    candidates = at_case(skill, case)
    if candidates is None:
        return "the skill is not offered here: language, a mechanism that is there already, required or in conflict"
    if not candidates:
        return f"anchor `{skill.anchor.pattern}` is not found here"
    if all(a.verdict is Truth.FAILS for a in candidates):
        return f"a case that applies, but {candidates[0].reason}"
    return None


def _shows(skill: Skill, case: Case) -> str | None:
    if skill.mechanism not in {site.mechanism for site in mechanisms_of(case.kernel) if site.certain}:
        return f"mechanism `{skill.mechanism}` is not seen in the code after the rewrite"
    return None


def _refuses(skill: Skill, case: Case) -> str | None:
    candidates = at_case(skill, case)
    if not candidates:
        if case.because in (None, NO_ANCHOR):
            return None
        return f"refused, but not because of `{case.because}`: the skill has no anchor here"
    failing = [
        {j.condition.expr for j in a.conditions if j.judgement.truth is Truth.FAILS} for a in candidates
    ]
    if not all(failing):
        return "a case that refuses, but no condition fails here"
    if case.because is not None and not all(case.because in exprs for exprs in failing):
        return f"refused, but not because of `{case.because}`: {' and '.join(sorted(set().union(*failing)))} fails"
    return None


def at_case(skill: Skill, case: Case) -> list[Applicable] | None:
    """The skill at each of its anchors in a case's kernel; None when it would not be offered on that kernel at all."""
    kernel = case.kernel
    sites = mechanisms_of(kernel)
    if not fits(skill, kernel, {site.mechanism for site in sites}):
        return None
    facts = known_here(kernel, case.facts, sites)
    promises = promises_of(kernel)
    return [judge_at(skill, anchor, facts, promises) for anchor in anchors_of(kernel) if is_at(skill, anchor)]
