"""A drafted step through the gate: what is asked again where the earlier state leaves a part of its output alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.request import GateRequest
from kernel_gate.verdict import StageStatus, Verdict
from kernel_gate.workload import parse_workload
from kernel_lineage.learning.replay.claims import Claim
from kernel_lineage.learning.replay.judging import judge_step
from kernel_lineage.learning.replay.larger_sizes import on_larger_sizes
from kernel_lineage.learning.replay.plain_values import on_plain_values
from kernel_lineage.learning.replay.preparing import Prepared
from kernel_lineage.learning.steps import Step

LOWER = """
__global__ void lower(float* out, const float* x, int N) {
    int row = blockIdx.x, col = threadIdx.x;
    if (col <= row) out[row * N + col] = 2.0f * x[row * N + col];
}
"""
WORKLOAD = parse_workload(
    """
    kernel = "lower"
    language = "cuda"
    source = "lower.cu"
    [dims]
    N = [32]
    [[args]]
    name = "out"
    kind = "output"
    dtype = "float32"
    shape = ["N", "N"]
    [[args]]
    name = "x"
    kind = "input"
    dtype = "float32"
    shape = ["N", "N"]
    [[args]]
    name = "N"
    kind = "scalar"
    dtype = "int32"
    value = "N"
    [launch]
    grid = ["N"]
    block = ["N"]
    """
)


def step_to(above: str) -> Step:
    later = LOWER.replace("    if (col", f"    out[row * N + col] = {above};\n    if (col")
    before, after = (Program("cuda", text, "lower", name="lower.cu") for text in (LOWER, later))
    return Step("1", before, after, WORKLOAD, ())


def emulated(request: GateRequest) -> Verdict:
    programs = request.baseline, request.candidate
    return judge(*programs, request.workload, device="emulated", options=request.options)


@pytest.mark.parametrize(
    ("above", "status"),
    [("0.0f", StageStatus.PASS), ("1.0f", StageStatus.FAIL)],
    ids=["clears it itself", "writes other values"],
)
def test_what_is_left_alone_may_be_taken_to_be_cleared(above: str, status: StageStatus) -> None:
    done = judge_step(
        step_to(above),
        Claim.FASTER,
        emulated,
        device="emulated",
        options=GateOptions(hidden=False),
        drafted=True,
    )
    check = done.verdict.stage("check")
    assert check is not None and check.status is status, check.reason
    assert any("cleared before" in note for note in done.said) is (status is StageStatus.PASS)
    assert ("out" in done.doubts) is (status is StageStatus.FAIL), "other values may be another task"
    assert done.step.workload.args[0].kind == "inout"


def test_values_of_which_nothing_is_promised_can_be_made_plain() -> None:
    prepared = Prepared(step_to("0.0f"), "drafted", drafted=True)
    plain = on_plain_values(prepared)
    assert plain is not None
    assert [a.values for a in plain.step.workload.args] == ["normal", "uniform(-2, 2)", "normal"]
    assert plain.said == ("x holds numbers from -2 to 2",)
    assert on_plain_values(plain) is None


def test_sizes_grow_towards_those_that_are_timed() -> None:
    sizes = {"B": (2,), "NH": (6,), "T": (32,), "C": (96,)}
    callers = {"B": 8, "NH": 12, "T": 1024, "C": 768}
    shape = ("B", "T", "C")
    args = tuple(a.model_copy(update={"shape": shape}) if a.is_pointer else a for a in WORKLOAD.args[:2])
    workload = WORKLOAD.model_copy(update={"dims": sizes, "profile_dims": (callers,), "args": args})
    step = step_to("0.0f")
    prepared = Prepared(replace(step, workload=workload), "drafted", drafted=True)
    larger = [dict(p.step.workload.dims) for p in on_larger_sizes(prepared)]
    assert larger == [
        {"B": (2,), "NH": (6,), "T": (32,), "C": (768,)},
        {"B": (2,), "NH": (6,), "T": (64,), "C": (768,)},
    ], "rows of 256 that three divides, then whole tiles of them"
    long = workload.model_copy(
        update={"profile_dims": ({**callers, "C": 8192},), "dims": {**sizes, "C": (64,)}}
    )
    wide = [
        dict(p.step.workload.dims)
        for p in on_larger_sizes(replace(prepared, step=replace(step, workload=long)))
    ]
    assert wide == [
        {"B": (2,), "NH": (6,), "T": (32,), "C": (256,)},
        {"B": (2,), "NH": (6,), "T": (64,), "C": (256,)},
    ]
    assert not list(on_larger_sizes(replace(prepared, chosen=("C",))))
