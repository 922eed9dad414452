"""How well the baseline itself computes: what that excuses in a candidate, and what it shows of one."""

import numpy as np
import pytest

from benchmarks.strangers.fresh import ground
from gate.programs import AFFINE, workload
from kernel_gate.dtypes import DTYPES
from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.stages.own_noise import OwnNoise, rounded_otherwise, with_noise
from kernel_gate.tolerance import Allowed, Errors

LIMITS = Allowed(1e-6, 1e-7, "float32")
ROWS = np.ones((2, 8))
HALVES = workload(**{'"float32"': '"float16"'})
GATE = "float u = __half2float(x[i]); y[i] = __float2half({});"


def halves(expression: str) -> Program:
    source = AFFINE.replace("float *y, const float *x", "__half *y, const __half *x")
    source = source.replace("y[i] = 2.0f * x[i] + 1.0f;", "{ " + GATE.format(expression) + " }")
    return Program("cuda", f"#include <cuda_fp16.h>\n{source}", "affine", name="halves.cu")


def test_noise_of_the_baseline_widens_the_limits_by_a_few_times():
    wider = with_noise(LIMITS, OwnNoise(Errors(1e-4, 1e-5), 0.0), ROWS, 1.0)
    assert (wider.worst, wider.rms) == (4e-4, 4e-5) and "rounding noise" in wider.why
    assert with_noise(LIMITS, OwnNoise(Errors(1e-8, 1e-9), 0.0), ROWS, 1.0) == LIMITS


def test_a_jump_excuses_nothing_unless_all_of_the_output_is_noise():
    jump = OwnNoise(Errors(1.5, 0.5), 1.0)
    assert with_noise(LIMITS, jump, ROWS, 1.0) == LIMITS
    assert with_noise(LIMITS, jump, 1e-6 * ROWS, 1.0).worst == 6.0


def test_a_part_of_what_noise_does_to_an_element_is_no_other_side_of_a_comparison():
    kind, want = DTYPES["float32"], np.ones((1, 4), np.float32)
    moved = np.array([[0.4, 0.4, 1e-3, 0.4]])
    got = np.array([[1.02, 1.5, 1.02, np.nan]], np.float32)
    left = OwnNoise(Errors(0.4, 0.1), 1.0, moved).without_part(got, want, kind)
    np.testing.assert_array_equal(left, np.array([[1.0, 1.5, 1.02, np.nan]], np.float32))
    np.testing.assert_array_equal(OwnNoise(Errors(1e-3, 1e-4), 1.0, moved).without_part(got, want, kind), got)


def test_what_is_rounded_otherwise_is_a_share_of_the_finite_elements():
    got = np.array([1.0, 2.0, np.nan, 4.0], np.float16)
    assert rounded_otherwise(got, np.array([1.0, 2.002, np.nan, 4.0], np.float64), DTYPES["float16"]) == 0.25
    assert rounded_otherwise(got[:0], np.zeros(0), DTYPES["float16"]) == 0.0


def test_an_intermediate_in_half_is_less_precise_where_the_baseline_has_none():
    gate, inner = "u / (1.0f + __expf(-u)) * (u + 0.3f)", "u / (1.0f + __expf(-u))"
    wrong = halves(gate.replace(inner, f"__half2float(__float2half({inner}))"))
    honest = halves("(u + 0.3f) * u / (1.0f + __expf(-u))")
    verdicts = [
        judge(halves(gate), c, HALVES, device="emulated", options=GateOptions(seed=3))
        for c in (wrong, honest)
    ]
    assert (verdicts[0].code, verdicts[1].stage("check").status) == (Reason.LESS_PRECISE, "pass"), verdicts[
        0
    ].reason
    both = judge(wrong, halves(gate), HALVES, device="emulated", options=GateOptions(seed=3))
    assert both.stage("check").status == "pass", both.reason


