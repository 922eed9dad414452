"""A part that a GPU has timed is timed over sizes too, and where it pays becomes a condition of its own."""

from kernel_gate.program import Program
from kernel_gate.verdict import Outcome, ShapeSpeed, SpeedState, Speedup, Verdict
from kernel_gate.workload import Workload
from kernel_lineage.learning.probes.asking import Budget
from kernel_lineage.learning.steps import Step
from kernel_lineage.learning.studying.study import study
from kernel_lineage.skills.card import ConditionKind, Origin

BEFORE = """__global__ void twice(float* out, const float* x, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) { out[i] = 2.0f * x[i]; }
}
"""
STEP = Step(
    "twice",
    Program("cuda", BEFORE, "twice", name="before"),
    Program(
        "cuda",
        BEFORE.replace("float* out, const float*", "float* __restrict__ out, const float* __restrict__"),
        "twice",
    ),
    Workload.model_validate(
        {
            "kernel": "twice",
            "language": "cuda",
            "dims": {"N": [64]},
            "promises": ["N <= 1000000"],
            "args": [
                {"name": "out", "kind": "output", "dtype": "float32", "shape": ["N"], "noalias": True},
                {"name": "x", "kind": "input", "dtype": "float32", "shape": ["N"]},
                {"name": "N", "kind": "scalar", "dtype": "int32", "value": "N"},
            ],
            "launch": {"grid": ["ceil_div(N, 64)"], "block": [64]},
        }
    ),
    ("restrict_read_only",),
)


def timed(request):
    """What a GPU would say on which the later state is the faster one from N = 5000 on."""

    def shape(dims):
        ratio = 1.2 if dims["N"] >= 5000 else 0.9
        state = SpeedState.FAST if ratio > 1 else SpeedState.SLOW
        return ShapeSpeed(
            dims=dims, baseline_us=10.0, candidate_us=10.0 / ratio, median=ratio, low=ratio - 0.01, high=ratio + 0.01,
            noise=0.001, state=state,
        )  # fmt: skip

    shapes = [shape(dims) for dims in request.workload.profile_dims or ({"N": 64},)]
    first = shapes[0]
    speedup = Speedup(median=first.median, low=first.low, high=first.high, state=first.state, by_shape=shapes)
    return Verdict(
        outcome=Outcome.ACCEPTED, reason="", stages=[], speedup=speedup, inputs_hash="",
        environment={"device": {"name": "a GPU of a test"}},
    )  # fmt: skip


def test_where_a_timed_part_pays_is_a_condition_of_that_part(worker):
    def judge(request):
        return worker.judge(request) if request.device == "emulated" else timed(request)

    (part,) = study(STEP, judge, device="cuda", probes=Budget(runs=3)).parts
    (profit,) = (c for c in part.conditions if c.kind is ConditionKind.PROFIT)
    assert (profit.expr, profit.origin) == ("N >= 6144", Origin.PROBE)
    assert profit.evidence.startswith("a GPU of a test: 0.900×")
    assert "the crossing lies in N 4096 … 6144" in profit.evidence


def test_a_part_that_was_not_timed_claims_nothing(worker):
    (part,) = study(STEP, worker.judge, device="emulated", probes=Budget(runs=3)).parts
    assert not any(c.kind is ConditionKind.PROFIT for c in part.conditions)
