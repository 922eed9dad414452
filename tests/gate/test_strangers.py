"""Wrong candidates as strangers write them that some seeds would let through; all pairs: `test_strangers_*.py`."""

import pytest

from benchmarks.strangers_table import SETS, Judge, lets_through, verdict_on
from gate.strangers import FILES


def test_each_set_is_tested_in_one_file() -> None:
    assert sorted(name for names in FILES.values() for name in names) == sorted(SETS)


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
        "a cap that rate and decay reach together",
        pytest.param("a tie is asked within its tile", marks=pytest.mark.long),
        "twenty-four probes",
        "rows alike in their first four",
        "the other block may have left",
        pytest.param("a row of infinities below", marks=pytest.mark.long),
    ],
)
def test_what_values_or_an_order_show_is_seen_with_any_seed(name: str, judge_here: Judge) -> None:
    pair = next(p for pairs in SETS.values() for p in pairs if p.name == name)
    assert not lets_through(verdict_on(pair, "wrong", "emulated", judge_here, 5))
