"""A proposal → a skill's folder whose own check finds nothing wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from kernel_gate.files.temporary import TemporaryFolder
from kernel_lineage.learning.distillation.distil import Proposal
from kernel_lineage.skills.check import check
from kernel_lineage.skills.skill_file import SkillProblem, read_skill, write_skill

_CASE = re.compile(r"cases/(?:applies|refuses)/\d+")


class UnfitError(Exception):
    """A proposal that is no valid skill, whatever is left out; the message says what is wrong with it."""


def publish(proposal: Proposal, library: Path) -> Path:
    """Write a proposal under a library, without the cases that fail; gives its folder.

    A case fails when the card does not apply, or does not refuse, where the case says so. What is wrong otherwise
    raises `UnfitError`, and nothing is written.
    """
    cases = dict(proposal.cases)
    while problems := _problems(proposal, cases):
        failing = {m[0] for p in problems if (m := _CASE.match(p.file))}
        if not failing:
            raise UnfitError("; ".join(str(p.message) for p in problems))
        cases = {path: text for path, text in cases.items() if not _in(path, failing)}
    return write_skill(library, proposal.skill, cases)


def _in(path: str, failing: set[str]) -> bool:
    match = _CASE.match(path)
    return match is not None and match[0] in failing


def _problems(proposal: Proposal, cases: Mapping[str, str]) -> tuple[SkillProblem, ...]:
    with TemporaryFolder("published") as folder:
        skill, wrong = read_skill(write_skill(Path(folder), proposal.skill, cases), builtin=False)
        return (*wrong, *(check(skill) if skill is not None else ()))
