"""What is asked of wrong candidates and their honest twins; sets are tested by files, which run beside each other."""

import pytest

from benchmarks.strangers.model import Pair
from benchmarks.strangers_table import SETS, Judge, judged

FILES = {
    "kinds": ("first", "kinds", "fresh"),
    "haste": ("classes", "numbers", "rewrites", "hurried"),
    "corners": ("subtle", "slips", "corners", "layers"),
    "handed": ("handed",),
}
"""Sets by the file that tests them, `test_strangers_FILE.py`; each takes about as long as another."""
LET_THROUGH = {
    "a far row's place in 32 bits": "no case holds eight gigabytes; the proofs of a verdict refute it",
    "one less a square": "no more wrong than the root of an x that differs in its last bit",
}
NOT_IN_PLACE = "online, starts at zero"
"""In place, its twin reads a row that another thread has written; the baseline does not."""


def pairs_of(file: str) -> pytest.MarkDecorator:
    """A test of each pair of a file's sets."""
    pairs = [pair for name in FILES[file] for pair in SETS[name]]
    return pytest.mark.parametrize("pair", pairs, ids=[f"{p.ground.name}: {p.name}" for p in pairs])


def tell_apart(pair: Pair, judge: Judge) -> None:
    """Assert that the wrong one is seen, unless it is known to pass, and that its twin is not refused."""
    row = judged(pair, "emulated", judge, 0, callers_seconds=30.0)  # on a loaded machine too
    assert row.missed is (pair.name in LET_THROUGH), row.wrong.reason
    assert row.refused is (pair.name == NOT_IN_PLACE), row.honest.reason
