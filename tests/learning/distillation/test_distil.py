"""Lessons → skills: whose card they extend, in which names, what is merged, what is refused."""

from __future__ import annotations

import pytest

from kernel_gate.program import LaunchSpec, Program
from kernel_lineage.kernels.source import Language
from kernel_lineage.learning.distillation.conditions import merged
from kernel_lineage.learning.distillation.distil import Distilled, distil
from kernel_lineage.learning.distillation.lesson import Lesson, RefusingCase
from kernel_lineage.learning.distillation.publish import UnfitError, publish
from kernel_lineage.rewrite.program_edits import kernel_of, with_own_launch
from kernel_lineage.skills.card import Category, ConditionKind, Origin, Risk
from kernel_lineage.skills.case import read_case
from kernel_lineage.skills.conditions.facts import Fact, Facts, FactSource
from kernel_lineage.skills.skill_file import read_skill
from learning.distillation.lessons import CARDS, condition, evidence, kernel, lesson


def only(distilled: Distilled):
    (proposal,) = distilled.proposals
    return proposal


def test_a_lesson_extends_the_card_of_its_mechanism_in_the_cards_names():
    taught = (condition("OC % 4 == 0"), condition("noalias(dst, src)"))
    card = next(s for s in CARDS if s.id == "vectorised-row-access")
    conditions = [c.model_copy(update={"origin": Origin.AUTHOR, "evidence": None}) for c in card.conditions]
    card = card.model_copy(update={"conditions": tuple(conditions)})
    proposal = only(distil([lesson(conditions=taught)], [card]))
    assert proposal.skill.id == card.id
    by_expr = {c.expr: c for c in proposal.skill.conditions}
    # What the card said as its author's word is now known by probing, with what was seen.
    assert by_expr["C % 4 == 0"].origin is Origin.PROBE
    assert by_expr["C % 4 == 0"].evidence == "seen of OC % 4 == 0"
    assert proposal.confirmed == ("C % 4 == 0",)
    assert set(by_expr) >= {c.expr for c in card.conditions}
    assert proposal.skill.lineage is not None
    assert proposal.skill.lineage.commits == ("1111111", "2222222")
    assert not proposal.skill.builtin


def test_what_the_anchor_does_not_bind_is_a_risk_of_that_kernel():
    proposal = only(distil([lesson(conditions=(condition("factor > 0"),))], CARDS))
    assert [r.what for r in proposal.skill.risk][-1:] == [
        "In gain it also needed factor > 0; factor is that kernel's own"
    ]
    assert "factor" not in " ".join(c.expr for c in proposal.skill.conditions)


TWO_COPIES = """\
__global__ void both(float* dst, const float* one, float* aux, const float* two, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { dst[i] = one[i]; aux[i] = two[i]; }
}
"""
ONE_BY_FOUR = """\
__global__ void both(float4* dst, const float4* one, float* aux, const float* two, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (4 * i < n) { dst[i] = one[i]; }
    if (i < n) { aux[i] = two[i]; }
}
"""


def test_what_a_further_anchor_of_the_step_binds_is_said_in_the_cards_names_too():
    taught = (condition("align(dst) >= 16"), condition("align(one) >= 16"), condition("align(two) >= 4"))
    step = lesson(before=kernel(TWO_COPIES), after=kernel(ONE_BY_FOUR), conditions=taught)
    proposal = only(distil([step], CARDS))
    assert proposal.confirmed == ("align(x) >= 16",)
    own = [r.what for r in proposal.skill.risk if "both" in r.what]
    # What is read one element at a time after the step as well tells nothing of vectors.
    assert own == ["In both it also needed align(two) >= 4; two is that kernel's own"]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"mechanisms": ()}, "it adds no mechanism that is known"),
        ({"mechanisms": ("async_copy",)}, "no skill adds async_copy to cuda kernels"),
        ({"evidence": evidence("rejected")}, "the gate rejected it: said"),
        ({"mechanisms": ("bank_conflict_padding",)}, "gain has no shared_tile before the step"),
    ],
)
def test_a_lesson_that_no_card_has_a_place_for_is_refused(fields, reason):
    distilled = distil([lesson(**fields)], CARDS)
    assert distilled.proposals == ()
    assert [r.reason for r in distilled.refused] == [reason]


def test_the_same_lessons_in_any_order_give_the_same_bytes(tmp_path):
    lessons = [
        lesson("1→2", conditions=(condition("OC % 8 == 0"),)),
        lesson(
            "3→4",
            lineage="other",
            conditions=(condition("OC % 2 == 0"),),
            risks=(Risk(what="w", evidence="e"),),
        ),
    ]

    def written(name: str, lessons: list[Lesson]) -> dict[str, bytes]:
        folder = publish(only(distil(lessons, CARDS)), tmp_path / name)
        return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}

    assert written("one", lessons) == written("other", lessons[::-1])


