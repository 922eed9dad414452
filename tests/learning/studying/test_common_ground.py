"""Common ground: which of a workload's sizes are left when those on which a step fails are taken out."""

from __future__ import annotations

import pytest

from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Outcome, Stage, StageStatus, Verdict
from kernel_gate.workload import Workload
from kernel_lineage.learning.steps import Step
from kernel_lineage.learning.studying.common_ground import common_ground

WORKLOAD = Workload.model_validate(
    {
        "kernel": "k",
        "language": "cuda",
        "source": "k.cu",
        "dims": {"N": [1, 5], "C": [256, 258, 768]},
        "args": [{"name": "out", "kind": "output", "dtype": "float32", "shape": ["N", "C"]}],
        "launch": {"grid": ["N"], "block": [32]},
    }
)
STEP = Step("1→2", Program("cuda", "", "k"), Program("cuda", "", "k"), WORKLOAD)


def failing_when(fails):
    """A judge by whom the later state fails on these sizes."""

    def judge(request: GateRequest) -> Verdict:
        dims = request.options.case or {}
        code = Reason.WRONG_VALUE if fails(dims) else Reason.ONE_CASE_ONLY
        status = StageStatus.FAIL if fails(dims) else StageStatus.UNAVAILABLE
        stages = [
            Stage(name="build", status=StageStatus.PASS),
            Stage(name="check", status=status, code=code),
        ]
        return Verdict(outcome=Outcome.INCONCLUSIVE, code=code, reason="", stages=stages, inputs_hash="")

    return judge


@pytest.mark.parametrize(
    ("fails", "dims"),
    [
        (lambda d: False, {"N": (1, 5), "C": (256, 258, 768)}),
        (lambda d: d["C"] % 4, {"N": (1, 5), "C": (256, 768)}),
        (lambda d: d["N"] == 5 and d["C"] == 258, {"N": (1, 5), "C": (256, 768)}),
        (lambda d: d["N"] > 1, {"N": (1,), "C": (256, 258, 768)}),
        (lambda d: True, None),
    ],
)
def test_sizes_on_which_the_later_state_fails_are_taken_out(fails, dims):
    ground = common_ground(STEP, failing_when(fails))
    assert (None if ground is None else dict(ground.workload.dims)) == dims
