"""Wrong candidates and their honest twins as strangers write them: what optimised kernels hand on."""

import pytest

from benchmarks.strangers.model import Pair
from benchmarks.strangers_table import Judge
from gate.strangers import pairs_of, tell_apart


@pytest.mark.sets
@pairs_of("handed")
def test_the_wrong_one_is_seen_and_its_twin_is_not_refused(pair: Pair, judge_here: Judge) -> None:
    tell_apart(pair, judge_here)
