"""What the later state stores again: on the emulated device, and where counts decide what is said of it."""

import pytest
from tests.learning.probes.test_probe import STEP, verdict

from kernel_gate.verdict import Stage, StageStatus
from kernel_gate.worker import Worker
from kernel_lineage.learning.probes.probe import probe
from kernel_lineage.learning.probes.repeated_stores import ID
from kernel_lineage.skills.card import ConditionKind
from learning.probes.axis_examples import COPY, Example, rows_workload

BY_EACH_WARP = COPY.replace("threadIdx.x;", "threadIdx.x % 32;").replace("c += blockDim.x", "c += 32")
ROWS = rows_workload("copy_rows", dims="N = [2]\nC = [70]\n", block=64)


@pytest.mark.long
def test_a_loop_that_each_warp_of_a_block_runs_whole_pays_with_one_warp():
    with Worker() as worker:
        report = probe(Example(COPY, BY_EACH_WARP, ROWS, ()).step(), worker.judge, only=[ID])
    (cost,) = report.costs
    assert report.conditions == () and cost.condition is not None
    assert cost.condition.expr == "launch.block.x <= 32" and cost.condition.kind is ConditionKind.PROFIT
    assert cost.condition.evidence.endswith("counted on the emulated device, not timed (probe of example)")
    assert cost.confirmation is not None and cost.confirmation.share == 1.0
    assert cost.said == "stored bytes are stored 32 times, by the earlier state 1 times (line 2)"


def costs(times, atomics=0):
    """The costs of a step whose later state stores each byte so often, by the block's size."""

    def judge(request):
        if request.options.case is not None:
            return verdict(request, lambda *_: True)
        program = request.candidate
        block = int(program.launch.block[0]) if program.launch else 32
        document = {"classes": {"atomic": atomics}, "global_written_bytes": 100}
        counts = {
            "before": {"total": document, "lines": [], "work": {"written_bytes": 100}},
            "after": {
                "total": {**document, "global_written_bytes": 100 * times(block)},
                "lines": [{"line": 7, "global_written_bytes": 4}],
                "work": {"written_bytes": 100},
            },
        }
        sanitized = Stage(name="sanitize", status=StageStatus.PASS, reason="", details={"counts": counts})
        return verdict(request, lambda *_: True, [sanitized])

    return probe(STEP, judge, only=[ID]).costs


def test_what_is_stored_once_or_has_tails_that_overlap_is_not_spoken_of():
    assert costs(lambda _: 1) == () and costs(lambda _: 1.2) == ()


def test_atomics_add_to_what_is_there_and_repeat_nothing():
    assert costs(lambda _: 4, atomics=1) == ()


def test_what_is_stored_again_in_every_case_is_said_without_a_condition():
    (cost,) = costs(lambda _: 4)
    assert cost.condition is None
    assert cost.said.startswith(
        "stored bytes are stored 4 times, by the earlier state 1 times (line 7); so it is in all "
    )


@pytest.mark.parametrize("most", [64, 256])
def test_the_launch_that_it_begins_with_is_the_condition(most):
    (cost,) = costs(lambda block: 1 if block <= most else 3)
    assert cost.condition is not None and cost.condition.expr == f"launch.block.x <= {most}"
