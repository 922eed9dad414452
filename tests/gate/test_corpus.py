"""Every cheat of the corpus is caught for the right reason, and its honest twin passes."""

import pytest

from gate.corpus import Entry, entries, passes

ENTRIES = entries()


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_the_cheat_is_caught(entry: Entry):
    assert entry.caught(entry.judge("cheat")) == ""


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_the_honest_twin_passes(entry: Entry):
    verdict = entry.judge("honest")
    assert passes(verdict), verdict.reason


def test_the_rows_that_can_be_judged_without_a_gpu_are_there():
    assert {e.case["row"] for e in ENTRIES} >= {*range(1, 16), 17, 18, 29, 30}
