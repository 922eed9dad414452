"""Probing a step as a whole, with a judge that decides by the case alone."""

import random
from dataclasses import replace

import pytest

from kernel_gate.cases import Case
from kernel_gate.inputs import make_inputs
from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.stages.remembered import with_other_data
from kernel_gate.verdict import Outcome, Stage, StageStatus, Verdict
from kernel_gate.workload import parse_workload
from kernel_lineage.learning.probes.asking import Budget, Saw, answered
from kernel_lineage.learning.probes.probe import probe
from kernel_lineage.learning.probes.setting import base_of
from kernel_lineage.learning.probes.value_facts import told_of_values
from kernel_lineage.learning.steps import Step
from kernel_lineage.skills.card import Origin

KERNEL = """__global__ void scale(float* out, const float* x, int C) {
    for (int c = threadIdx.x; c < C; c += blockDim.x) {
        out[blockIdx.x * C + c] = 2.0f * x[blockIdx.x * C + c];
    }
}
"""
WORKLOAD = """
kernel = "scale"
language = "cuda"
[dims]
N = [2]
C = [64]
[[args]]
name = "out"
kind = "output"
dtype = "float32"
shape = ["N", "C"]
[[args]]
name = "x"
kind = "input"
dtype = "float32"
shape = ["N", "C"]
[[args]]
name = "C"
kind = "scalar"
dtype = "int32"
value = "C"
[launch]
grid = ["N"]
block = [32]
"""
STEP = Step(
    "t1",
    Program("cuda", KERNEL, "scale", name="before.cu"),
    Program("cuda", KERNEL.replace("2.0f", "(1.0f + 1.0f)"), "scale", name="after.cu"),
    parse_workload(WORKLOAD),
)


AMPLE = Budget()


def verdict(request, right, further=()):
    """What the gate would say if the later state were right in such cases only; None: the earlier one is wrong."""
    case, seed = (
        request.options.case or {n: e[0] for n, e in request.workload.dims.items()},
        request.options.seed,
    )
    about = {"dims": case, "seed": seed, "output": "out", "index": (0, case["C"] - 1), "line": 3}
    message = (
        f"out[0, {case['C'] - 1}] = 1, expected 2; N {case['N']}, C {case['C']}, seed {seed}; after.cu:3"
    )
    check = {
        True: Stage(name="check", status=StageStatus.UNAVAILABLE, code=Reason.ONE_CASE_ONLY, reason="agrees"),
        False: Stage(
            name="check", status=StageStatus.FAIL, code=Reason.WRONG_VALUE, reason=message, details=about
        ),
        None: Stage(
            name="check", status=StageStatus.UNAVAILABLE, code=Reason.NOTHING_COMPARED, reason="dropped"
        ),
    }[right(case, seed)]
    return Verdict(
        outcome=Outcome.INCONCLUSIVE,
        code=check.code,
        reason=check.reason,
        stages=[check, *further],
        inputs_hash="",
    )


def probed(right, budget=AMPLE, **options):
    return probe(STEP, lambda request: verdict(request, right), budget, only=["sizes"], **options)


def test_a_condition_with_its_counterexample():
    report = probed(lambda case, _: case["C"] % 4 == 0)
    (probed_condition,) = report.conditions
    assert (
        probed_condition.condition.expr == "C % 4 == 0" and probed_condition.condition.origin is Origin.PROBE
    )
    assert (
        probed_condition.counterexample.dims == {"N": 1, "C": 1} and probed_condition.counterexample.line == 3
    )
    assert probed_condition.condition.evidence.startswith("N 1, C 1, seed ")
    assert ": out[0, 0] = 1, expected 2" in probed_condition.condition.evidence
    assert probed_condition.risk.what.startswith("C = 1: out[0, 0] = 1, expected 2")
    assert (
        probed_condition.confirmation.share == 1.0
        and min(probed_condition.confirmation.kept, probed_condition.confirmation.broken) == 10
    )
    assert probed_condition.counterexample.facts == {"C": 1}


