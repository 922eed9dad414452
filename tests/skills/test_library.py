"""Skills on disk: read and written whole, overridden by id; a bad file costs only its own skill."""

from pathlib import Path

import pytest

from kernel_lineage.rewrite.offers import measured
from kernel_lineage.skills.card import SkillLineage
from kernel_lineage.skills.conditions.facts import Facts
from kernel_lineage.skills.effect import expected
from kernel_lineage.skills.library import builtin_folder, library, load
from kernel_lineage.skills.skill_file import read_skill, write_skill
from kernel_lineage.skills.verified import remember_verified
from skills.skill_folders import a_skill, evidence, write


def contents(folder: Path) -> dict[str, bytes]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()
    }


LEARNED = a_skill(
    evidence=(evidence(), evidence(outcome="rejected", date="2026-02-01", sizes=())),
    lineage=SkillLineage(
        repository="https://example.org/r.git", commits=("1a2b3c4", "5d6e7f8"), licence="MIT"
    ),
    assist="vectorise_row_access",
)


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    folder = write(tmp_path, LEARNED)
    remember_verified(LEARNED.evidence)
    skill, problems = read_skill(folder, builtin=False)
    assert problems == ()
    assert skill is not None
    expected = LEARNED.model_copy(
        update={"applies": skill.applies, "refuses": skill.refuses, "folder": folder}
    )
    assert skill == expected
    assert skill.applies == ("cases/applies/01.before.cu",) and skill.refuses == ("cases/refuses/01.cu",)
    assert skill.offered and skill.admitted


def test_evidence_that_a_repository_brings_admits_nothing_until_it_is_verified_here(tmp_path: Path) -> None:
    brought = LEARNED.model_copy(update={"evidence": (evidence(date="2026-03-03"),)})
    folder = write(tmp_path, brought)
    skill, _ = read_skill(folder, builtin=False)
    assert skill is not None and skill.evidence == brought.evidence
    assert not skill.admitted and skill.unverified == (0,)
    assert (
        measured(skill) == "1 uses by its own word, none verified" and expected(skill, Facts({}))[0] is None
    )
    remember_verified(brought.evidence)
    again, _ = read_skill(folder, builtin=False)
    assert again is not None and again.admitted
    assert measured(again).endswith("1 of 1 uses accepted") and expected(again, Facts({}))[0] is not None


def test_the_same_skill_gives_the_same_bytes_in_a_new_folder_and_over_an_old_one(tmp_path: Path) -> None:
    first = contents(write(tmp_path / "one", LEARNED))
    write(tmp_path / "two", LEARNED.model_copy(update={"effect": "Something else."}))
    assert contents(write(tmp_path / "two", LEARNED)) == first
    assert contents(tmp_path / "one") == {f"a-skill/{name}": data for name, data in first.items()}


def test_failures_are_kept_when_a_skill_is_written_again(tmp_path: Path) -> None:
    write(tmp_path, LEARNED)
    folder = write(tmp_path, LEARNED.model_copy(update={"evidence": ()}))
    skill, _ = read_skill(folder, builtin=False)
    assert skill is not None and len(skill.evidence) == 2


