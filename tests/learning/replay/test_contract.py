"""One workload for two states: what is mapped by name, what is computed, and what is refused with its reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernel_lineage.kernels.source import Language
from kernel_lineage.learning.replay.contract import NoContractError, contract, roles_differ
from kernel_lineage.workloads.model import Draft, DraftArgument

OUT = DraftArgument("out", "output", "float32", ("B", "T", "C"))
X = DraftArgument("x", "input", "float32", ("B", "T", "C"), "normal")
WEIGHT = DraftArgument("weight", "input", "float32", ("C",), "normal")


def number(name: str, value: str, dtype: str = "int32") -> DraftArgument:
    return DraftArgument(name, "scalar", dtype, value=value)


def draft(*arguments: DraftArgument, kernel: str = "first", grid: str = "B * T") -> Draft:
    sizes = {"B": 2, "T": 3, "C": 5}
    return Draft(kernel, Language.CUDA, "a.cu", sizes, sizes, arguments, (grid,), ("32",))


BASE = draft(OUT, X, number("B", "B"), number("T", "T"), number("C", "C"))


@pytest.mark.parametrize(
    ("other", "order", "grid"),
    [
        (
            [OUT, X, number("B", "B"), number("T", "T"), number("C", "C")],
            ("out", "x", "B", "T", "C"),
            "B * T",
        ),
        ([X, OUT, number("N", "B * T"), number("C", "C")], ("x", "out", "N", "C"), "N"),
        ([OUT, X, WEIGHT, number("C", "C")], ("out", "x", "weight", "C"), "B * T"),
        ([OUT, replace(X, name="inp"), number("C", "C")], ("out", "x", "C"), "B * T"),
        ([OUT, replace(X, name="X_ptr"), number("C", "C")], ("out", "x", "C"), "B * T"),
        ([OUT, X, number("T", "B * T")], ("out", "x", "T_of_second"), "B * T"),
        ([OUT, X, number("C", "C", "int64")], ("out", "x", "C_int64"), "B * T"),
    ],
    ids=[
        "same",
        "number computed from sizes",
        "further input",
        "renamed buffer",
        "buffer written otherwise",
        "other number",
        "other type",
    ],
)
def test_a_state_with_other_arguments_is_run_by_the_same_workload(other, order, grid):
    agreed = contract(BASE, [BASE, draft(*other, kernel="second", grid=grid)])
    assert agreed.fits[0].arguments == ("out", "x", "B", "T", "C")
    assert agreed.fits[1].arguments == order
    assert agreed.fits[1].launch.grid == (grid,)
    assert {*order} <= {a.name for a in agreed.workload.args}


def test_an_output_that_one_state_only_updates_is_compared_with_what_was_there():
    agreed = contract(BASE, [BASE, draft(replace(OUT, kind="inout"), X, kernel="second")])
    assert agreed.workload.argument("out").kind == "inout"


@pytest.mark.parametrize("kinds", [("scratch", "inout"), ("inout", "scratch"), ("scratch", "output")])
def test_what_one_state_is_known_to_read_nothing_of_is_compared_in_neither(kinds):
    first, second = (DraftArgument("work", kind, "float32", ("C",), "integers(0, 1)") for kind in kinds)
    agreed = contract(draft(OUT, X, first), [draft(OUT, X, first), draft(OUT, X, second, kernel="second")])
    work = agreed.workload.argument("work")
    assert (work.kind, work.values) == ("scratch", "integers(0, 1)") and not agreed.doubts


def test_a_workspace_that_only_one_state_has_is_its_own_affair():
    work = DraftArgument("work", "scratch", "float32", ("B", "C"), "integers(0, 1)")
    for states in ([BASE, draft(OUT, X, work)], [draft(OUT, X, work), draft(OUT, X)]):
        agreed = contract(states[0], states)
        assert agreed.workload.argument("work").is_cleared and not agreed.doubts


def test_what_only_the_later_state_writes_is_not_compared():
    """The other way round the earlier state did something that was taken away: another task."""
    more = draft(OUT, X, replace(OUT, name="mean"), kernel="second")
    agreed = contract(BASE, [BASE, more])
    assert agreed.workload.argument("mean").kind == "scratch"
    assert "mean" not in agreed.fits[0].arguments
    assert "mean, which only second writes, is not compared" in agreed.said
    with pytest.raises(NoContractError, match="mean, which only second takes, is written by it"):
        contract(BASE, [more, BASE])


def test_a_launch_over_unknown_sizes_is_left_open():
    agreed = contract(BASE, [draft(OUT, X, kernel="second", grid="ceil_div(rows, 4)")])
    assert agreed.fits[0].launch is None


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ([X], "second does not write out, which the other state writes"),
        ([replace(OUT, dtype="float16"), X], "out is float16 in second and float32 in the other state"),
        (
            [OUT, X, number("n", "rows")],
            "n, which only second takes, is no number that the other state's sizes",
        ),
        ([OUT, X, replace(WEIGHT, shape=None)], "weight, which only second takes, has a shape"),
        ([OUT, X, DraftArgument("B", "input", "float32", ("C",))], "B is a buffer in second and a number"),
        ([OUT, number("x", "C")], "x is a number in second and a buffer in the other state"),
        ([replace(OUT, kind="input"), X], "out is input of second and output of the other state"),
        ([replace(OUT, kind="null"), X], "second is given no out, which the other state writes"),
    ],
)
def test_what_cannot_be_mapped_is_said(other, reason):
    with pytest.raises(NoContractError, match=reason):
        contract(BASE, [BASE, draft(*other, kernel="second")])


@pytest.mark.parametrize(
    ("other", "differ"),
    [
        ([OUT, X], ""),
        ([replace(OUT, kind="inout", dtype="float16"), replace(X, shape=("C",)), WEIGHT], ""),
        ([OUT, replace(X, kind="null")], ""),
        ([OUT, replace(X, kind="output")], "x is output of second and input of the other state"),
        ([OUT, replace(X, name="B")], "B is a buffer in second and a number in the other state"),
    ],
)
def test_what_no_sizes_mend_is_known_before_they_are(other, differ):
    assert roles_differ(replace(BASE, dims={}, checked={}), draft(*other, kernel="second")) == differ


@pytest.mark.parametrize(
    ("other", "doubts"),
    [
        ([OUT, X, number("C", "C")], {}),
        ([OUT, X, WEIGHT], {"": "only one state takes weight"}),
        ([OUT], {"": "only one state takes x"}),
        ([OUT, DraftArgument("x", "null", "float32")], {"": "second is given no x"}),
        ([replace(OUT, kind="inout"), X], {"out": "one state updates out, the other overwrites it"}),
    ],
)
def test_what_may_be_another_task_is_doubted(other, doubts):
    assert contract(BASE, [BASE, draft(*other, kernel="second")]).doubts == doubts


def test_types_that_one_draft_only_assumes_are_those_of_the_other():
    half = draft(replace(OUT, dtype="float16"), replace(X, dtype="float16"))
    guessed = replace(
        draft(OUT, X, kernel="second"), assumed=("nothing tells the dtype of x; float32 is assumed",)
    )
    assert {a.dtype for a in contract(half, [half, guessed]).workload.args} == {"float16"}
    with pytest.raises(NoContractError, match="float16 in first and float32"):
        contract(guessed, [half, guessed])