def test_a_published_skill_holds_the_lessons_cases_and_passes_its_own_check(tmp_path):
    taught = lesson(
        conditions=(condition("OC % 4 == 0"),),
        refusing=(RefusingCase("OC % 4 == 0", {"OC": "770"}), RefusingCase("OC % 4 == 0", {"OC": "768"})),
    )
    folder = publish(only(distil([taught], CARDS)), tmp_path)
    skill, problems = read_skill(folder, builtin=False)
    assert problems == ()
    assert skill is not None
    assert skill.applies == ("cases/applies/01.before.cu", "cases/applies/02.before.cu")
    refusing = [(folder / path).read_text() for path in skill.refuses]
    assert sum("// facts: OC = 770" in text and "// because: C % 4 == 0" in text for text in refusing) == 1
    # With 768 the condition holds, so the case refuses nothing and is not kept.
    assert not (folder / "cases/refuses/05.cu").exists()


def test_without_code_a_skill_holds_facts_only():
    proposal = only(distil([lesson()], CARDS, with_code=False))
    assert not any("gain" in text for text in proposal.cases.values())


def test_a_proposal_that_is_no_valid_skill_is_not_written(tmp_path):
    wrong = condition("OC % 4 == 0").model_copy(update={"category": Category.PIPELINE})
    nothing = lesson(conditions=(wrong.model_copy(update={"expr": 'kernel.has("flying")'}),))
    with pytest.raises(UnfitError, match="mechanism `flying` does not exist"):
        publish(only(distil([nothing], CARDS)), tmp_path)
    assert list(tmp_path.iterdir()) == []


CARD = (condition("C % 4 == 0", Origin.AUTHOR), condition("C >= 512", Origin.AUTHOR, ConditionKind.PROFIT))


@pytest.mark.parametrize(
    ("learned", "exprs", "risks"),
    [
        pytest.param(["C % 4 == 0"], [], 0, id="the same: confirmed"),
        pytest.param(["C % 8 == 0"], [], 1, id="stronger: that carrier's"),
        pytest.param(["C % 2 == 0"], [], 1, id="weaker: the card's assist relies on more"),
        pytest.param(["align(x) >= 16"], ["align(x) >= 16"], 0, id="something else: added"),
        pytest.param(
            ["align(x) >= 32", "align(x) >= 16"],
            ["align(x) >= 16"],
            0,
            id="of two that were learned the weaker",
        ),
    ],
)
def test_what_is_learned_is_put_beside_what_the_card_says(learned, exprs, risks):
    together = merged(CARD, [condition(expr) for expr in learned])
    assert [c.expr for c in together.conditions] == [*(c.expr for c in CARD), *exprs]
    assert len(together.risks) == risks


def test_the_strongest_origin_is_named():
    (first, *_) = merged(CARD, [condition("C % 4 == 0", o) for o in (Origin.GUARD, Origin.PROOF)]).conditions
    assert first.origin is Origin.PROOF


def test_a_step_that_is_right_where_the_card_says_that_it_is_not_is_another_one():
    """What its workload tells of the kernel before the step is held against the card's own conditions."""

    def seen(*sizes: int) -> Distilled:
        where = Fact(sizes, "the workload", FactSource.WORKLOAD)
        return distil([lesson(facts=Facts({"OC": where}))], CARDS)

    assert seen(770).proposals == ()
    assert "vectorised-row-access is something else: OC % 4 == 0" in seen(770).refused[0].reason
    # One of its sizes is as the card has it: the step treats the others besides.
    assert only(seen(768, 770)).skill.id == "vectorised-row-access"


TRITON = """\
import triton
import triton.language as tl


@triton.jit
def unit_rows(out, x, n_rows, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    v = tl.load(x + row * n_cols + cols, mask=cols < n_cols, other=0.0)
    length = tl.sqrt(tl.sum(v * v, axis=0))
    tl.store(out + row * n_cols + cols, v / length, mask=cols < n_cols)
"""


def test_a_lesson_of_a_triton_launch_finds_its_card_by_the_launch_beside_the_text():
    program = Program("triton", TRITON, "unit_rows", LaunchSpec(("N",), constexpr={"BLOCK": "64"}))
    kernel = with_own_launch(kernel_of(program), program)
    proposal = only(distil([lesson(mechanisms=("warps_and_stages",), before=kernel, after=kernel)], CARDS))
    assert proposal.skill.id == "triton-launch-options"


@pytest.mark.parametrize("card", [s for s in CARDS if Language.TRITON in s.languages], ids=lambda s: s.id)
def test_a_lesson_of_a_triton_step_finds_the_card_of_its_mechanism(card):
    """At the card's own example, as if a history had made that step."""
    case = read_case(card.folder / card.applies[0])
    step = lesson(mechanisms=(card.mechanism,), before=case.kernel, after=case.kernel, facts=case.facts)
    assert only(distil([step], CARDS)).skill.id == card.id
