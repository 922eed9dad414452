"""Two programs that compute the same expression, in whatever order, and such that do not."""

import pytest

from kernel_gate.building import build_program
from kernel_gate.cases import Case
from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.stages.algebra import Algebra, Answer, Expressions
from kernel_gate.tolerance import Allowed
from kernel_gate.verdict import Stage, StageStatus
from kernel_gate.workload import parse_workload

WORKLOAD = """
kernel = "k"
language = "cuda"
[dims]
N = [4]
C = [64]
[[args]]
name = "y"
kind = "inout"
dtype = "{dtype}"
shape = ["N", "C"]
[[args]]
name = "x"
kind = "input"
dtype = "{dtype}"
shape = ["N", "C"]
[[args]]
name = "c"
kind = "scalar"
dtype = "int32"
value = "C"
[launch]
grid = ["N"]
block = [64]
"""

HEAD = """#include <cuda_fp16.h>
__global__ void k({type_name} *y, const {type_name} *x, int c) {{
    __shared__ float s[64];
    int i = threadIdx.x; y += blockIdx.x * c; x += blockIdx.x * c; if (i >= c) return;
"""


def algebra(before: str, after: str, dtype: str = "float32", type_name: str = "float") -> Algebra:
    """What is said of two bodies of one kernel: y and x are (N, c), a block for each row, `i` the column."""

    def program(body: str) -> Program:
        return Program("cuda", HEAD.format(type_name=type_name) + body + "}", "k")

    workload = parse_workload(WORKLOAD.format(dtype=dtype))
    case = Case({"N": 4, "C": 64}, seed=5)
    options = GateOptions(algebra_seconds=60)
    both = [
        build_program(program(body), workload, [case.dims], arch="sm_90", options=options)
        for body in (before, after)
    ]
    return Expressions(both[0], both[1], workload, options).compare(case)


SERIAL = "float t = 0; for (int k = 0; k < c; k++) t += x[k]; y[i] = t;"
TREE = """s[i] = x[i]; __syncthreads();
    for (int w = 32; w; w >>= 1) { if (i < w) s[i] += s[i + w]; __syncthreads(); } y[i] = s[0];"""
SOFTMAX = """float m = -INFINITY; for (int k = 0; k < c; k++) m = fmaxf(m, x[k]);
    float t = 0; for (int k = 0; k < c; k++) t += expf(x[k] - m); y[i] = expf(x[i] - m) / t;"""
ONLINE = """float m = -INFINITY, t = 0;
    for (int k = 0; k < c; k++) { float n = fmaxf(m, x[k]); t = t * expf(m - n) + expf(x[k] - n); m = n; }
    y[i] = expf(x[i] - m) / t;"""
VARIANCE = """float m = 0, v = 0; for (int k = 0; k < c; k++) m += x[k]; m /= c;
    for (int k = 0; k < c; k++) v += (x[k] - m) * (x[k] - m); y[i] = (x[i] - m) * rsqrtf(v / c + 1e-5f);"""
MOMENTS = """float m = 0, q = 0; for (int k = 0; k < c; k++) { m += x[k]; q += x[k] * x[k]; } m /= c; q /= c;
    y[i] = (x[i] - m) / sqrtf(q - m * m + 1e-5f);"""
WELFORD = """float m = 0, q = 0; for (int k = 0; k < c; k++) {
    float d = x[k] - m; m += d / (k + 1); q += d * (x[k] - m); } y[i] = (x[i] - m) * rsqrtf(q / c + 1e-5f);"""
GELU = "float u = x[i]; y[i] = 0.5f * u * (1.0f + tanhf(0.7978845608f * (u + 0.044715f * u * u * u)));"
SIGMOID = "y[i] = x[i] / (1.0f + expf(-x[i]));"
ATOMIC = "y[i] = 0; __syncthreads(); atomicAdd(&y[i & 31], x[i]);"
WITHOUT = "y[i] = i < 32 ? x[i] + x[i + 32] : 0.0f;"

