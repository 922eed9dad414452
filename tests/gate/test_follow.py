"""Cases follow the code: both sides of what a candidate decides by are tried, whatever shapes the workload names."""

import itertools

import numpy as np
import pytest

from benchmarks.strangers.numbers import SHED
from gate.programs import AFFINE, affine, workload
from kernel_gate.building import build_program
from kernel_gate.cases import Case, plan, the_case
from kernel_gate.gate import judge
from kernel_gate.inputs import make_inputs
from kernel_gate.options import GateOptions
from kernel_gate.program import LaunchSpec, LaunchStep, Program, Scratch, Value
from kernel_gate.reasons import Reason
from kernel_gate.stages.follow import Paths, _proposals, followed, one_of_each_path
from kernel_gate.variations import Variation
from kernel_gate.verdict import StageStatus, Verdict
from kernel_gate.workload import parse_workload

VECTORS = """__global__ void affine(float *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (n % 4 == 0) {
        if (4 * i < n) {
            float4 v = ((const float4 *)x)[i];
            ((float4 *)y)[i] = make_float4(2 * v.x + 1, 2 * v.y + 1, 2 * v.z + 1, 2 * v.w + 1);
        }
    } else if (i < n) y[i] = 2.0f * x[i] + 1.0f;
}
"""
ODD = {"C = [32, 70]": "C = [33, 71]"}


def cases_for(candidate, w=workload()):  # noqa: B008
    planned = plan(w, 7)
    built = [build_program(p, w, [c.dims for c in planned], arch="sm_90") for p in (affine(), candidate)]
    return [*planned, *followed(planned, *built, w, 7)], built


@pytest.mark.parametrize(
    ("guard", "holds"),
    [
        ("n > 30000", lambda n: n > 30000),
        ("n == 1234", lambda n: n == 1234),
        ("(n & 1023) == 1023", lambda n: n & 1023 == 1023),
        ("n % 97 == 5", lambda n: n % 97 == 5),
        ("gridDim.x > 300", lambda n: n > 300 * 64),
    ],
)
def test_a_guard_over_arguments_gets_a_shape_that_it_holds_on(guard: str, holds):
    cases, _ = cases_for(affine("2.0f * x[i]", f"({guard} ? 3.0f : 2.0f) * x[i]"))
    assert any(holds(c.dims["N"] * c.dims["C"]) for c in cases)


@pytest.mark.parametrize("width", ["ld - 1 > C ? ld : C", "min(ld - 1, C)"])
def test_numbers_that_are_compared_get_shapes_on_which_they_are_equal(width: str):
    text = SHED.source.replace("c < C", f"c < C + 0 * ({width})").replace("0 *", "ld / 4096 *")
    w = SHED.workload
    planned = plan(w, 7)
    programs = SHED.program(), SHED.program(text)
    cases = followed(
        planned,
        *(
            build_program(p, w, [c.dims for c in planned], arch="sm_90", options=GateOptions())
            for p in programs
        ),
        w,
        7,
    )
    fresh = [c.dims for c in cases if c not in planned and c.dims["C"] == c.dims["S"] - 1]
    assert any(min(dims.values()) > 1 for dims in fresh)


@pytest.mark.parametrize("constant", ["3e4f", "0.123f", "-7.5f"])
def test_data_are_drawn_on_both_sides_of_a_constant_of_the_code(constant: str):
    cases, _ = cases_for(affine("2.0f * x[i]", f"(x[i] > {constant} ? 3.0f : 2.0f) * x[i]"))
    around = [c for c in cases if c.variation is Variation.AROUND]
    value = float(constant[:-1])
    x = [make_inputs(workload(), c)["x"] for c in around]
    assert any((v > value).all(axis=-1).any() for v in x) and any((v < value).all(axis=-1).any() for v in x)


