"""A step → its parts: on the emulated device for rightness, with given speeds for what depends on what."""

from __future__ import annotations

import pytest

from kernel_gate.program import LaunchSpec, Program
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Outcome, ShapeSpeed, SpeedState, Speedup, Stage, StageStatus, Verdict
from kernel_gate.worker import Worker
from kernel_gate.workload import Workload
from kernel_lineage.learning.attribution.attribute import attribute
from kernel_lineage.learning.steps import Step
from kernel_lineage.learning.version_checks import VersionState

BEFORE = """\
__global__ void scale1(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = x[i] / 3.0f;
    }
}
"""
AFTER = """\
__global__ void scale2(float* __restrict__ out, const float* __restrict__ x, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        out[i] = x[i] * (1.0f / 3.0f);
    }
}
"""
WORKLOAD = Workload.model_validate(
    {
        "kernel": "scale1",
        "language": "cuda",
        "source": "scale.cu",
        "dims": {"n": [100, 257]},
        "args": [
            {"name": "out", "kind": "output", "dtype": "float32", "shape": ["n"]},
            {"name": "x", "kind": "input", "dtype": "float32", "shape": ["n"]},
            {"name": "n", "kind": "scalar", "dtype": "int32", "value": "n"},
        ],
        "launch": {"grid": ["ceil_div(n, 64)"], "block": [64]},
    }
)
STEP = Step(
    "scale1→scale2",
    Program("cuda", BEFORE, "scale1", name="scale1"),
    Program("cuda", AFTER, "scale2", LaunchSpec(("1",), ("64",)), name="scale2"),
    WORKLOAD,
    ("grid_stride_loop", "restrict_read_only"),
)


def test_a_step_that_mixes_three_things_is_split_into_them():
    with Worker() as worker:
        attribution = attribute(STEP, worker.judge, device="emulated")
    assert [part.added_mechanisms for part in attribution.parts] == [
        ("restrict_read_only",),
        ("grid_stride_loop",),
        (),
    ]
    # One block alone leaves elements unwritten: it is right only once threads go round.
    assert attribution.parts[2].launch
    assert attribution.parts[2].alone is VersionState.WRONG
    assert attribution.interactions == ("part 3 is wrong without the parts before it",)
    assert not attribution.reason
    assert attribution.parts[0].before.source == BEFORE
    assert "blockDim.x + threadIdx.x;" in attribution.parts[-1].after.source


def verdict(speed: float) -> Verdict:
    """An accepted verdict with a measured speed."""
    state = SpeedState.FAST if speed > 1.01 else SpeedState.SLOW if speed < 0.99 else SpeedState.SAME
    shape = ShapeSpeed(
        dims={"n": 257},
        baseline_us=10.0,
        candidate_us=10.0 / speed,
        median=speed,
        low=speed,
        high=speed,
        noise=0.001,
        state=state,
    )
    return Verdict(
        outcome=Outcome.ACCEPTED,
        reason="",
        stages=[
            Stage(name=name, status=StageStatus.PASS) for name in ("build", "check", "sanitize", "profile")
        ],
        speedup=Speedup(median=speed, low=speed, high=speed, state=state, by_shape=[shape]),
        inputs_hash="",
    )


@pytest.mark.parametrize(
    ("alone", "after", "interactions"),
    [
        (1.0, 1.5, ("part 2 pays only after the parts before it: alone 1.000× (1.000 … 1.000), same",)),
        (1.5, 1.0, ("part 2 pays only without the parts before it: alone 1.500× (1.500 … 1.500), fast",)),
        (1.5, 1.5, ()),
    ],
)
def test_parts_that_depend_on_each_other_say_so(alone, after, interactions):
    """The speeds are given: what alone is seen of a second part, and what after the first."""

    def judge(request: GateRequest) -> Verdict:
        first, second = ("__restrict__" in p.source for p in (request.baseline, request.candidate))
        divides = "/ 3.0f;" in request.candidate.source
        return verdict(2.0 if divides and second else after if first else alone)

    step = Step(
        "both",
        STEP.before,
        Program(
            "cuda",
            BEFORE.replace("const float* x", "const float* __restrict__ x").replace("/ 3.0f", "* 0.25f"),
            "scale1",
        ),
        WORKLOAD,
    )
    attribution = attribute(step, judge, device="cuda")
    assert [part.effect.speedup.median for part in attribution.parts if part.effect.speedup] == [2.0, after]
    assert attribution.interactions == interactions


def test_what_cannot_be_split_is_compound():
    python = Program("triton", "import triton", "run")
    attribution = attribute(Step("other language", STEP.before, python, WORKLOAD), lambda _: verdict(1.0))
    assert attribution.reason
    assert attribution.reason.startswith("the two states are in different languages")


def test_without_trials_a_step_stays_whole():
    attribution = attribute(STEP, lambda _: verdict(1.0), trials=1)
    assert attribution.reason
    assert len(attribution.parts) == 2
    assert attribution.reason == "not split further: 1 states were tried"


def test_a_part_that_adds_a_mechanism_is_timed_however_late_it_is():
    asked: list[str] = []

    def judge(request: GateRequest) -> Verdict:
        asked.append(request.device)
        return verdict(1.5) if request.device == "cuda" else verdict(1.0).model_copy(update={"speedup": None})

    attribution = attribute(STEP, judge, device="cuda", seconds=0.0)
    assert [bool(part.effect.speedup) for part in attribution.parts if part.added_mechanisms] == [True]
    assert "cuda" in asked
