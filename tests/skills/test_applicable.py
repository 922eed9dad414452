"""What is offered on a kernel, with which verdict, in which order, and what the card says."""

import pytest

from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.skills.applicable import applicable
from kernel_lineage.skills.card import AnchorRule, Skill
from kernel_lineage.skills.card_text import card_text
from kernel_lineage.skills.conditions.facts import Facts
from kernel_lineage.skills.conditions.stated import stated_facts
from kernel_lineage.skills.conditions.truth import Truth
from kernel_lineage.skills.document import applicable_document
from kernel_lineage.skills.effect import Match, expected
from skills.skill_folders import AFTER, APPLIES, a_skill, condition, evidence


def kernel(code: str = APPLIES) -> Kernel:
    (only,) = read(code.encode(), Language.CUDA).kernels
    return only


def stated(text: str) -> Facts:
    return stated_facts(text, "stated here")


def offered(**fields) -> Skill:
    return a_skill(
        **{"applies": ("cases/applies/01.before.cu",), "refuses": ("cases/refuses/01.cu",), **fields}
    )


LOADS_OF_X = "scalar loads of x"
NO_FACTS = Facts()


def at_loads(skill: Skill, facts: Facts = NO_FACTS, code: str = APPLIES):
    return next(a for a in applicable(kernel(code), [skill], facts) if a.anchor.detail.startswith(LOADS_OF_X))


@pytest.mark.parametrize(
    ("facts", "verdict", "reason"),
    [
        ("C = 768", Truth.HOLDS, ""),
        (
            "C = 768 | 770",
            Truth.FAILS,
            "C is a multiple of 4 does not hold: C = 770: C is 768 or 770 (stated here)",
        ),
        (
            "",
            Truth.UNKNOWN,
            "C is a multiple of 4 is not known to hold: nothing says C: state it in the workload",
        ),
    ],
)
def test_the_verdict_is_that_of_the_validity_conditions(facts: str, verdict: Truth, reason: str) -> None:
    card = at_loads(offered(), stated(facts))
    assert (card.verdict, card.reason) == (verdict, reason)


def test_profit_conditions_do_not_change_the_verdict() -> None:
    skill = offered(conditions=(condition("C % 4 == 0"), condition("C >= 512", kind="profit")))
    card = at_loads(skill, stated("C = 64"))
    assert (card.verdict, card.pays) == (Truth.HOLDS, Truth.FAILS)


def test_conditions_are_judged_in_the_kernel_s_own_names() -> None:
    card = at_loads(offered(conditions=(condition("dtype(x) == float32"), condition("C % 4 == 0"))), stated("OC = 8"),
        APPLIES.replace("C", "OC").replace("const float* x", "const float* x"))  # fmt: skip
    assert [j.expr for j in card.conditions] == ["dtype(x) == float32", "OC % 4 == 0"]
    assert card.verdict is Truth.HOLDS


def test_the_source_says_types_mechanisms_and_launch_by_itself_and_the_caller_goes_first() -> None:
    code = APPLIES + "void go(float* y, const float* x) { f<<<64, 256>>>(y, x, 770); }\n"
    skill = offered(
        conditions=(
            condition("dtype(x) == float32 and launch.block.x == 256 and not kernel.has('warp_shuffle')"),
            condition("C % 4 == 0"),
        )
    )
    assert at_loads(skill, Facts(), code).conditions[1].judgement.counterexample == "C = 770"
    assert at_loads(skill, stated("C = 768"), code).verdict is Truth.HOLDS


@pytest.mark.parametrize(
    ("skill", "code"),
    [
        (offered(), AFTER),
        (offered(languages=(Language.TRITON,)), APPLIES),
        (offered(anchor=AnchorRule(pattern="scalar_row_access", requires=("shared_memory_tile",))), APPLIES),
        (offered(anchor=AnchorRule(pattern="scalar_row_access", conflicts=("block_per_row",))), APPLIES),
        (offered(anchor=AnchorRule(pattern="shared_tile")), APPLIES),
        (offered(anchor=AnchorRule(pattern="scalar_row_access", where={"x": "z"})), APPLIES),
        (offered(refuses=()), APPLIES),
    ],
    ids=[
        "there already",
        "other language",
        "needs what is not there",
        "in conflict",
        "no anchor",
        "other match",
        "no case",
    ],
)
def test_a_skill_is_left_out_where_it_has_no_place(skill: Skill, code: str) -> None:
    assert applicable(kernel(code), [skill], Facts()) == ()


def test_a_name_of_another_kind_of_match_stands_in() -> None:
    code = "__global__ void f(float* y, const float* x, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    code += "    if (i < n) { y[i] = x[i]; }\n}\n"
    rule = AnchorRule(pattern="scalar_row_access", otherwise={"C": "N"})
    card = at_loads(offered(anchor=rule), stated("n = 8"), code)
    assert [j.expr for j in card.conditions] == ["n % 4 == 0"] and card.verdict is Truth.HOLDS
    assert at_loads(offered(), stated("n = 8"), code).verdict is Truth.UNKNOWN


def test_what_holds_comes_first_and_the_order_is_always_the_same() -> None:
    skills = [offered(), a_skill("b-skill", conditions=(condition("C > 1"),), applies=("a",), refuses=("b",))]
    cards = applicable(kernel(), skills, stated("C = 770"))
    assert [a.skill.id for a in cards] == ["b-skill", "b-skill", "a-skill", "a-skill"]
    assert applicable(kernel(), skills[::-1], stated("C = 770")) == cards