def test_inputs_are_scaled_by_small_constants_and_their_roots():
    """First those that one program alone has; of elementary functions none that has many digits."""
    candidate = affine("2.0f * x[i]", "2.0f * x[i] / (fabsf(expm1f(x[i])) + 1e-9f)")
    cases, _ = cases_for(candidate)
    scales = [c.around[0] for c in cases if c.variation is Variation.SCALED]
    assert scales[:2] == pytest.approx([1e-9**0.5, 1e-9])
    (case,) = [c for c in cases if c.variation is Variation.SCALED and c.around[0] == scales[1]]
    assert 0 < abs(make_inputs(workload(), case)["x"]).max() < 1e-8
    assert the_case(workload(), case.dims, case.seed, case.inputs, "").around == pytest.approx(case.around)
    limited = workload(**{'name = "x"': 'name = "x"\nvalues = "uniform(0.5, 1)"'})
    assert (make_inputs(limited, case)["x"] >= 0.5).all()


def test_a_program_without_guards_gets_no_more_cases():
    cases, _ = cases_for(affine("2.0f * x[i]", "x[i] * 2.0f"))
    assert [c for c in cases if 4000 <= c.seed - 7 < 5000] == []


def test_the_last_extent_before_a_launch_has_another_block_is_tried():
    """The launch has a block for each 256 whole sixteens: 4111 elements are 256 of them and a rest."""
    one_row = workload(**{"N = [1, 3]\n": "", '"N", ': "", "N * C": "C"})
    text = AFFINE.replace("blockDim.x + threadIdx.x;", "4096 + threadIdx.x;").replace(
        "if (i < n) y", "for (int end = i + 4096; i < end && i < n; i += 64) y"
    )

    def launched(blocks: str) -> Verdict:
        candidate = Program("cuda", text, "affine", launch=LaunchSpec((blocks,), ("64",)))
        return judge(affine(), candidate, one_row, device="emulated")

    verdict = launched("max(1, ceil_div(C // 16, 256))")
    assert verdict.code is Reason.NOT_WRITTEN and "C 4111" in verdict.reason, verdict.reason
    assert launched("ceil_div(C, 4096)").stage("check").status is StageStatus.PASS


def test_vectors_need_alignment_where_they_are_used_and_every_buffer_is_named():
    verdict = judge(affine(), Program("cuda", VECTORS, "affine"), workload(**ODD), device="emulated")
    conditions = verdict.stage("check").details["conditions"]
    assert {c["expr"] for c in conditions} == {"align(x) >= 16", "align(y) >= 16"}


def test_a_loop_that_long_rows_enter_is_tried_with_a_rest():
    """The rest of each 4096 elements is left out, where there are as many."""
    one_row = workload(**{"N = [1, 3]\n": "", '"N", ': "", "N * C": "C"})
    body = """    if (i >= 64) return;
    if (n < 4096) {
        for (; i < n; i += 64) y[i] = 2.0f * x[i] + 1.0f;
    } else {
        for (; i + 4032 < n; i += 4096)
            for (int k = 0; k < 4096; k += 64) y[i + k] = fmaf(x[i + k], 2.0f, 1.0f);
    }
"""
    cases, _ = cases_for(affine(AFFINE.splitlines(True)[2], body), one_row)
    assert any(c.dims["C"] > 4097 and c.dims["C"] % 4096 for c in cases)


def test_one_case_of_each_path():
    candidate = Program("cuda", VECTORS, "affine")
    _, built = cases_for(candidate)
    cases = [Case({"N": 1, "C": c}, 1) for c in (34, 33, 40, 32)]
    assert [c.dims["C"] for c in one_of_each_path(cases, *built, workload())] == [32, 33]
    assert "blockIdx" in AFFINE


def test_lines_that_no_case_executes_are_named():
    rare = """if (i >= n) return;
    y[i] = 2.0f * x[i] + 1.0f;
    if ((int)(x[i] * 1e6f) == 1234567 && i == 5)
        y[i] += 1.0f;"""
    candidate = affine("if (i < n) y[i] = 2.0f * x[i] + 1.0f;", rare)
    checked = judge(affine(), candidate, workload(), device="emulated").stage("check")
    assert checked.details["coverage"]["never"] == [6]
    assert checked.reason.endswith("; no case executed line 6")