def test_a_case_cannot_be_written_outside_its_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="under cases/"):
        write_skill(tmp_path, LEARNED, {"cases/../../x.cu": ""})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("file", "data", "says"),
    [
        ("SKILL.md", None, "is missing"),
        ("SKILL.md", b"no front matter", "has no front matter"),
        ("SKILL.md", b"---\nname: [\n---\n", "front matter is no YAML"),
        (
            "SKILL.md",
            b"---\nname: a\ndescription: With #pragma unroll.\n---\n",
            "`description` ends before the #",
        ),
        ("SKILL.md", b"---\n- name\n---\n", "must be keys with values"),
        (
            "SKILL.md",
            b"---\nname: a-skill\ndescription: d\nlicense: MIT\nauthor: me\n---\n",
            "author: Extra inputs",
        ),
        ("SKILL.md", b"---\nname: other\ndescription: d\nlicense: MIT\n---\n", "the folder is 'a-skill'"),
        ("SKILL.md", b"\xff\xfe---", "is not UTF-8"),
        ("SKILL.md", b" " * (1 << 20) + b"x", "is larger than 1 MiB"),
        ("conditions.toml", None, "is missing"),
        ("conditions.toml", b"[skill", "is no TOML"),
        ("conditions.toml", b"[skill]\ntitle = 'x'", "skill.summary: Field required"),
        ("conditions.toml", b"\x00", "is no TOML"),
    ],
)
def test_a_bad_file_is_one_problem_and_the_other_skills_are_loaded(
    tmp_path: Path, file: str, data: bytes | None, says: str
) -> None:
    write(tmp_path, a_skill("b-skill"))
    bad = write(tmp_path, a_skill()) / file
    bad.unlink()
    if data is not None:
        bad.write_bytes(data)
    skills, problems = load(tmp_path, builtin=False)
    assert [s.id for s in skills] == ["b-skill"]
    assert [(p.folder.name, p.file) for p in problems] == [("a-skill", file)]
    assert says in problems[0].message


def test_a_bad_condition_is_named_with_its_number_and_column(tmp_path: Path) -> None:
    path = write(tmp_path, a_skill()) / "conditions.toml"
    path.write_text(path.read_text().replace("C % 4 == 0", "C % 4 == '0'"))
    _, problems = load(tmp_path, builtin=False)
    assert "condition 1: column 10 of `C % 4 == '0'`: a number cannot be compared with a text" in str(
        problems[0]
    )


@pytest.mark.parametrize("file", ["evidence/bad.json", "lineage.json"])
@pytest.mark.parametrize("text", ["{", "[" * 100_000, '{"kernel": 3}'])
def test_bad_evidence_costs_only_itself(tmp_path: Path, file: str, text: str) -> None:
    path = write(tmp_path, LEARNED.model_copy(update={"lineage": None})) / file
    path.write_text(text)
    skills, problems = load(tmp_path, builtin=False)
    assert [len(s.evidence) for s in skills] == [2]
    assert [p.file for p in problems] == [file]


def test_a_skill_without_cases_is_read_but_not_offered(tmp_path: Path) -> None:
    skill, _ = read_skill(write_skill(tmp_path, a_skill(), {}), builtin=False)
    assert skill is not None and not skill.offered


def test_a_missing_library_is_empty(tmp_path: Path) -> None:
    assert load(tmp_path / "none", builtin=False) == ((), ())


def test_a_repository_overrides_built_in_skills_by_id_and_adds_its_own(tmp_path: Path) -> None:
    own = tmp_path / ".klineage" / "skills"
    write(own, a_skill("vectorised-row-access", title="Ours"))
    write(own, a_skill("zz-own"))
    both = library(tmp_path)
    replaced = both.get("vectorised-row-access")
    assert replaced is not None and replaced.title == "Ours" and not replaced.builtin
    assert both.skills[-1].id == "zz-own"
    assert [s.id for s in both] == sorted(s.id for s in both)
    untouched = library().get("vectorised-row-access")
    assert untouched is not None and untouched.builtin


def test_built_in_skills_are_read_once_and_others_each_time(tmp_path: Path) -> None:
    write(tmp_path / ".klineage" / "skills", a_skill("zz-own"))
    first, second = library(tmp_path), library(tmp_path)
    for skill, again in zip(first, second, strict=True):
        assert (skill is again) == skill.builtin


def test_the_built_in_library_reads_without_a_problem() -> None:
    skills, problems = load(builtin_folder(), builtin=True)
    assert problems == ()
    assert skills


@pytest.mark.long
def test_two_hundred_skills_are_read(tmp_path: Path) -> None:
    for number in range(200):
        write(tmp_path, a_skill(f"skill-{number}", title=f"Skill {number}"))
    skills, problems = load(tmp_path, builtin=False)
    assert (len(skills), problems) == (200, ())
