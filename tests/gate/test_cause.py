"""A race or an uninitialised read is named as the cause; that launches differ, or may not alias, is its symptom."""

import pytest

from gate.programs import workload
from gate.timed_device import TimedEmulated, timed_verdict
from kernel_gate.gate import judge
from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.verdict import Outcome, Verdict

BASELINE = """__global__ void affine(float *y, const float *x, int n) {
    __shared__ float largest[2];
    for (int start = 0; start < n; start += blockDim.x) {
        int i = start + threadIdx.x;
        float v = i < n ? x[i] : 0.0f;
        if (threadIdx.x == 0) largest[0] = v;
        __syncthreads();
        float first = largest[0];
        __syncthreads();
        if (i < n) y[i] = v - first;
    }
}
"""
WITHOUT_A_BARRIER = BASELINE.replace("        __syncthreads();\n        if (i < n)", "        if (i < n)")
LAST_BLOCK_WINS = """__global__ void affine(float *y, const float *x, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i] - x[i - i % 64] + 1e-7f * (int)blockIdx.x;
}
"""
IN_PLACE = """__global__ void affine(float *y, const float *x, int n) {
    for (int start = 0; start < n; start += blockDim.x) {
        int i = start + threadIdx.x;
        if (i < n) y[i] = x[i] - x[start];
    }
}
"""


def program(source: str) -> Program:
    return Program("cuda", source, "affine", name="affine.cu")


def judged(candidate: str, baseline: str = BASELINE, blocks: int = 1, **replaced: str) -> Verdict:
    asked = workload(**{'grid = ["ceil_div(N * C, 64)"]': f"grid = [{blocks}]", **replaced})
    return judge(program(baseline), program(candidate), asked, device="emulated")


def test_a_race_is_named_where_it_only_showed_under_another_order():
    v = judged(WITHOUT_A_BARRIER)
    assert (v.outcome, v.code) == (Outcome.REJECTED, Reason.RACE), v.reason
    details = v.stage("check").details
    assert details["symptom"] is Reason.NOT_REPEATABLE
    assert {details["line"], *(other["line"] for other in details["related"])} == {6, 8}
    assert "race on shared largest" in v.reason and "seen as not-repeatable" in v.reason


def test_what_only_aliasing_makes_a_race_is_still_about_aliasing():
    assert judged(IN_PLACE).code is Reason.ALIAS_SENSITIVE


def test_a_race_that_the_baseline_has_as_well_explains_nothing():
    racing = BASELINE.replace("int i =", "__shared__ volatile int kept; kept = threadIdx.x; int i =")
    counting = "__device__ int count;\n" + racing.replace(
        "v - first;", "v - first + 1e-7f * times; "
    ).replace(
        "int i =",
        "__shared__ int times; if (!threadIdx.x) times = atomicAdd(&count, 1); __syncthreads(); int i =",
    )
    v = judged(counting, racing)
    assert (v.outcome, v.code) == (Outcome.REJECTED, Reason.NOT_REPEATABLE), v.reason


def test_a_race_between_blocks_is_named_where_launches_differed():
    v = judged(LAST_BLOCK_WINS, blocks=4)
    assert (v.outcome, v.code) == (Outcome.REJECTED, Reason.RACE), v.reason
    assert v.stage("check").details["symptom"] is Reason.NOT_REPEATABLE
    assert "seen as not-repeatable: the same inputs gave y[" in v.reason


@pytest.mark.parametrize(
    "line", ["y[i] = x[i] + (int)blockIdx.x;", "atomicExch(&y[i], x[i] * (2 + (int)blockIdx.x));"]
)
def test_a_baseline_to_which_the_order_of_blocks_says_what_is_right_rejects_nobody(line: str):
    """Callers that let several blocks write one element, as where all indices of a test are 0."""
    loop = f"for (int i = threadIdx.x; i < n; i += blockDim.x) {line}"
    each = f"__global__ void affine(float *y, const float *x, int n) {{ {loop} }}"
    v = judged(each, each, blocks=4)
    assert (v.outcome, v.code) == (Outcome.INCONCLUSIVE, Reason.BASELINE_FAILS_CHECK), v.reason
    assert "it gives other values when its blocks run in another order: y[" in v.reason


def test_beside_a_gpu_the_emulated_device_is_asked_for_the_cause():
    asked = workload(**{'grid = ["ceil_div(N * C, 64)"]': "grid = [4]"})
    v = timed_verdict(program(BASELINE), program(LAST_BLOCK_WINS), asked, TimedEmulated())
    assert (v.outcome, v.code) == (Outcome.REJECTED, Reason.RACE), v.reason


def test_a_wrong_value_stays_one_and_a_race_is_said_beside_it():
    wrong = WITHOUT_A_BARRIER.replace("v - first", "v - 2.0f * first")
    v = judged(wrong, **{"N = [1, 3]\nC = [32, 70]": "N = [3]\nC = [70]"})
    assert (v.outcome, v.code) == (Outcome.REJECTED, Reason.WRONG_VALUE), v.reason
    assert "perhaps because of a race on shared largest" in v.reason
