"""A Triton program whose constants follow the sizes is checked on shapes that share builds."""

from dataclasses import replace

import pytest

from kernel_gate.cases import ALLOCATED, Memory, plan
from kernel_gate.conclusion import conclude
from kernel_gate.few_builds import sharing_builds
from kernel_gate.launching import bind
from kernel_gate.program import Program
from kernel_gate.verdict import Stage, StageStatus
from kernel_gate.workload import parse_workload

WORKLOAD = """
kernel = "rows"
language = "triton"
[dims]
A = [4]
B = [6]
C = [16]
D = [24]
[[args]]
name = "out"
kind = "output"
dtype = "float32"
shape = ["A", "B", "C", "D"]
[[args]]
name = "x"
kind = "input"
dtype = "float32"
shape = ["A", "B", "C", "D"]
[launch]
grid = ["A"]
constexpr = {constexpr}
"""
PROGRAM = Program("triton", "", "rows")


def _plan(constexpr: str, program: Program = PROGRAM, seed: int = 5):
    workload = parse_workload(WORKLOAD.format(constexpr=constexpr))
    cases = plan(workload, seed)
    kept, left_out = sharing_builds(cases, workload, (program, program), seed)
    images = {launch.unit for case in kept for launch in bind(workload, PROGRAM, case.dims).launches}
    assert sorted(map(str, [*kept, *left_out])) == sorted(map(str, cases))
    assert [c for c in cases if c in kept] == kept
    return cases, kept, left_out, images


def test_shapes_that_are_constants_take_few_images_and_others_stay():
    cases, kept, left_out, images = _plan('{A = "A", B = "B", C = "C", D = "D"}')
    assert left_out and len(images) <= 8
    assert all(c.origin == "hidden" for c in left_out)
    usual = cases[0].dims
    changed = [sum(e != usual[n] for n, e in c.dims.items()) for c in kept]
    assert 4 in changed  # of the hidden shapes the one that differs in every dim is run
    assert [c for c in cases if c.origin == "named"] == [c for c in kept if c.origin == "named"]


def test_another_seed_runs_other_shapes():
    every = '{A = "A", B = "B", C = "C", D = "D"}'
    assert len({str(_plan(every, seed=seed)[1]) for seed in range(6)}) > 1


@pytest.mark.parametrize(
    ("constexpr", "program"),
    [('{BLOCK = "64"}', PROGRAM), ('{A = "A", B = "B", C = "C"}', replace(PROGRAM, language="cuda"))],
)
def test_nothing_is_left_out_where_shapes_share_an_image(constexpr, program):
    assert not _plan(constexpr, program)[2]


@pytest.mark.parametrize("checked", [True, False])
def test_a_verdict_says_how_many_cases_were_left_out(checked):
    names = ("build", "check") if checked else ("build",)
    stages = [Stage(name=name, status=StageStatus.PASS, reason="") for name in names]
    verdict = conclude(stages, None, {"cases_left_out": ["A=1", "A=2"]}, "")
    assert ("2 drawn cases were left out" in verdict.reason) == checked


@pytest.mark.parametrize(
    ("memory", "divisible"),
    [
        (ALLOCATED, ("out", "x")),
        (Memory((("x", 4),)), ("out",)),
        (Memory((("out", 16), ("x", 32))), ("out", "x")),
        (Memory(alias=("out", "x")), ("out", "x")),
    ],
)
def test_a_program_is_built_for_the_addresses_of_a_case(memory, divisible):
    workload = parse_workload(WORKLOAD.format(constexpr="{}"))
    (launch,) = bind(workload, PROGRAM, {"A": 4, "B": 6, "C": 16, "D": 24}, memory).launches
    assert launch.unit.divisible == divisible