def test_what_the_earlier_state_does_not_pass_either_is_not_the_steps():
    report = probed(lambda case, _: True if case["C"] % 4 == 0 else None)
    assert report.conditions == () and report.dropped == ()
    assert report.runs > 10


def test_a_failure_that_follows_nothing_is_dropped_and_said():
    report = probed(
        lambda case, seed: (case["C"] * 7919 + case["N"] * 104729 + seed) % 13 != 5 or case["C"] == 64
    )
    assert report.conditions == ()
    assert report.dropped and report.dropped[0].why and report.dropped[0].counterexample.dims


def test_states_that_agree_nowhere_give_no_condition():
    report = probed(lambda case, _: False)
    assert not report.passes and report.conditions == ()
    assert "do not agree on the workload as it is: out[0, 63] = 1" in report.reason


@pytest.mark.parametrize(
    ("right", "expr"),
    [
        (lambda case, _: case["C"] % 12 == 0, "C % 12 == 0"),
        (lambda case, _: case["N"] == case["C"], "C == N"),
        (lambda case, _: case["C"] <= 48, "C <= 48"),
    ],
)
def test_a_step_that_fails_on_what_the_workload_names_is_narrowed_to_where_it_is_right(right, expr):
    report = probed(right)
    assert not report.passes and "do not agree on the workload as it is" in report.reason
    assert [one.condition.expr for one in report.conditions] == [expr]


BYTES = replace(
    STEP,
    workload=parse_workload(
        WORKLOAD.replace(
            'dtype = "float32"\nshape = ["N", "C"]\n[[args]]\nname = "C"',
            'dtype = "int32"\nshape = ["N", "C"]\nvalues = "integers(-1000, 1000)"\n[[args]]\nname = "C"',
        )
    ),
)


@pytest.mark.long
@pytest.mark.parametrize(
    ("low", "high", "exprs"),
    [
        (-128, 127, {"range(x) >= -128", "range(x) <= 127"}),
        (-1000, -951, {"range(x) <= -951"}),
        (900, 999, {"range(x) >= 900"}),
    ],
)
def test_a_range_of_integers_is_found_where_none_that_the_workload_names_is_right(low, high, exprs):
    def judge(request):
        case = Case(dict(request.options.case), request.options.seed)
        drawn = [make_inputs(request.workload, one)["x"] for one in (case, with_other_data(case))]
        return verdict(request, lambda *_: all(low <= x.min() and x.max() <= high for x in drawn))

    report = probe(BYTES, judge, AMPLE, only=["values"])
    assert not report.passes
    assert {probed_condition.condition.expr for probed_condition in report.conditions} == exprs


@pytest.mark.long
def test_a_position_may_be_0_and_a_size_that_leads_nowhere_is_left_for_another():
    positions = WORKLOAD.replace("C = [64]", "C = [64]\nS = [5]").replace('value = "C"', 'value = "S"')
    step = replace(STEP, workload=parse_workload(positions))
    nowhere = random.Random(0)

    def right(case, _):
        return case["S"] == 0 or (case["C"] == 65 and nowhere.random() < 0.9)

    report = probe(step, lambda request: verdict(request, right), AMPLE, only=["sizes"])
    assert [one.condition.expr for one in report.conditions] == ["S == 0"]


@pytest.mark.parametrize("runs", [1, 5, 60])
def test_a_budget_ends_it_and_says_what_was_not_reached(runs):
    report = probed(lambda case, _: case["C"] % 4 == 0, Budget(runs=runs))
    assert report.runs == runs
    assert report.not_reached == (f"sizes: {runs} runs are spent",)


@pytest.mark.long
def test_the_same_step_and_seed_give_the_same_bytes():
    first, second = (probed(lambda case, _: case["C"] % 4 == 0).model_dump_json() for _ in range(2))
    assert first == second
    assert probed(lambda case, _: case["C"] % 4 == 0, seed=5).model_dump_json() != first


