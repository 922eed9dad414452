"""Running the versions of a lineage: the step that broke something is named, with its counterexample."""

import pytest

from kernel_gate.workload import load_workload
from kernel_lineage.learning.check_lineages import check_versions, checkable
from kernel_lineage.learning.version_checks import VersionCheck, VersionState, step_check
from kernel_lineage.learning.version_sources import VersionSources


def _checks(sample, mined, kernel):
    workload = load_workload(sample / f".klineage/workloads/{kernel}.toml")
    (item,) = checkable(mined.lineages, [workload])
    sources = VersionSources(sample, item.lineage.versions)
    checks = check_versions([item], sources, device="emulated")
    return [checks[v.id] for v in item.lineage.versions]


@pytest.mark.parametrize(
    ("kernel", "counterexample"),
    [
        ("rmsnorm_forward", "C 258"),  # the tail that float4 does not write
        ("reduce_sum", "no barrier between"),  # the race that lockstep hides
        ("row_softmax", "out of bounds"),  # the mask that was dropped
    ],
)
def test_the_version_that_a_later_commit_had_to_fix_is_wrong(sample, mined, kernel, counterexample):
    checks = _checks(sample, mined, kernel)
    states = [check.state for check in checks]
    wrong = states.index(VersionState.WRONG)
    assert states.count(VersionState.WRONG) == 1
    assert states[wrong + 1] is VersionState.RIGHT
    assert counterexample in checks[wrong].reason


def test_a_lineage_without_a_workload_is_not_run(mined):
    assert checkable(mined.lineages, []) == []


RIGHT = VersionCheck("a", VersionState.RIGHT, "22 cases agree")
WRONG = VersionCheck("b", VersionState.WRONG, "y[3] = 1, expected 2")
UNKNOWN = VersionCheck("c", VersionState.UNKNOWN, "does not build")


@pytest.mark.parametrize(
    ("before", "after", "state", "text"),
    [
        (RIGHT, RIGHT, VersionState.RIGHT, "22 cases agree"),
        (RIGHT, WRONG, VersionState.WRONG, "wrong after this step: y[3]"),
        (WRONG, RIGHT, VersionState.RIGHT, "right again"),
        (RIGHT, UNKNOWN, VersionState.UNKNOWN, "does not build"),
    ],
)
def test_a_step_is_judged_by_its_ends(before, after, state, text):
    judged = step_check(before, after)
    assert judged is not None
    assert judged[0] is state
    assert text in judged[1]


def test_a_step_whose_end_was_not_run_is_not_judged():
    assert step_check(RIGHT, None) is None