HERE = 'device.name = "NVIDIA H200", N = 8192, C = '


@pytest.mark.parametrize(
    ("facts", "match", "speedup"),
    [
        (HERE + "4096", Match.EXACT, 1.28),
        (HERE + "2048", Match.OTHER_SIZE, 1.28),
        ('device.name = "NVIDIA A100", N = 8192, C = 4096', Match.OTHER_DEVICE, 1.28),
        ("", Match.OTHER_DEVICE, 1.28),
    ],
)
def test_the_expected_effect_is_matched_by_grade(facts: str, match: Match, speedup: float) -> None:
    effect, grade = expected(offered(evidence=(evidence(),)), stated(facts))
    assert effect is not None and (grade, effect.speedup) == (match, speedup)


def test_the_nearest_size_on_this_device_is_expected_and_failures_give_no_expectation() -> None:
    size = evidence().sizes[0]
    near = size.model_copy(update={"dims": {"N": 8192, "C": 1024}, "speedup": 0.97})
    measured = (evidence("NVIDIA A100"), evidence(sizes=(size, near)))
    effect, grade = expected(offered(evidence=measured), stated(HERE + "1000"))
    assert effect is not None and (effect.speedup, grade) == (0.97, Match.OTHER_SIZE)
    assert expected(offered(evidence=(evidence(outcome="rejected"),)), stated(HERE + "4096")) == (
        None,
        Match.NONE,
    )


def test_the_card_says_what_when_and_what_goes_wrong() -> None:
    skill = offered(
        conditions=(condition("C % 4 == 0"), condition("align(x) >= 16"), condition("C >= 512", "profit"))
    )
    text = card_text(at_loads(skill, stated("C = 770")))
    assert "**A skill** · memory access · hypothesis (no use on another kernel has been verified)" in text
    assert "- ✗ `C % 4 == 0` — C is a multiple of 4 (author): C = 770: C is 770 (stated here)" in text
    assert "- ? `align(x) >= 16` — x is aligned to at least 16 bytes (author): nothing says align(x)" in text
    assert "**Pays when**\n\n- ✓ `C >= 512`" in text
    assert "**Expected here:** not measured yet." in text
    assert "**Goes wrong otherwise:** Otherwise it is wrong" in text and "C = 770: the last 2 columns" in text


def test_the_card_shows_a_measurement_with_its_interval_device_and_nearness() -> None:
    text = card_text(at_loads(offered(evidence=(evidence(),)), stated(HERE + "2048")))
    assert "admitted (1 of 1 held-out uses)" in text
    assert "**Expected here:** 1.28× (1.26 … 1.30), NVIDIA H200, other size" in text


def test_the_document_has_the_published_fields() -> None:
    k = kernel()
    document = applicable_document(
        "f.cu", [(k, applicable(k, [offered(evidence=(evidence(),))], stated("C = 770")))]
    )
    shown = document.model_dump(mode="json")
    assert shown["version"] == 1 and shown["kernel"] == "f" and shown["path"] == "f.cu"
    skill = shown["skills"][0]
    assert {"id", "title", "verdict", "conditions", "expected", "match"} <= skill.keys()
    assert (skill["id"], skill["verdict"], skill["match"]) == ("a-skill", "fails", "other_device")
    assert skill["expected"]["speedup"] == 1.28
    first = skill["conditions"][0]
    assert (first["expr"], first["kind"], first["category"], first["truth"]) == (
        "C % 4 == 0",
        "validity",
        "shape",
        "fails",
    )
    assert first["evidence"] == "C = 770: C is 770 (stated here)"
    assert skill["anchor"]["lines"] == [2, 2]


@pytest.mark.parametrize(
    ("facts", "exprs", "guardable"),
    [
        ("C = 768", ["C % 4 == 0"], False),
        ("C = 768 | 770", ["C % 4 == 0"], True),
        ("C = 770", ["C % 4 == 0"], False),
        ("", ["C % 4 == 0", "align(x) >= 16"], True),
        ("C = 768 | 770", ["C % 4 == 0", "align(x) >= 16 and launch.block.x >= 32"], True),
        ("", ["exclusive(x)"], False),
        ("C = 768 | 770", ["C % 4 == 0 and dtype(x) == float16"], False),
        ("C = 768 | 770", ["C % 4 == 0 or kernel.registers > 4"], False),
    ],
)
def test_what_the_kernel_can_test_may_be_guarded_unless_it_always_fails(
    facts: str, exprs, guardable: bool
) -> None:
    card = at_loads(offered(conditions=tuple(map(condition, exprs))), stated(facts))
    assert card.guardable is guardable
    assert ("Can be applied guarded" in card_text(card)) is guardable


def test_only_an_assist_is_tried_where_a_condition_fails_for_some_sizes() -> None:
    assert at_loads(offered(assist="vectorise_row_access"), stated("C = 768 | 770")).possible
    assert not at_loads(offered(assist="vectorise_row_access"), stated("C = 770")).possible
    assert not at_loads(offered(), stated("C = 768 | 770")).possible
    assert at_loads(offered(), stated("")).possible