def test_a_budget_that_does_not_last_for_all_boundaries_lasts_for_what_the_first_ones_show():
    (probed_condition,) = probed(lambda case, _: case["C"] % 4 == 0, Budget(runs=60)).conditions
    assert probed_condition.condition.expr == "C % 4 == 0" and probed_condition.confirmation.share == 1.0


def test_failures_that_no_probe_is_left_for_are_told_with_what_parts_them_so_far():
    report = probed(lambda case, _: case["C"] % 4 == 0, Budget(runs=15))
    assert report.conditions == ()
    assert [d.why for d in report.dropped] == ["not confirmed: 15 runs are spent"]
    assert report.dropped[0].counterexample.dims["C"] % 4


@pytest.mark.long
def test_a_second_condition_is_found_among_the_boundaries_that_were_left():
    report = probed(lambda case, _: case["C"] % 4 == 0 and case["N"] <= 100)
    assert {c.condition.expr for c in report.conditions} >= {"C % 4 == 0"}
    assert any(c.condition.expr.startswith("N <= ") for c in report.conditions)


@pytest.mark.parametrize("most", [71, 203, 777])
def test_a_bound_that_nothing_hints_at_is_closed_in_on(most):
    report = probed(lambda case, _: case["C"] <= most)
    assert [c.condition.expr for c in report.conditions] == [f"C <= {most}"]


def test_a_bound_of_the_workloads_own_launch_gives_way_to_what_other_launches_show():
    def by_launch(request):
        block = int(request.candidate.launch.block[0]) if request.candidate.launch else 64
        return verdict(request, lambda case, _: case["C"] <= block)

    step = replace(STEP, workload=parse_workload(WORKLOAD.replace("block = [32]", "block = [64]")))
    report = probe(step, by_launch, AMPLE, only=["sizes", "launch"])
    assert [c.condition.expr for c in report.conditions] == ["C <= launch.block.x"]
    (narrow,) = report.dropped
    assert narrow.expr == "C <= 64" and "too narrow" in narrow.why and "C <= launch.block.x" in narrow.why


SQUARE = replace(STEP, workload=parse_workload(WORKLOAD.replace("N = [2]", "N = [24]").replace("64", "24")))


@pytest.mark.parametrize(
    ("right", "exprs"),
    [
        (lambda n, c: n == c, {"C == N"}),
        (lambda n, c: n == c or n == 1, {"C == N or N == 1", "N == 1 or C == N"}),
        (lambda n, c: c % n == 0, {"C % N == 0"}),
        (lambda n, c: c <= n, {"C <= N"}),
    ],
)
def test_what_relates_two_dimensions_is_told_from_what_looks_like_it(right, exprs):
    report = probe(
        SQUARE,
        lambda request: verdict(request, lambda case, _: right(case["N"], case["C"])),
        AMPLE,
        only=["sizes"],
    )
    (probed_condition,) = report.conditions
    assert probed_condition.condition.expr in exprs


def test_a_size_that_only_the_launch_asks_for_is_said_of_the_launch():
    def by_launch(request):
        block = int(request.candidate.launch.block[0]) if request.candidate.launch else 32
        return verdict(request, lambda case, _: case["C"] % (2 * block) == 0)

    report = probe(STEP, by_launch, AMPLE, only=["sizes", "launch"])
    assert [c.condition.expr for c in report.conditions] == ["C % (launch.block.x * 2) == 0"]
    assert [d.expr for d in report.dropped] == ["C % 64 == 0"]
    assert "launch.block.x" in report.dropped[0].why


def test_what_is_right_by_luck_beyond_a_bound_does_not_move_it():
    report = probed(lambda case, seed: case["C"] <= 130 or (case["C"] <= 134 and seed % 3 > 0))
    assert [c.condition.expr for c in report.conditions] == ["C <= 130"]


