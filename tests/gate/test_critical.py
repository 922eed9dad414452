"""Inputs that are moved until a decision of the code is about to change."""

from collections.abc import Iterator

import numpy as np
import pytest

from gate.programs import affine, workload
from kernel_gate.building import build_program
from kernel_gate.gate import judge
from kernel_gate.inputs import make_inputs
from kernel_gate.kept import Kept
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.stages.critical import critical_cases
from kernel_gate.variations import Variation

DIMS = {"N": 3, "C": 32}
CODE = "2.0f * x[i] + 1.0f"


@pytest.fixture(scope="module")
def kept() -> Iterator[Kept]:
    with Kept() as kept:
        yield kept


def placed_values(program: Program, declared=None) -> np.ndarray:
    declared = declared or workload()
    built = build_program(program, declared, [DIMS], arch="sm_90", options=GateOptions())
    cases = critical_cases((built,), declared, DIMS, 5)
    assert all(case.variation is Variation.CRITICAL and not case.required for case in cases)
    return np.array([make_inputs(declared, c)["x"].reshape(-1)[i] for c in cases for _, i, _ in c.placed])


def test_a_quotient_is_brought_half_way_between_whole_numbers():
    x = placed_values(affine(CODE, "rintf(x[i] / 0.37f)")).astype(np.float64)
    assert len(x) > 20
    assert (np.abs(x / np.float32(0.37) % 1 - 0.5) < 1e-5).all()


def test_a_comparison_behind_arithmetic_is_brought_to_equality_and_beside_it():
    x = placed_values(affine(CODE, "x[i] * x[i] * 3.0f > 2.0f ? 1.0f : 0.0f"))
    found = np.float32(3) * (x * x)
    assert len(x) > 10 and (np.abs(found - 2) < 1e-5).all()
    assert (found > 2).any() and (found <= 2).any()


def test_values_stay_within_their_limits_and_nothing_is_placed_where_nothing_decides():
    ranged = workload(
        **{'name = "x"\nkind = "input"': 'name = "x"\nkind = "input"\nvalues = "uniform(0, 0.8)"'}
    )
    x = placed_values(affine(CODE, "rintf(x[i] / 0.37f)"), ranged)
    assert len(x) and x.min() >= 0 and x.max() <= np.float32(0.8)
    assert not len(placed_values(affine()))


@pytest.mark.parametrize(
    ("before", "wrong", "honest"),
    [
        ("rintf(x[i] / 0.37f)", "floorf(x[i] / 0.37f + 0.5f)", "nearbyintf(x[i] / 0.37f)"),
        (
            "3.0f * x[i] > 1.7f ? 9.0f : x[i]",
            "3.0f * x[i] >= 1.7f ? 9.0f : x[i]",
            "1.7f < x[i] * 3.0f ? 9.0f : x[i]",
        ),
    ],
    ids=["half-way", "equal"],
)
def test_what_only_critical_values_tell_is_rejected(before, wrong, honest, kept):
    verdicts = [
        judge(
            affine(CODE, before),
            affine(CODE, text),
            workload(),
            device="emulated",
            options=GateOptions(seed=7),
            kept=kept,
        )
        for text in (wrong, honest)
    ]
    assert [v.stage("check").status for v in verdicts] == ["fail", "pass"], [v.reason for v in verdicts]
