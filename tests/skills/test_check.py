"""The validator refuses cards that say too little, name what does not exist, or whose cases do not do what they say."""

from pathlib import Path

import pytest

from kernel_lineage.skills.card import AnchorRule, Category, NothingToSay, Skill
from kernel_lineage.skills.check import check, check_all
from kernel_lineage.skills.skill_file import read_skill, write_skill
from skills.skill_folders import CASES, a_skill, condition

SILENT = tuple(
    NothingToSay(category=c, reason="Nothing changes.") for c in Category if c is not Category.SHAPE
)
GOOD = a_skill(nothing_to_say=SILENT)


def problems(tmp_path: Path, skill: Skill = GOOD, cases: dict[str, str] | None = None) -> str:
    read, wrong = read_skill(write_skill(tmp_path, skill, CASES if cases is None else cases), builtin=False)
    assert read is not None and wrong == ()
    return "\n".join(str(p) for p in check(read))


def test_a_whole_card_with_cases_that_do_what_they_say_is_right(tmp_path: Path) -> None:
    assert problems(tmp_path) == ""


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"conditions": ()}, "no condition; say in a [[condition]]"),
        ({"effect": " "}, "no effect; say in [skill]"),
        (
            {"nothing_to_say": SILENT[1:]},
            "nothing on data types; add a [[condition]], or a [[nothing_to_say]]",
        ),
        ({"nothing_to_say": (*SILENT, NothingToSay(category=Category.SHAPE, reason="x"))}, "remove one"),
        ({"mechanism": "vectorized"}, "mechanism `vectorized` does not exist"),
        ({"anchor": AnchorRule(pattern="nowhere")}, "anchor `nowhere` does not exist"),
        (
            {"anchor": AnchorRule(pattern="scalar_row_access", requires=("nothing",))},
            "mechanism `nothing` does not",
        ),
        (
            {"anchor": AnchorRule(pattern="scalar_row_access", otherwise={"C": "M"})},
            "anchor: `M` is not bound by",
        ),
        ({"languages": ("triton",)}, "is not found in triton"),
        ({"conditions": (condition("kernel.has('shuffle')"),)}, "mechanism `shuffle` does not exist"),
        (
            {"conditions": (condition("Q % 4 == 0"),)},
            "`Q` is bound by no anchor; `scalar_row_access` binds x",
        ),
        ({"conditions": (condition("1 < 2"),)}, "speaks of no fact"),
    ],
)
def test_a_card_that_says_too_little_or_names_what_does_not_exist_is_refused(
    tmp_path: Path, change, says: str
) -> None:
    assert says in problems(tmp_path, GOOD.model_copy(update=change))


KERNEL = CASES["cases/applies/01.before.cu"]


@pytest.mark.parametrize(
    ("cases", "says"),
    [
        ({}, "neither evidence nor cases"),
        (
            {**CASES, "cases/refuses/01.cu": KERNEL},
            "refuses/01.cu: a case that refuses, but no condition fails here",
        ),
        (
            {**CASES, "cases/refuses/01.cu": "// facts: C = 770\n// because: C > 3\n" + KERNEL},
            "refused, but not because of `C > 3`: C % 4 == 0 fails",
        ),
        ({**CASES, "cases/refuses/01.cu": "// facts: C is 770\n" + KERNEL}, "`C is 770` states no value"),
        ({**CASES, "cases/refuses/01.cu": "// facts: dtype(x) = fp32\n" + KERNEL}, "dtype(x) is one of"),
        ({**CASES, "cases/refuses/01.cu": "// facts: align(q, r) = 1\n" + KERNEL}, "write it as `align(x)`"),
        ({**CASES, "cases/refuses/01.cu": "// kernel: g\n" + KERNEL}, "has the kernels: f; name one"),
        ({**CASES, "cases/refuses/01.cu": "int a;\n"}, "has the kernels: none"),
        ({**CASES, "cases/refuses/01.txt": KERNEL}, "is neither a .cu file nor a .py file"),
        ({**CASES, "cases/refuses/01.cu": KERNEL[:-3]}, "is not closed"),
        (
            {**CASES, "cases/applies/01.before.cu": "// facts: C = 770\n" + KERNEL},
            "a case that applies, but C is a",
        ),
        ({**CASES, "cases/applies/01.after.cu": KERNEL}, "`vectorised_access` is not seen in the code after"),
        ({**CASES, "cases/applies/02.before.cu": KERNEL}, "applies/02.after.cu: cannot be read"),
        ({**CASES, "cases/applies/01.before.cu": "__global__ void f(int a) {}\n"}, "is not found here"),
        ({**CASES, "cases/applies/01.before.cu": CASES["cases/applies/01.after.cu"]}, "is not offered here"),
    ],
)
def test_a_case_that_does_not_do_what_it_says_is_refused(
    tmp_path: Path, cases: dict[str, str], says: str
) -> None:
    assert says in problems(tmp_path, cases=cases)


@pytest.mark.long
def test_a_library_a_single_folder_or_everything_can_be_checked(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "library", GOOD, CASES)
    assert check_all([tmp_path / "library"], tmp_path) == (1, [])
    assert check_all([folder], tmp_path) == (1, [])
    assert check_all([], tmp_path)[0] > 1
    (folder / "conditions.toml").write_text("[")
    checked, wrong = check_all([folder], tmp_path)
    assert checked == 1 and "is no TOML" in wrong[0].message
    (tmp_path / "empty").mkdir()
    assert "holds no skill" in check_all([tmp_path / "empty"], tmp_path)[1][0].message
