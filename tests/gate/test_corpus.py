"""Every cheat of the corpus is caught for the right reason, and its honest twin passes."""

import pytest

from gate.corpus import Entry, entries, passes
from kernel_gate.gate import judge

ENTRIES = [entry for entry in entries() if not entry.needs_gpu]


# A cheat in Triton has one in CUDA C++ beside it, of the same row.
MARKED = [
    pytest.param(e, marks=pytest.mark.sets if "_triton_" in e.name else pytest.mark.long) for e in ENTRIES
]


@pytest.mark.parametrize("entry", MARKED, ids=lambda e: e.name)
def test_the_cheat_is_caught(entry: Entry):
    assert entry.caught(entry.judge("cheat")) == ""


@pytest.mark.sets
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_the_honest_twin_passes(entry: Entry):
    verdict = entry.judge("honest")
    assert passes(verdict), verdict.reason


@pytest.mark.parametrize("entry", [e for e in entries() if e.needs_gpu], ids=lambda e: e.name)
@pytest.mark.sets
def test_what_only_times_can_tell_passes_everything_else(entry: Entry):
    assert passes(entry.judge("cheat"))
    assert passes(entry.judge("honest"))


def test_the_rows_that_can_be_judged_without_a_gpu_are_there():
    assert {e.case["row"] for e in ENTRIES} >= {*range(1, 16), 17, 18, 29, 30, 31}


@pytest.mark.long
def test_an_honest_twin_may_round_where_the_baseline_saturates():
    """With this seed rows of values below the code's constants leave of the baseline's `1 + tanh` its roundings."""
    (entry,) = (e for e in ENTRIES if e.name == "07_bfloat16_cut_off")
    asked = entry.request("honest")
    programs = asked.baseline, asked.candidate
    options = asked.options.model_copy(update={"seed": 3})
    verdict = judge(*programs, asked.workload, device="emulated", options=options)
    assert passes(verdict), verdict.reason