def test_loops_that_no_case_repeats_are_named():
    looped = """int more = i < n && (int)(x[i] * 1e6f) == 1234567;
    for (int k = 0; k <= more; k++) { if (i < n) y[i] = 2.0f * x[i] + 1.0f; __threadfence(); }"""
    candidate = affine("if (i < n) y[i] = 2.0f * x[i] + 1.0f;", looped)
    checked = judge(affine(), candidate, workload(), device="emulated").stage("check")
    assert checked.details["coverage"]["loops_once"] == [4]
    assert checked.reason.endswith("; no case repeats the loop of line 4")


LARGE_BLOCK = {"N = [1, 3]": "N = [1]", "C = [32, 70]": "C = [32]", "block = [64]": "block = [1024]"}


def test_each_dim_that_brings_blocks_is_tried_with_more_than_one():
    replaced = {**LARGE_BLOCK, "ceil_div(N * C, 64)": "ceil_div(C, 1024) * ceil_div(N, 512)"}
    cases, _ = cases_for(affine("2.0f * x[i]", "x[i] * 2.0f"), workload(**replaced))
    shapes = {(c.dims["N"], c.dims["C"]) for c in cases}
    assert any(c > 1024 and n < 512 for n, c in shapes)
    assert any(n > 512 and c < 1024 for n, c in shapes)


def test_a_wrong_stride_of_blocks_is_seen_where_the_workload_has_one_block():
    one_block = workload(**LARGE_BLOCK, **{"ceil_div(N * C, 64)": "ceil_div(N * C, 1024)"})
    candidate = affine("blockIdx.x * blockDim.x", "blockIdx.x * (blockDim.x + 1)")
    verdict = judge(affine(), candidate, one_block, device="emulated")
    assert verdict.outcome == "rejected" and "hidden shape" in verdict.reason


def test_rows_reach_a_constant_that_the_candidate_compares_with():
    cases, _ = cases_for(affine("2.0f * x[i]", "(x[i] == 3.25f ? 3.0f : 2.0f) * x[i]"))
    rows = [c for c in cases if c.variation is Variation.ROWS_AT]
    drawn = [make_inputs(workload(), c)["x"] for c in rows]
    assert any((np.count_nonzero(x, axis=1) == 1).any() and (x.sum(axis=1) == 3.25).any() for x in drawn)
    assert any((np.abs(x.astype(float).mean(axis=1) / 3.25 - 1) < 0.01).any() for x in drawn)
    again = the_case(workload(), rows[0].dims, rows[0].seed, rows[0].inputs, "")
    assert (make_inputs(workload(), again)["x"] == drawn[0]).all()


def test_whole_numbers_of_any_size_and_sign_are_drawn():
    text = KERNEL_OF_WHOLES.replace("TEST", "x[i] == 1234567 || (x[i] > -90000 && x[i] < -89990)")
    planned = plan(WHOLES, 7)
    programs = (Program("cuda", t, "thirds") for t in (KERNEL_OF_WHOLES.replace("TEST", "false"), text))
    built = [build_program(p, WHOLES, [c.dims for c in planned], arch="sm_90") for p in programs]
    drawn = [make_inputs(WHOLES, c)["x"] for c in [*planned, *followed(planned, *built, WHOLES, 7)]]
    assert any((x == 1234567).any() for x in drawn) and any((x == -89999).any() for x in drawn)


KERNEL_OF_WHOLES = """__global__ void thirds(int *y, const int *x, int n) {
    int i = threadIdx.x;
    if (i < n) y[i] = TEST ? 0 : x[i] / 3;
}
"""
WHOLES = parse_workload("""
kernel = "thirds"
language = "cuda"
dims = { n = [40, 64] }
args = [
  { name = "y", kind = "output", dtype = "int32", shape = ["n"] },
  { name = "x", kind = "input", dtype = "int32", shape = ["n"], values = "integers" },
  { name = "n", kind = "scalar", dtype = "int32", value = "n" },
]
launch = { grid = ["1"], block = [64] }
""")


def test_each_size_of_an_unrolled_tail_has_a_shape():
    tail = "".join(f"(C == {c}) ? {c}.0f : " for c in range(3, 44, 2))
    cases, _ = cases_for(affine("2.0f * x[i]", f"{tail.replace('C', 'n % 64')}2.0f * x[i]"))
    rests = {case.dims["N"] * case.dims["C"] % 64 for case in cases}
    assert {*range(3, 44, 2)} <= rests