SAME = {
    "a tree for a serial sum": (SERIAL, TREE),
    "online softmax": (SOFTMAX, ONLINE),
    "E[x²] - mean²": (VARIANCE, MOMENTS),
    "Welford": (VARIANCE, WELFORD),
    "a product with the inverse": ("y[i] = x[i] / 3.0f;", "y[i] = x[i] * (1.0f / 3.0f);"),
    "2 to a power with log₂ e": ("y[i] = expf(x[i]);", "y[i] = exp2f(x[i] * 1.44269504f);"),
    "sigmoid by the other sign": (SIGMOID, "float e = expf(x[i]); y[i] = x[i] * e / (e + 1.0f);"),
    "atomics for a sum": (WITHOUT, ATOMIC),
    "sums between 2²³ and 2²⁴": (
        "float t = 0; for (int k = 0; k < c; k++) t += 4e6f * x[k]; y[i] = t;",
        "float t = 0; for (int k = c - 1; k >= 0; k--) t += 4e6f * x[k]; y[i] = t;",
    ),
    "log of a product": ("y[i] = logf(x[i] * x[i] * 4.0f);", "y[i] = 2.0f * logf(fabsf(2.0f * x[i]));"),
}
OTHER = {
    "a sum that leaves one out": (SERIAL, SERIAL.replace("k < c", "k < c - 1")),
    "another constant": (GELU, GELU.replace("0.044715f", "0.04471f")),
    "1.0005 for 1": (SIGMOID, SIGMOID.replace("1.0f", "1.0005f")),
    "no epsilon": (VARIANCE, VARIANCE.replace(" + 1e-5f", "")),
    "a wrong divisor": (VARIANCE, VARIANCE.replace("v / c", "v / (c - 1)")),
    "the largest float in place of infinity": (
        "y[i] = fmaxf(x[i], -INFINITY) + 1.0f;",
        "y[i] = fmaxf(x[i], -3.402823466e38f) + 1.0f + 1e-3f;",
    ),
    "a float rounded to an integer": ("y[i] = x[i];", "y[i] = (x[i] + 12582912.0f) - 12582912.0f;"),
    "a small term dropped": ("y[i] = x[i] + 1e-9f * x[0];", "y[i] = x[i];"),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_expression(name: str) -> None:
    comparison = algebra(*SAME[name])
    assert (comparison.answer, comparison.why) == (Answer.SAME, "")


@pytest.mark.parametrize("name", OTHER)
def test_another_expression(name: str) -> None:
    comparison = algebra(*OTHER[name])
    assert comparison.answer is Answer.OTHER
    assert comparison.output == "y"


def test_halves() -> None:
    before = "y[i] = __float2half(__half2float(x[i]) * 3.0f + 1.0f);"
    after = "y[i] = __hfma(x[i], __float2half(3.0f), __float2half(1.0f));"
    assert algebra(before, after, "float16", "__half").answer is Answer.SAME
    wrong = after.replace("1.0f", "1.001f")
    assert algebra(before, wrong, "float16", "__half").answer is Answer.OTHER


def test_the_bits_of_a_float_are_not_followed() -> None:
    before = "y[i] = 1.0f / sqrtf(fabsf(x[i]));"
    after = "int b = __float_as_int(fabsf(x[i])); y[i] = __int_as_float(0x5f3759df - (b >> 1));"
    comparison = algebra(before, after)
    assert comparison.answer is Answer.OPEN
    assert "integer" in comparison.why


@pytest.mark.long
def test_no_time_leaves_it_open() -> None:
    backwards = "float t = 0; for (int k = c - 1; k >= 0; k--) t += x[k]; y[i] = t;"
    stage = verdict(SERIAL, backwards, algebra_seconds=1e-9)
    assert stage.status is StageStatus.PASS
    assert [(a["answer"], "no time" in a["why"]) for a in stage.details["algebra"]] == [("open", True)] * 2


def verdict(before: str, after: str, **options: float) -> Stage:
    """The check's stage for two bodies of one kernel."""
    workload = parse_workload(WORKLOAD.format(dtype="float32").replace("C = [64]", "C = [64, 32]"))
    programs = [Program("cuda", HEAD.format(type_name="float") + body + "}", "k") for body in (before, after)]
    judged = judge(*programs, workload, device="emulated", options=GateOptions(**options))
    stage = judged.stage("check")
    assert stage is not None
    return stage


@pytest.mark.long
def test_another_expression_has_no_claim_to_the_tolerance_of_sums() -> None:
    before = "double t = 0; for (int k = 0; k < c; k++) t += x[k] * x[k]; y[i] = t / c;"
    after = before.replace("t / c", "t / c * (1 + (c - 1) * 2e-8)")
    assert verdict(before, after, algebra_seconds=0).status is StageStatus.PASS
    stage = verdict(before, after, algebra_seconds=20)
    assert (stage.status, stage.code) == (StageStatus.FAIL, Reason.LESS_PRECISE)
    assert "is another expression than the baseline's" in stage.reason


def test_another_expression_that_rounds_alike_passes_and_is_said() -> None:
    stage = verdict(
        "y[i] = x[i] + 1e-9f * fminf(fmaxf(x[0], -9.f), 9.f);", "y[i] = x[i];", algebra_seconds=20
    )
    assert stage.status is StageStatus.PASS
    assert "another expression" in stage.reason
    assert stage.details["algebra"][0]["answer"] == "other"


@pytest.mark.long
def test_a_sum_in_another_order_may_be_further_off_than_one_launch_was() -> None:
    allowed = Allowed(1e-6, 1e-7, "")
    wider = allowed.for_another_order()
    assert (wider.worst, wider.rms) == (16e-6, 16e-7)
    assert Allowed(1e-6, 1e-7, "", conditioned=True).for_another_order().worst == 4e-6
    backwards = "float t = 0; for (int k = c - 1; k >= 0; k--) t += x[k]; y[i] = t;"
    assert verdict(SERIAL, backwards, algebra_seconds=20).reason.endswith(
        "the same expression as the baseline's"
    )


NORMED = """float m = 0, v = 0; for (int k = 0; k < c; k++) m += x[k]; m /= c;
    for (int k = 0; k < c; k++) v += (x[k] - m) * (x[k] - m); float r = rsqrtf(v / c + 1e-5f);"""
SCALED = "float offset = -(m * r); y[i] = fmaf(x[i], r, offset);"


@pytest.mark.long
@pytest.mark.parametrize(
    ("after", "status"),
    [(SCALED, StageStatus.PASS), (SCALED.replace("offset)", "offset + 4e-3f)"), StageStatus.FAIL)],
)
def test_a_row_that_cancels_is_as_far_off_as_its_inputs_are_rounded(after: str, status: StageStatus) -> None:
    # Of a row of one element the mean is the element: zero before, the rounding of a product after.
    stage = verdict(NORMED + "y[i] = (x[i] - m) * r;", NORMED + after, algebra_seconds=20)
    assert stage.status is status, stage.reason


@pytest.mark.long
@pytest.mark.parametrize(
    ("after", "status"),
    [
        ("y[i] = fmaf(x[i], r, 0.4f - m * r);", StageStatus.PASS),
        ("y[i] = fmaf(x[i], r, 0.403f - m * r);", StageStatus.FAIL),
        ("y[i] = __half2float(__float2half((x[i] - m) * r + 0.4f));", StageStatus.FAIL),
    ],
    ids=["the same", "another number", "fewer bits"],
)
def test_a_row_that_comes_out_exact_is_as_far_off_as_its_inputs_are_rounded(
    after: str, status: StageStatus
) -> None:
    # Of a row of one element 0.4 is left before; after, 0.4 and what the product rounds off.
    stage = verdict(NORMED + "y[i] = (x[i] - m) * r + 0.4f;", NORMED + after, algebra_seconds=20)
    assert stage.status is status, stage.reason


@pytest.mark.long
def test_one_program_beside_itself_is_not_asked_for_its_expression() -> None:
    stage = verdict(SERIAL, SERIAL, algebra_seconds=20)
    assert stage.status is StageStatus.PASS
    assert stage.details["algebra"] == []
