"""Integers that the workload gives as numbers: what a candidate needs of them is a condition, and said."""

import pytest

from gate.programs import AFFINE
from gate.programs import WORKLOAD as AFFINE_WORKLOAD
from kernel_gate.cases import Case, parse_dims, repeat_options, the_case
from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import LaunchStep, Program, Value
from kernel_gate.reasons import Reason
from kernel_gate.workload import parse_workload

KERNEL = """__global__ void keep(float *y, const float *x, long long seed, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned low = (unsigned)seed, high = (unsigned)(seed >> 32);
    if (i < n) y[i] = ((i * 2654435761u ^ low) + high * 40503u) % 4u ? x[i] : 0.0f;
}
"""
WORKLOAD = """
kernel = "keep"
language = "cuda"
dims = { n = [100, 300] }
args = [
  { name = "y", kind = "output", dtype = "float32", shape = ["n"] },
  { name = "x", kind = "input", dtype = "float32", shape = ["n"] },
  { name = "seed", kind = "scalar", dtype = "int64", value = "5" },
  { name = "n", kind = "scalar", dtype = "int32", value = "n" },
]
launch = { grid = ["ceil_div(n, 64)"], block = [64] }
"""


def verdict(old: str, new: str):
    assert old in KERNEL
    programs = (Program("cuda", text, "keep", name="keep.cu") for text in (KERNEL, KERNEL.replace(old, new)))
    return judge(*programs, parse_workload(WORKLOAD), device="emulated")


def test_a_seed_of_which_half_is_used_is_a_condition_in_the_one_line():
    judged = verdict("high * 40503u", "0u")
    assert (
        judged.outcome != "rejected"
        and "only if seed == 5, which the baseline does not need" in judged.reason
    )
    assert judged.stage("check").details["conditions"][0]["expr"] == "seed == 5"


def test_all_of_a_seed_in_other_words_needs_nothing():
    judged = verdict("high * 40503u", "40503u * high")
    assert judged.stage("check").status == "pass" and not judged.stage("check").details["conditions"]


CLAMP = """__global__ void clamp(float *y, const float *x, float lo, float hi, int n) {
    int i = threadIdx.x;
    if (i < n) BODY
}
"""
BASELINE = "y[i] = x[i] < lo ? lo : x[i] > hi ? hi : x[i];"
LIMITS = """
kernel = "clamp"
language = "cuda"
dims = { n = [40, 64] }
args = [
  { name = "y", kind = "output", dtype = "float32", shape = ["n"] },
  { name = "x", kind = "input", dtype = "float32", shape = ["n"] },
  { name = "lo", kind = "scalar", dtype = "float32", value = "-0.5" },
  { name = "hi", kind = "scalar", dtype = "float32", value = "0.75" },
  { name = "n", kind = "scalar", dtype = "int32", value = "n" },
]
launch = { grid = ["1"], block = [64] }
"""


@pytest.mark.parametrize(
    ("body", "conditions"),
    [
        ("{ float v = x[i]; y[i] = v != v ? v : fminf(fmaxf(v, lo), hi); }", {"lo <= hi", "hi >= 0"}),
        ("y[i] = x[i] > hi && !(x[i] < lo) ? hi : x[i] < lo ? lo : x[i];", set()),
        ("y[i] = lo == 1.0f ? 0.0f : x[i] < lo ? lo : x[i] > hi ? hi : x[i];", None),
        ("y[i] = lo >= 0.8f ? 0.0f : x[i] < lo ? lo : x[i] > hi ? hi : x[i];", None),
        ("{ float m = lo > 0.0f ? 0.0f : lo; y[i] = x[i] < m ? m : x[i] > hi ? hi : x[i]; }", None),
    ],
    ids=[
        "limits in order",
        "in any order",
        "wrong at one value",
        "wrong from a value on",
        "wrong before the order changes",
    ],
)
def test_what_is_wrong_only_where_scalars_change_their_order_is_a_condition(
    body: str, conditions: set[str] | None
):
    sources = (CLAMP.replace("BODY", text) for text in (BASELINE, body))
    programs = (Program("cuda", source, "clamp", name="clamp.cu") for source in sources)
    judged = judge(*programs, parse_workload(LIMITS), device="emulated", options=GateOptions(seed=3))
    if conditions is None:
        assert judged.outcome == "rejected"
    else:
        assert {c["expr"] for c in judged.stage("check").details["conditions"]} == conditions


SCALED = """__global__ void scaled(float *y, const float *x, const float *z, float a, float b, int n) {
    int i = threadIdx.x;
    if (i < n) y[i] = TEXT;
}
"""
BLEND = LIMITS.replace("clamp", "scaled").replace('"lo"', '"a"').replace('"hi"', '"b"').replace(
    '{ name = "a"',
    '{ name = "z", kind = "input", dtype = "float32", shape = ["n"] },\n  { name = "a"',
)  # fmt: skip


