"""A kernel's own workspace: nothing of it is compared, and one that a launcher clears is zero before each run."""

import pytest

from gate.timed_device import timed_verdict
from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.verdict import StageStatus
from kernel_gate.workload import Workload, parse_workload

WORKLOAD = """
kernel = "total"
language = "cuda"
[dims]
N = [4]
[[profile_dims]]
N = 6
[[args]]
name = "y"
kind = "output"
dtype = "float32"
shape = [1]
[[args]]
name = "x"
kind = "input"
dtype = "float32"
shape = ["32 * N"]
[[args]]
name = "work"
kind = "scratch"
dtype = "float32"
shape = ["N + 2"]
values = "integers(0, 1)"
[launch]
grid = ["N"]
block = [32]
"""
TOTAL = """
__global__ void total(float *y, const float *x, float *work) {
    unsigned *done = (unsigned *)work;
    float *sums = work + FIRST;
    __shared__ bool last;
    float v = x[blockIdx.x * 32 + threadIdx.x];
    for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(~0u, v, o);
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = v;
        __threadfence();
        last = atomicAdd(done, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float all = 0.0f;
        for (int b = 0; b < gridDim.x; b++) all += ((volatile float *)sums)[b];
        y[0] = all;
    }
}
"""


def total(first: str) -> Program:
    return Program("cuda", TOTAL.replace("FIRST", first), "total", name=f"sums from {first}")


def workload(**replaced: str) -> Workload:
    text = WORKLOAD
    for old, new in replaced.items():
        text = text.replace(old, new)
    return parse_workload(text, name="total.toml")


def test_two_ways_to_lay_out_a_cleared_workspace_agree():
    verdict = judge(total("1"), total("2"), workload(), device="emulated", options=GateOptions(hidden=False))
    check = verdict.stage("check")
    assert check is not None and check.status is StageStatus.PASS, verdict.reason


@pytest.mark.parametrize("changed", [{'values = "integers(0, 1)"': ""}, {"(0, 1)": "(0, 2)"}])
def test_a_workspace_that_nothing_clears_is_poisoned(changed):
    asked = workload(**changed)
    verdict = judge(total("1"), total("1"), asked, device="emulated", options=GateOptions(hidden=False))
    assert verdict.code is Reason.BASELINE_FAILS_CHECK, verdict.reason


def test_a_cleared_workspace_is_zero_before_each_launch_that_is_timed():
    verdict = timed_verdict(total("2"), total("1"), workload(), hidden=False, need="not_slower")
    assert verdict.speedup is not None, verdict.reason
    assert verdict.stage("profile").code is Reason.SAME_SPEED, verdict.reason