def test_what_data_hardly_ever_show_is_doubted_where_something_plainer_would_do_without_it():
    def right(case, seed):
        return case["C"] <= 32 or (case["C"] <= 34 and (seed * 31 + case["N"]) % 7 > 0)

    report = probe(SQUARE, lambda request: verdict(request, right), AMPLE, only=["sizes"])
    assert [c.condition.expr for c in report.conditions] == ["C <= 32"]


@pytest.mark.parametrize("seed", [91, 5, 23])
def test_what_data_show_more_rarely_the_longer_a_row_is_no_condition_on_its_length(seed):
    def right(case, seed):
        return random.Random(f"{seed} {case}").random() > case["N"] * 2.0 ** -case["C"]

    report = probed(right, seed=seed)
    assert report.conditions == ()
    assert report.dropped


def test_an_axis_with_many_boundaries_leaves_its_share_to_the_next():
    report = probe(
        STEP, lambda request: verdict(request, lambda *_: True), Budget(runs=40), only=["sizes", "launch"]
    )
    assert report.not_reached[0] == "sizes: 30 runs are spent, of 40 runs and 300 s for all axes"
    assert report.runs >= 35


def test_an_axis_along_which_something_fails_gets_most_and_may_spend_what_is_left_on_it():
    def by_block(request):
        block = int(request.candidate.launch.block[0]) if request.candidate.launch else 32
        return verdict(request, lambda *_: block <= 64)

    report = probe(STEP, by_block, Budget(runs=100), only=["sizes", "launch"])
    assert [c.condition.expr for c in report.conditions] == ["launch.block.x <= 64"]
    assert report.not_reached[0].startswith("sizes: 38 runs are spent")


def test_what_fails_with_other_data_than_the_facts_tell_of_says_nothing():
    base = base_of(STEP, {"N": 2, "C": 64}, 91)
    failed = Stage(name="check", status=StageStatus.FAIL, code=Reason.KEEPS_STATE, reason="with new data")
    failure = Verdict(
        outcome=Outcome.REJECTED, code=failed.code, reason=failed.reason, stages=[failed], inputs_hash=""
    )
    assert answered(base, failure).saw is Saw.FAILS
    assert answered(told_of_values(base), failure).saw is Saw.SILENT


def test_a_counterexample_keeps_the_steps_other_conditions():
    report = probed(lambda case, _: case["C"] % 4 == 0 and case["N"] % 2 == 0)
    examples = {c.condition.expr: c.counterexample.dims for c in report.conditions}
    assert examples["C % 4 == 0"]["N"] % 2 == 0 and examples["C % 4 == 0"]["C"] % 4
    assert examples["N % 2 == 0"]["C"] % 4 == 0 and examples["N % 2 == 0"]["N"] % 2


def test_a_condition_whose_breaking_cases_are_often_right_says_that_it_is_only_sufficient():
    def by_launch(request):
        block = int(request.candidate.launch.block[0]) if request.candidate.launch else 32
        odd = block // (block & -block)
        return verdict(request, lambda case, _: odd == 1 or case["C"] < odd)

    (probed_condition,) = probe(STEP, by_launch, AMPLE, only=["sizes", "launch"]).conditions
    assert "is_power_of_2(launch.block.x)" in probed_condition.condition.expr
    right, tried = probed_condition.confirmation.beyond
    assert right > 1 and probed_condition.confirmation.broken_agree == probed_condition.confirmation.broken
    assert probed_condition.condition.evidence.endswith(
        f"; sufficient, not necessary: right in {right} of {tried} cases tried on the other side"
    )


def test_a_condition_whose_breaking_cases_fail_says_nothing_of_that():
    (probed_condition,) = probed(lambda case, _: case["C"] % 4 == 0).conditions
    assert (
        probed_condition.confirmation.beyond == (0, 20)
        and "sufficient" not in probed_condition.condition.evidence
    )