@pytest.mark.parametrize(
    ("special", "needed"),
    [
        ("a == b", None),
        ("a == -b", None),
        ("a == 0.7f", None),
        ("__float_as_uint(b) == 0x3f19999au", None),
        ("fabsf(a) > 100.0f", "a <= 1"),
        ("b > 3.0f && a < 1e-3f", "b <= 1"),
    ],
)
def test_a_special_case_for_scalars_that_the_workload_does_not_name_is_tried(
    special: str, needed: str | None
):
    right = "a * x[i] + b * z[i]"
    sources = (SCALED.replace("TEXT", t) for t in (right, f"{special} ? a * (x[i] + x[i]) : {right}"))
    programs = (Program("cuda", source, "scaled", name="scaled.cu") for source in sources)
    options = GateOptions(seed=3, callers_seconds=0)
    judged = judge(*programs, parse_workload(BLEND), device="emulated", options=options)
    if needed is None:
        assert judged.outcome == "rejected" and judged.code == "wrong-value"
    else:
        assert [c["expr"] for c in judged.stage("check").details["conditions"]] == [needed]


def test_a_case_at_such_a_scalar_is_repeated_from_its_text():
    workload = parse_workload(BLEND)
    case = Case({"n": 40}, 5, origin="hidden", scalars=(("a", -0.75),))
    assert "--case n=40,a=-0.75 " in repeat_options(case)
    again = the_case(workload, parse_dims("n=40,a=-0.75"), 5, "as declared", "")
    assert again.scalars == case.scalars and again.dims == case.dims
    assert parse_dims("n=40,a=1e-05")["a"] == 1e-5
    with pytest.raises(ValueError, match="exactly the dims n"):
        the_case(workload, parse_dims("n=40.5"), 5, "as declared", "")


HEADS = """__global__ void turn(float *y, int heads, int width) {
    int place = (blockIdx.x * heads + blockIdx.y) * width + threadIdx.x;
    y[place] = 2.0f * y[place] + blockIdx.x;
}
"""
OF_HEADS = """
kernel = "turn"
language = "cuda"
dims = { n = [3, 5] }
args = [
  { name = "y", kind = "inout", dtype = "float32", shape = ["n", "4", "16"] },
  { name = "heads", kind = "scalar", dtype = "int32", value = "4" },
  { name = "width", kind = "scalar", dtype = "int32", value = "16" },
]
launch = { grid = ["n", "4"], block = [16] }
"""


def test_a_number_at_which_the_baseline_races_is_not_the_kernels_to_take():
    program = Program("cuda", HEADS, "turn", name="turn.cu")
    judged = judge(program, program, parse_workload(OF_HEADS), device="emulated")
    assert judged.stage("sanitize").status == "pass", judged.reason


LOSSES = """__global__ void losses(float *y, const float *x, const long long *label, int ignored, int n, int classes) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        long long at = label[i];
        y[i] = (IS_LEFT_OUT) ? 0.0f : x[i * classes + at];
    }
}
"""
OF_LABELS = """
kernel = "losses"
language = "cuda"
dims = { n = [90, 200], classes = [300] }
args = [
  { name = "y", kind = "output", dtype = "float32", shape = ["n"] },
  { name = "x", kind = "input", dtype = "float32", shape = ["n", "classes"] },
  { name = "label", kind = "input", dtype = "int64", shape = ["n"], values = "integers(0, classes)" },
  { name = "ignored", kind = "scalar", dtype = "int32", value = "-100" },
  { name = "n", kind = "scalar", dtype = "int32", value = "n" },
  { name = "classes", kind = "scalar", dtype = "int32", value = "classes" },
]
launch = { grid = ["ceil_div(n, 64)"], block = [64] }
"""


@pytest.mark.parametrize(
    ("left_out", "conditions"),
    [
        ("at < 0 || at >= classes", ["ignored == -100"]),
        ("at == ignored || at < 0", []),
    ],
)
def test_a_number_that_stands_for_no_index_may_be_one(left_out: str, conditions: list[str]):
    programs = (
        Program("cuda", LOSSES.replace("IS_LEFT_OUT", text), "losses", name="losses.cu")
        for text in ("at == ignored", left_out)
    )
    judged = judge(*programs, parse_workload(OF_LABELS), device="emulated")
    check = judged.stage("check")
    assert (check.status, [c["expr"] for c in check.details["conditions"]]) == ("pass", conditions)


def test_a_number_of_the_host_that_divides_by_zero_is_a_condition() -> None:
    text = AFFINE_WORKLOAD.replace(
        "[launch]", '[[args]]\nname = "p"\nkind = "scalar"\ndtype = "float32"\nvalue = "0.25"\n\n[launch]'
    )
    asked = parse_workload(text)
    code = AFFINE.replace("int n)", "int n, float p)").replace("2.0f * x[i] + 1.0f", "x[i] / (1.0f - p)")
    candidate = code.replace("float p)", "float by)").replace("/ (1.0f - p)", "* by")
    arguments = ("y", "x", "n", Value("1.0 / (1.0 - p)", "float32"))
    step = LaunchStep("affine", asked.launch.spec(), arguments)
    v = judge(
        Program("cuda", code, "affine"),
        Program("cuda", candidate, "affine", steps=(step,)),
        asked,
        device="emulated",
        options=GateOptions(seed=7),
    )
    assert v.code is Reason.NOT_PROFILED, v.reason
    conditions = [c["expr"] for c in v.stages[1].details["conditions"]]
    assert conditions == ["p != 1"]
