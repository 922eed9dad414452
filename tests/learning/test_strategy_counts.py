"""How often each strategy was added in a repository: from its lineages and the outcomes kept beside them."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from history.repositories import Step, make_repository
from history.test_lineages import KERNEL, WARP
from kernel_lineage.cache_file import CACHE
from kernel_lineage.cache_folder import kept_in
from kernel_lineage.cli.main import main
from kernel_lineage.history.mine import mine
from kernel_lineage.learning.strategy_counts import count_mined
from kernel_lineage.skills.ranking.count_files import builtin_counts, known_counts
from kernel_lineage.skills.ranking.counts import Counts
from kernel_lineage.skills.ranking.outcomes import Outcome, keep_outcome, outcomes_in

NAIVE = KERNEL.replace("row_sum", "sum")
WARPS = WARP.format(name="sum")
HINTED = WARPS.replace("inp[row * C + c]", "__ldcs(&inp[row * C + c])")
OUTCOME = Outcome(
    skill="restrict-const-pointers",
    mechanism="restrict_read_only",
    path="sum.cu",
    kernel="sum",
    language="cuda",
    before=("warp_shuffle",),
    parent="a" * 64,
    candidate="b" * 64,
    workload="c" * 64,
    by="assist",
    outcome="accepted",
    code="",
    reason="faster",
    device="H200",
    speedup=1.2,
    date="2026-01-01",
)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    make_repository(
        tmp_path,
        [
            Step("begin", {"sum.cu": NAIVE}),
            Step("a warp per row", {"sum.cu": WARPS}),
            Step("hint", {"sum.cu": HINTED}),
        ],
    )
    return tmp_path


def counts_of(repository: Path) -> Counts:
    assert count_mined(mine(repository)) == ()
    return known_counts(repository).counts


def test_each_step_counts_for_what_it_added_and_for_what_it_could_have(repository: Path):
    before, after = builtin_counts().strategies, counts_of(repository).strategies
    for added in ("warp_shuffle", "cache_hints"):
        assert after[added].steps == before[added].steps + 1
    own = {n: after[n].could["cuda"] - 0.25 * before[n].could["cuda"] for n in ("warp_shuffle", "fast_math")}
    assert own == pytest.approx({"warp_shuffle": 1, "fast_math": 2}, abs=1e-3)


def test_a_kept_outcome_is_a_step_with_its_effect(repository: Path):
    keep_outcome(repository, OUTCOME)
    (effect,) = counts_of(repository).strategies["restrict_read_only"].effects
    assert (effect.speedup, effect.device) == (1.2, "H200")


def test_the_same_outcome_is_kept_once_and_a_damaged_one_is_named(tmp_path: Path):
    path = keep_outcome(tmp_path, OUTCOME)
    assert keep_outcome(tmp_path, OUTCOME) == path
    (path.parent / "broken.json").write_text("{}")
    outcomes, problems = outcomes_in(tmp_path)
    assert outcomes == (OUTCOME,)
    assert "broken.json" in problems[0]


def test_mining_keeps_it_when_asked_and_others_rank_by_it(repository: Path):
    assert CliRunner().invoke(main, ["mine", str(repository)]).exit_code == 0
    without = known_counts(repository)
    assert without.counts is builtin_counts()
    assert "klineage mine --counts" in without.note
    assert CliRunner().invoke(main, ["mine", str(repository), "--counts"]).exit_code == 0
    kept = known_counts(repository)
    assert kept.note == ""
    assert kept.counts.steps == builtin_counts().steps + 2


def test_a_damaged_cache_is_set_aside_with_a_note(repository: Path):
    mined = mine(repository)
    (kept_in(repository) / CACHE).write_bytes(b"damaged" * 1000)
    (note,) = count_mined(mined)
    assert "set aside" in note
    assert known_counts(repository).note == ""