SUMS = """__global__ void sums(float *y, const float *x, int C) {
    if (threadIdx.x) return;
    float s = 0.0f, lost = 0.0f;
    for (int c = 0; c < C; c++) { float v = x[blockIdx.x * C + c] - lost, t = s + v; lost = (t - s) - v; s = t; }
    y[blockIdx.x] = s;
}
"""
STEP = SUMS[SUMS.index("{ float v") : SUMS.index("\n    y[")]
IN_LANES = """__global__ void sums(float *y, const float *x, int C) {
    float s = 0.0f, lost = 0.0f;
    for (int c = threadIdx.x; c < C; c += 32) STEP
    for (int k = 16; k; k /= 2) {
        float a = __shfl_down_sync(~0u, s, k), b = __shfl_down_sync(~0u, lost, k), t = s + a, z = t - s;
        lost = lost + b - ((s - (t - z)) + (a - z));
        s = t;
    }
    if (threadIdx.x == 0) y[blockIdx.x] = s - lost;
}
""".replace("STEP", STEP)
PLAIN = SUMS.replace(STEP, "s += x[blockIdx.x * C + c];")
DOUBLES = PLAIN.replace("float s = 0.0f, lost = 0.0f", "double s = 0.0").replace("= s;", "= (float)s;")


@pytest.mark.parametrize(
    ("baseline", "candidate", "right"),
    [
        (SUMS, IN_LANES, True),
        (IN_LANES, PLAIN, False),
        (PLAIN.replace("c++", "c += 1"), PLAIN, True),
        pytest.param(SUMS, PLAIN, False, marks=pytest.mark.long),
        pytest.param(SUMS, DOUBLES, True, marks=pytest.mark.long),
        pytest.param(PLAIN, SUMS, True, marks=pytest.mark.long),
    ],
    ids=["by lanes", "left out of lanes", "without any", "left out", "in doubles", "put in"],
)
def test_a_sum_whose_compensation_is_left_out_is_less_precise(baseline: str, candidate: str, right: bool):
    columns = [
        ("y", "output", "float32", "N"),
        ("x", "input", "float32", "N,C", "uniform(0, 1)"),
        ("C", "scalar", "int32", "C"),
    ]
    of = ground("sums", baseline, {"N": [2, 3], "C": [200, 800]}, columns, "N", 32, {"N": 8, "C": 1000})
    options = GateOptions(callers_seconds=0, algebra_seconds=60)
    v = judge(of.program(), of.program(candidate), of.workload, device="emulated", options=options)
    assert (v.code is not Reason.LESS_PRECISE) is right, v.reason
    assert right or "which the baseline puts back" in v.reason


PRODUCTS = """__global__ void products(float *y, const float *x, int N, int C) {
    int r = threadIdx.x; float hi = 0.0f, lo = 0.0f; const float *row = x + r * C;
    if (r >= N) return;
    for (int c = 0; c < C; c++) {
        float m = row[c] * row[C - 1 - c], rest = fmaf(row[c], row[C - 1 - c], -m), s = hi + m, t = s - hi;
        lo += (hi - (s - t)) + (m - t) + rest;
        hi = s;
    }
    y[r] = hi + lo;
}
"""


@pytest.mark.parametrize(
    ("old", "new", "right"),
    [
        ("rest = fmaf(row[c], row[C - 1 - c], -m)", "rest = 0.0f", False),
        pytest.param("lo += (hi - (s - t)) + (m - t) + rest", "lo += rest", False, marks=pytest.mark.long),
        pytest.param(
            "rest = fmaf(row[c], row[C - 1 - c], -m)",
            "rest = -fmaf(-row[c], row[C - 1 - c], m)",
            True,
            marks=pytest.mark.long,
        ),
    ],
    ids=["of products", "of sums", "none"],
)
def test_a_candidate_that_puts_a_part_back_only_is_less_precise(old: str, new: str, right: bool):
    columns = [
        ("y", "output", "float32", "N"),
        ("x", "input", "float32", "N,C"),
        ("N", "scalar", "int32", "N"),
        ("C", "scalar", "int32", "C"),
    ]
    of = ground("products", PRODUCTS, {"N": [2, 60], "C": [40]}, columns, "1", 64, {"N": 60, "C": 60})
    assert old in PRODUCTS
    options = GateOptions(callers_seconds=0, algebra_seconds=60, seed=5)
    candidate = of.program(PRODUCTS.replace(old, new))
    v = judge(of.program(), candidate, of.workload, device="emulated", options=options)
    assert (v.code is not Reason.LESS_PRECISE) is right, v.reason
