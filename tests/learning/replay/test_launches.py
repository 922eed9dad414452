"""What a state's draft tells of its launch, and what two callers that chose otherwise have to agree on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernel_lineage.kernels.source import Language
from kernel_lineage.learning.replay.contract import contract
from kernel_lineage.learning.replay.launches import launch_of
from kernel_lineage.workloads.model import Draft, DraftArgument

SIZES = {"n": 4, "h": 64}
X = DraftArgument("x", "input", "float32", ("n", "h"))
OUT = DraftArgument("out", "output", "float32", ("n",))
EPS = DraftArgument("eps", "scalar", "float32", value="1e-06")
FIRST = Draft(
    "total",
    Language.TRITON,
    "a.py",
    SIZES,
    SIZES,
    (X, OUT, EPS),
    ("n",),
    constexpr={"BLOCK": "next_power_of_2(h)", "MODE": "'sum'", "HAS_BIAS": "False", "bias": "None"},
    way="test_total in test_a.py",
)


def second(way: str = FIRST.way, missing: tuple[str, ...] = (), **constexpr: str) -> Draft:
    return replace(
        FIRST, kernel="other", constexpr={**FIRST.constexpr, **constexpr}, way=way, missing=missing
    )


def test_a_launch_with_constants_that_are_no_numbers_is_told():
    launch = launch_of(FIRST, SIZES)
    assert launch.grid == ("n",)
    assert launch.constexpr["MODE"] == "'sum'"


@pytest.mark.parametrize(
    "missing", ["the constexpr BLOCK: nothing tells min(…)", "the constexpr K: it is no number"]
)
def test_a_launch_of_which_a_constant_is_missing_is_not_told(missing):
    assert launch_of(replace(FIRST, missing=(missing,)), SIZES) is None


@pytest.mark.parametrize(
    ("state", "constexpr"),
    [
        (second(MODE="'mean'"), {"MODE": "'mean'"}),
        (second("run", MODE="'mean'"), {"MODE": "'sum'"}),
        (second("run", HAS_BIAS="True"), {"HAS_BIAS": "False"}),
        (second("run", BLOCK="min(next_power_of_2(h), 32)"), {"BLOCK": "min(next_power_of_2(h), 32)"}),
        (second("run", LEVEL="3"), {"LEVEL": "3"}),
    ],
    ids=["of one test", "text", "flag", "size of a block", "only one has it"],
)
def test_two_callers_modes_are_one_and_block_sizes_are_each_ones_own(state, constexpr):
    agreed = contract(FIRST, [FIRST, state])
    assert constexpr.items() <= agreed.fits[1].launch.constexpr.items()
    assert not agreed.doubts


def test_a_mode_that_needs_a_buffer_of_one_caller_stays_and_is_doubted():
    bias = DraftArgument("bias", "input", "float32", ("h",))
    constexpr = {"BLOCK": "next_power_of_2(h)", "MODE": "'sum'", "HAS_BIAS": "True"}
    state = replace(FIRST, kernel="other", arguments=(X, OUT, EPS, bias), constexpr=constexpr, way="run")
    agreed = contract(FIRST, [FIRST, state])
    assert agreed.fits[1].launch.constexpr["HAS_BIAS"] == "True"
    assert agreed.doubts[""] in ("HAS_BIAS is False in total and True in other", "only one state takes bias")


def test_a_constant_that_one_state_does_not_tell_is_the_other_ones_and_doubted():
    constexpr = {n: t for n, t in FIRST.constexpr.items() if n != "BLOCK"}
    state = replace(
        FIRST, kernel="other", constexpr=constexpr, missing=("the constexpr BLOCK: nothing tells it",)
    )
    agreed = contract(FIRST, [FIRST, state])
    assert agreed.fits[1].launch.constexpr["BLOCK"] == "next_power_of_2(h)"
    assert agreed.doubts[""] == "nothing tells BLOCK of other, and the other state's is taken"


@pytest.mark.parametrize(
    ("way", "value", "argument"),
    [
        (FIRST.way, "1e-05", "eps_of_other"),
        ("run", "1e-05", "eps"),
        ("run", "1.0 / h", "eps_of_other"),
    ],
    ids=["of one test", "of two callers", "of a size"],
)
def test_a_number_that_callers_choose_is_one_for_both(way, value, argument):
    state = replace(second(way), arguments=(X, OUT, replace(EPS, value=value)))
    assert contract(FIRST, [FIRST, state]).fits[1].arguments == ("x", "out", argument)


def test_an_output_with_a_row_for_each_block_is_doubted():
    """How many rows a block sums is its launcher's choice."""
    sizes = {**SIZES, "sms": 8}
    partial = DraftArgument("dw", "output", "float32", ("sms", "h"))
    state = replace(FIRST, dims=sizes, checked=sizes, arguments=(X, OUT, partial, EPS), grid=("sms",))
    assert "dw has a row for each block" in contract(state, [state, state]).doubts["dw"]
    assert "out" not in contract(FIRST, [FIRST, FIRST]).doubts


def test_a_block_for_each_row_of_what_is_given_shares_nothing_out():
    sizes = {"b": 2, "t": 3, "h": 64}
    x, out = replace(X, shape=("b", "t", "h")), replace(OUT, shape=("b * t",))
    state = replace(FIRST, dims=sizes, checked=sizes, arguments=(x, out, EPS), grid=("b * t",))
    assert not contract(state, [state, state]).doubts