def test_an_extent_that_is_promised_to_be_as_large_as_another_grows_with_it():
    w = workload().model_copy(update={"promises": ("N >= C",)})
    planned = [{"N": 4, "C": 3}]
    with Paths(*(build_program(affine(), w, planned, arch="sm_90"),) * 2, w) as paths:
        proposed = list(itertools.islice(_proposals(paths, w, planned), 4000))
    assert {"N": 39, "C": 39} in proposed and all(dims["N"] >= dims["C"] for dims in proposed)


@pytest.mark.parametrize(
    ("step", "code"),
    [(1, Reason.NOT_PROFILED), (4, Reason.WRONG_VALUE)],
    ids=["every value", "a part of them"],
)
@pytest.mark.parametrize("values", ["integers", "integers(0, 50)"])
def test_what_takes_all_values_to_be_alike_as_some_are_is_seen(values: str, step: int, code: Reason):
    exact = KERNEL_OF_WHOLES.replace("TEST", "false")
    probe = f"bool flat = true; for (int k = 0; k < n; k += {step}) flat = flat && x[k] == x[0];"
    guessed = exact.replace("if (i < n)", f"{probe} if (flat && i < n) y[i] = x[0] / 3; else if (i < n)")
    y, x, n = WHOLES.args
    args = y.model_copy(update={"noalias": True}), x.model_copy(update={"values": values}), n
    of = WHOLES.model_copy(update={"args": args})
    programs = (Program("cuda", text, "thirds") for text in (exact, guessed))
    verdict = judge(*programs, of, device="emulated", options=GateOptions(seed=5, callers_seconds=0))
    assert verdict.code is code, verdict.reason


LARGEST = """__global__ void largest(float *y, const float *x, int n) {
    float m = -INFINITY;
    for (int i = threadIdx.x; i < n; i += 32) m = fmaxf(m, x[i]);
    for (int o = 16; o; o /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
    if (threadIdx.x == 0) *y = m;
}
"""
IN_PARTS = """__global__ void part(float *parts, const float *x, int n) {
    float m = -INFINITY;
    for (int i = blockIdx.x * 512 + threadIdx.x; i < min(n, blockIdx.x * 512 + 512); i += 32) m = fmaxf(m, x[i]);
    for (int o = 16; o; o /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
    if (threadIdx.x == 0) parts[blockIdx.x] = m;
}
__global__ void whole(float *y, const float *parts, int n, int filled) {
    float m = -INFINITY;
    for (int i = 0; i < filled; i++) m = fmaxf(m, i < n ? parts[i] : FILL);
    *y = m;
}
"""
OF_ROW = parse_workload("""
kernel = "largest"
language = "cuda"
dims = { n = [64, 300] }
args = [
  { name = "y", kind = "output", dtype = "float32", shape = [1] },
  { name = "x", kind = "input", dtype = "float32", shape = ["n"] },
  { name = "n", kind = "scalar", dtype = "int32", value = "n" },
]
launch = { grid = ["1"], block = [32] }
""")


@pytest.mark.parametrize(("fill", "code"), [("-INFINITY", Reason.NOT_PROFILED), ("0.f", Reason.WRONG_VALUE)])
def test_parts_are_tried_whose_number_is_no_power_of_two(fill: str, code: Reason):
    blocks = "ceil_div(n, 512)"
    number, filled = Value(blocks, "int32"), Value(f"next_power_of_2({blocks})", "int32")
    steps = (
        LaunchStep("part", LaunchSpec((blocks,), ("32",)), ("parts", "x", "n")),
        LaunchStep("whole", LaunchSpec(("1",), ("1",)), ("y", "parts", number, filled)),
    )
    before = Program("cuda", LARGEST, "largest")
    scratch = (Scratch("parts", "float32", (blocks,)),)
    after = Program("cuda", IN_PARTS.replace("FILL", fill), "largest", steps=steps, scratch=scratch)
    verdict = judge(before, after, OF_ROW, device="emulated", options=GateOptions(seed=5, callers_seconds=0))
    assert verdict.code is code, verdict.reason
