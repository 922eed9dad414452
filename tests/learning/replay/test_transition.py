"""One transition, with a gate that is told what to say: what is asked for, and what comes of it."""

from __future__ import annotations

from pathlib import Path

from tests.history.repositories import Step, make_repository

from kernel_gate.options import GateOptions
from kernel_gate.reasons import Reason
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Outcome, Stage, StageStatus, Verdict
from kernel_lineage.history.git import open_repository
from kernel_lineage.history.mine import mine
from kernel_lineage.learning.replay.bench import Ground
from kernel_lineage.learning.replay.claims import claimed
from kernel_lineage.learning.replay.kept_drafts import KeptDrafts
from kernel_lineage.learning.replay.lineage_drafts import LineageDrafts
from kernel_lineage.learning.replay.transition import replay_transition
from kernel_lineage.workloads.saved import workloads_in

PRODUCT = """\
import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(out_ptr, a_ptr, b_ptr, K, BLOCK: tl.constexpr):
    rows, inner = tl.arange(0, 16), tl.arange(0, BLOCK)
    a = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=inner[None, :] < K, other=0.0)
    b = tl.load(b_ptr + inner[:, None] * 16 + rows[None, :], mask=inner[:, None] < K, other=0.0)
    tl.store(out_ptr + rows[:, None] * 16 + rows[None, :], tl.dot(a, b))


def product(a, b):
    K = a.shape[1]
    out = torch.empty(16, 16, dtype=a.dtype)
    product_kernel[(1,)](out, a, b, K, BLOCK=triton.next_power_of_2(K))
    return out
"""
TEST = """\
import torch
from product import product

def test_product(K=64):
    product(torch.randn(16, K), torch.randn(K, 16))
"""
PASS, FAIL, GONE = StageStatus.PASS, StageStatus.FAIL, StageStatus.UNAVAILABLE


def verdict_of(*stages: tuple[str, StageStatus, Reason | None], **details: object) -> Verdict:
    judged_stages = [
        Stage(name=n, status=s, code=c, reason=f"{n} says so", details=details) for n, s, c in stages
    ]
    return Verdict(
        outcome=Outcome.REJECTED if judged_stages[-1].status is FAIL else Outcome.INCONCLUSIVE,
        code=judged_stages[-1].code,
        reason=judged_stages[-1].reason,
        stages=judged_stages,
        speedup=None,
        environment={},
        inputs_hash="",
    )


NOT_BUILT = verdict_of(("build", GONE, Reason.BASELINE_DOES_NOT_COMPILE), program="baseline")
RIGHT = verdict_of(
    ("build", PASS, None),
    ("check", PASS, None),
    ("sanitize", PASS, None),
    ("profile", GONE, Reason.NOT_PROFILED),
)
WRONG = verdict_of(("build", PASS, None), ("check", FAIL, Reason.WRONG_VALUE))


def test_a_state_that_compiles_for_its_callers_shapes_only_is_compared_and_looked_at_there(
    tmp_path: Path,
) -> None:
    faster = PRODUCT.replace("tl.dot(a, b)", 'tl.dot(a, b, input_precision="tf32")')
    make_repository(
        tmp_path,
        [
            Step("Product", {"product.py": PRODUCT, "tests/test_product.py": TEST}),
            Step("Speed up: 2x faster product", {"product.py": faster}),
        ],
    )
    (item,) = claimed(mine(tmp_path, use_cache=False))

    def judge(request: GateRequest) -> Verdict:
        return NOT_BUILT if request.options.hidden else RIGHT

    def probe(request: GateRequest) -> Verdict:
        return NOT_BUILT if request.options.hidden else WRONG

    kept = tmp_path / "kept"
    kept.mkdir()
    repository = open_repository(tmp_path)
    ground = Ground(
        repository=repository,
        workloads=workloads_in(tmp_path),
        judge=judge,
        probe=probe,
        device="emulated",
        device_name="emulated",
        options=GateOptions(),
    )
    record, _ = replay_transition(item, ground, LineageDrafts(repository, KeptDrafts(kept)))
    assert (record.status, record.code) == ("reproduced", "agrees"), record.reason
    assert "elsewhere the earlier state does not build" in record.reason
    assert set(record.sees.values()) == {"killed"}
