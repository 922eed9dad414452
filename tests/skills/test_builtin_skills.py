"""Every built-in skill is a whole card, and its cases are tests: they apply and refuse as they say."""

import pytest
from kernel_lineage.skills.check import check
from kernel_lineage.skills.library import builtin_folder, load

SKILLS, PROBLEMS = load(builtin_folder(), builtin=True)


def test_the_library_reads_without_a_problem() -> None:
    assert PROBLEMS == ()
    assert SKILLS


@pytest.mark.parametrize("skill", SKILLS, ids=lambda s: s.id)
def test_a_built_in_skill_passes_the_validator(skill) -> None:
    assert [str(p) for p in check(skill)] == []
    assert skill.offered


@pytest.mark.parametrize("skill", SKILLS, ids=lambda s: s.id)
def test_a_built_in_skill_claims_no_number_without_evidence(skill) -> None:
    assert skill.evidence or "×" not in skill.effect
    assert all(e.command.startswith("klineage") for e in skill.evidence)
