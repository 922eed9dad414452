"""Taking over what another repository taught: facts in the library's own words, none of the repository's code."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.learning.distillation.adopt import adopt_all
from kernel_lineage.learning.distillation.distil import cases_of, distil
from kernel_lineage.learning.distillation.lesson import RefusingCase
from kernel_lineage.learning.distillation.publish import publish
from kernel_lineage.skills.card import Origin, Skill
from kernel_lineage.skills.check import check
from kernel_lineage.skills.library import load
from kernel_lineage.skills.skill_file import read_skill, write_skill
from learning.distillation.lessons import CARDS, condition, evidence, lesson

SKILL = "vectorised-row-access"


def by_hand() -> Skill:
    """A card as its author wrote it, before any history taught it something."""
    card = next(s for s in CARDS if s.id == SKILL)
    conditions = tuple(
        c.model_copy(update={"origin": Origin.AUTHOR, "evidence": None}) for c in card.conditions
    )
    return card.model_copy(update={"conditions": conditions, "evidence": (), "lineage": None})


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A library with that card, and no case of its alignment."""
    cases = {path: text for path, text in cases_of(by_hand()).items() if "because: align(x)" not in text}
    write_skill(tmp_path / "own", by_hand(), cases)
    return tmp_path / "own"


def learned(tmp_path: Path, **fields: object):
    """What a repository has in its .klineage/skills after one lesson."""
    (proposal,) = distil([lesson(**fields)], [by_hand()]).proposals
    folder = publish(proposal, tmp_path / "theirs")
    skill, problems = read_skill(folder, builtin=False)
    assert skill is not None and not problems
    return skill


def adopted(skill, library: Path):
    own, _ = load(library, builtin=False)
    (one,) = adopt_all([skill], {s.id: s for s in own}, library)
    assert not isinstance(one, str), one
    after, problems = read_skill(library / SKILL, builtin=False)
    assert after is not None and not problems
    assert check(after) == ()
    return one, after


def test_a_new_condition_comes_with_a_refusing_case_on_the_librarys_own_kernel(tmp_path, library):
    skill = learned(
        tmp_path,
        conditions=(condition("OC <= 4096"),),
        refusing=(RefusingCase("OC <= 4096", {"OC": "8192"}),),
    )
    one, after = adopted(skill, library)
    assert one.added == ("C <= 4096",)
    (path,) = [p for p in after.refuses if "because: C <= 4096" in (library / SKILL / p).read_text()]
    assert (library / SKILL / path).read_text().startswith("// facts: C = 8192\n")
    # The example is the library's; of the repository there is its name, its commits and its licence.
    everything = "".join(f.read_text() for f in (library / SKILL / "cases").rglob("*.cu"))
    assert "gain(" not in everything
    assert after.lineage is not None and after.lineage.licence == "MIT"


def test_a_condition_of_the_card_that_was_taught_again_gets_its_origin(tmp_path, library):
    one, after = adopted(learned(tmp_path, conditions=(condition("OC % 4 == 0"),)), library)
    assert (one.confirmed, one.added) == (("C % 4 == 0",), ())
    (confirmed,) = [c for c in after.conditions if c.expr == "C % 4 == 0"]
    assert confirmed.origin is Origin.PROBE


def test_a_case_tells_its_facts_at_every_place_where_the_skill_applies(tmp_path, library):
    """The example reads one buffer and writes another."""
    taught = {"align(dst)": "4", "align(src)": "4"}
    skill = learned(
        tmp_path,
        conditions=(condition("align(dst) >= 16"),),
        refusing=(RefusingCase("align(dst) >= 16", taught),),
    )
    _, after = adopted(skill, library)
    texts = [(library / SKILL / p).read_text() for p in after.refuses]
    (case,) = [t for t in texts if "because: align(x) >= 16" in t]
    assert case.startswith("// facts: align(out) = 4, align(x) = 4\n")


def test_a_verdict_that_was_not_decided_is_no_evidence_elsewhere(tmp_path, library):
    skill = learned(tmp_path, evidence=evidence("inconclusive"))
    one, after = adopted(skill, library)
    assert (one.evidence, str(one)) == (0, "nothing new")
    assert after.lineage is None


def test_doing_it_again_changes_nothing(tmp_path, library):
    skill = learned(tmp_path, conditions=(condition("OC <= 4096"),))
    adopted(skill, library)
    files = {f: f.read_bytes() for f in library.rglob("*") if f.is_file()}
    adopted(skill, library)
    assert {f: f.read_bytes() for f in library.rglob("*") if f.is_file()} == files


def test_a_skill_that_the_library_has_no_card_for_is_told(tmp_path, library):
    (message,) = adopt_all([learned(tmp_path).model_copy(update={"id": "another"})], {}, library)
    assert isinstance(message, str) and "no card of this name" in message
