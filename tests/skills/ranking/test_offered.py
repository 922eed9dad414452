"""What is offered on a kernel, in which order, and why: truth first, then limits, then the counts."""

from itertools import pairwise

from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.skills.applicable import Applicable, applicable
from kernel_lineage.skills.conditions.facts import Facts
from kernel_lineage.skills.conditions.stated import stated_facts
from kernel_lineage.skills.conditions.truth import Truth
from kernel_lineage.skills.document import applicable_document
from kernel_lineage.skills.library import library
from kernel_lineage.skills.ranking.counts import Observation, counted

SOURCE = b"""
__global__ void row_sum(float* out, const float* x, int N, int C) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) return;
    float total = 0.0f;
    for (int c = 0; c < C; c++) total += expf(x[row * C + c]);
    out[row] = total;
}
void run(float* out, const float* x, int N, int C) { row_sum<<<(N + 127) / 128, 128>>>(out, x, N, C); }
"""
KERNEL = read(SOURCE, Language.CUDA).kernels[0]
SKILLS = tuple(library())


def offered(facts: Facts | None = None, **ranking: object) -> tuple[Applicable, ...]:
    return applicable(KERNEL, SKILLS, facts or Facts(), **ranking)  # type: ignore[arg-type]


def seen(number: int, strategy: str) -> Observation:
    return Observation(f"{strategy}{number}", "cuda", frozenset(), (strategy,))


def test_each_has_its_reason_and_its_place():
    document = applicable_document("x.cu", [(KERNEL, offered())])
    assert [skill.rank for skill in document.skills] == list(range(1, len(document.skills) + 1))
    assert all(skill.rank_reason for skill in document.skills)


def test_of_the_same_truth_the_likeliest_comes_first():
    order = {Truth.HOLDS: 0, Truth.UNKNOWN: 1, Truth.FAILS: 2}
    cards = offered()
    assert len(cards) > 4
    for one, other in pairwise(cards):
        assert order[one.verdict] <= order[other.verdict]
        if (one.verdict, one.pays) == (other.verdict, other.pays):
            assert one.score >= other.score


def test_other_counts_give_another_order():
    both = {"warp_per_row", "block_per_row"}
    for strategy in sorted(both):
        counts = counted([seen(n, strategy) for n in range(8)])
        ranked = sorted(offered(counts=counts), key=lambda a: -a.score)
        assert ranked[0].skill.mechanism == strategy
        assert "8 steps added it" in ranked[0].rank_reason


def test_what_limits_the_kernel_vetoes_and_says_why():
    cards = offered(stated_facts('profile.bound = "launch"', "measured"))
    vetoed = [a for a in cards if a.not_now]
    assert {"fast_math", "restrict_read_only"} <= {a.skill.mechanism for a in vetoed}
    assert all("only fewer launches help" in a.not_now for a in vetoed)
    for one, other in pairwise(cards):
        if one.verdict is other.verdict:
            assert bool(one.not_now) <= bool(other.not_now)
    assert [a.not_now for a in offered()] == [""] * len(cards)
