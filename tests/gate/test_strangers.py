"""Wrong candidates and their honest twins as strangers write them, of all sets of `benchmarks/strangers_table.py`."""

from collections.abc import Iterator

import pytest

from benchmarks.strangers.model import Pair
from benchmarks.strangers_table import SETS, Judge, judged
from kernel_gate.gate import judge
from kernel_gate.kept import Kept

PAIRS = [pair for pairs in SETS.values() for pair in pairs]
LET_THROUGH = {
    "one less a square": "no more wrong than the root of an x that differs in its last bit",
    "twenty-four probes": "no keys are drawn that crowd a table; comparisons of integers from data are not aimed at",
}
NOT_IN_PLACE = "online, starts at zero"
"""In place, its twin reads a row that another thread has written; the baseline does not."""


@pytest.fixture(scope="module")
def judge_here() -> Iterator[Judge]:
    """The gate in this process, with what it keeps of a baseline."""
    with Kept() as kept:
        yield lambda r: judge(
            r.baseline, r.candidate, r.workload, device=r.device, options=r.options, kept=kept
        )


@pytest.mark.long
@pytest.mark.parametrize("pair", PAIRS, ids=[f"{p.ground.name}: {p.name}" for p in PAIRS])
def test_the_wrong_one_is_seen_and_its_twin_is_not_refused(pair: Pair, judge_here: Judge) -> None:
    row = judged(pair, "emulated", judge_here, 0, callers_seconds=30.0)  # on a loaded machine too
    assert row.missed is (pair.name in LET_THROUGH), row.wrong.reason
    assert row.refused is (pair.name == NOT_IN_PLACE), row.honest.reason


@pytest.mark.parametrize(
    "name",
    [
        "E[x²] − E[x]²",
        "a special case for one value",
        "zero times what was there",
        "the highest block comes last",
        "one and the exponential",
        "a large number is another",
        "one value of a sum",
        "the wrong term where both scalars are equal",
        "one row by zero",
        "an answer kept by every eighth element",
        "two rows of an odd number",
        pytest.param("a row of infinities below", marks=pytest.mark.long),
    ],
)
def test_what_values_or_an_order_show_is_seen_with_any_seed(name: str, judge_here: Judge) -> None:
    pair = next(p for p in PAIRS if p.name == name)
    assert not judged(pair, "emulated", judge_here, 5).missed
