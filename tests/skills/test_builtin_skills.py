"""Every built-in skill is a whole card, and its cases are tests: they apply and refuse as they say."""

import pytest

from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.skills.applicable import applicable
from kernel_lineage.skills.card import Origin, Skill
from kernel_lineage.skills.case import read_case
from kernel_lineage.skills.check import check
from kernel_lineage.skills.conditions.stated import stated_facts
from kernel_lineage.skills.conditions.truth import Truth
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


LEARNED = [s for s in SKILLS if s.lineage is not None]


@pytest.mark.parametrize(
    ("skill", "expr"),
    [(s, c.expr) for s in LEARNED for c in s.conditions if c.origin is not Origin.AUTHOR],
    ids=lambda value: value.id if isinstance(value, Skill) else value,
)
def test_a_condition_that_a_history_taught_refuses_a_case_of_our_own(skill, expr) -> None:
    assert skill.folder is not None
    assert expr in {read_case(skill.folder / path).because for path in skill.refuses}
    (condition,) = [c for c in skill.conditions if c.expr == expr]
    assert condition.evidence


@pytest.mark.parametrize("skill", LEARNED, ids=lambda s: s.id)
def test_a_learned_skill_names_its_source_and_what_a_gpu_said(skill) -> None:
    assert skill.lineage.repository.startswith("https://")
    assert skill.lineage.licence != "NOASSERTION"
    assert all(len(commit) == 40 for commit in skill.lineage.commits)
    measured = [e for e in skill.evidence if e.command == "klineage replay"]
    assert measured
    for evidence in measured:
        assert evidence.device and evidence.date and evidence.toolchain
        assert evidence.outcome != "inconclusive" or evidence.sizes


def test_histories_taught_some_skills() -> None:
    assert LEARNED


BASE = "C = 1024, align(x) = 16, dtype(x) = float32, launch.block.x = 256"
ROWS = """
__global__ void scale_rows(float* out, const float* x, int C) {
    const float* row = x + blockIdx.x * C;
    for (int i = threadIdx.x; i < C; i += blockDim.x) { out[blockIdx.x * C + i] = 2.0f * row[i]; }
}
"""


@pytest.mark.parametrize(
    ("changed", "flipped"),
    [
        ("C = 1022", ["C % 4 == 0", "C >= 4 * launch.block.x"]),
        ("C = 1024 | 1026", ["C % 4 == 0"]),
        ("align(x) = 8", ["align(x) >= 16"]),
        (
            "dtype(x) = bool",
            [
                (
                    "dtype(x) in (int8, uint8, int16, uint16, float16, bfloat16, int32, uint32, float32, int64, "
                    "uint64, float64)"
                )
            ],
        ),
        ("launch.block.x = 512", ["C >= 4 * launch.block.x"]),
    ],
)
def test_changing_a_fact_flips_the_conditions_that_name_it_and_no_other(
    changed: str, flipped: list[str]
) -> None:
    (kernel,) = read(ROWS.encode(), Language.CUDA).kernels
    skill = next(s for s in SKILLS if s.id == "vectorised-row-access")

    def failing(facts: str) -> list[str]:
        cards = applicable(kernel, [skill], stated_facts(facts, "stated"))
        loads = next(a for a in cards if a.anchor.bindings["x"] == "x")
        return [j.expr for j in loads.conditions if j.judgement.truth is Truth.FAILS]

    assert failing(BASE) == []
    name = changed.partition(" = ")[0]
    kept = [fact for fact in BASE.split(", ") if not fact.startswith(name)]
    assert failing(", ".join([*kept, changed])) == flipped
