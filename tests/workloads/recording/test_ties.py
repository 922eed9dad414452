"""Extents that checks tie to others: factors, divisors, shifts, multiples, and the numbers of the code's branches."""

from __future__ import annotations

import pytest

from kernel_lineage.workloads.recording.call import Call, Parameter
from kernel_lineage.workloads.recording.compared import compared, switches
from kernel_lineage.workloads.recording.failed import Failed
from kernel_lineage.workloads.recording.mending import mended

TENSORS = (Parameter("x", "T"), Parameter("q", "T"), Parameter("group", "i"))
CALL = Call(TENSORS, {"x": 2, "q": 2}, {})
ASKED = (("x", "size", 0), ("x", "size", 1), ("q", "size", 0), ("q", "size", 1))


def first(
    condition: str, left: str, right: str, *, call: Call = CALL, op: str = "==", text: str = ""
) -> Call:
    """The likeliest call behind a check; x is [64, 128] and q [96, 160] in the one that fails."""
    return next(mended(call, Failed(condition, left, op, right, condition, ASKED), text))


@pytest.mark.parametrize(
    ("condition", "left", "right", "line"),
    [
        ("q.size(1) * kPack == K", "1280", "128", "T:6:64,1280:x;T:6:96,160:q;1"),
        ("K / 8 == q.size(1)", "16", "160", "T:6:64,128:x;T:6:96,16:q;1"),
        ("rows == batch", "95", "64", "T:6:95,128:x;T:6:96,160:q;1"),
        ("x.numel() == n * m", "64", "15360", "T:6:15360,128:x;T:6:96,160:q;1"),
        ("x.size(1) == 160", "128", "160", "T:6:64,160:x;T:6:96,176:q;1"),
        ("x.size(0) == kRows", "64", "7", "T:6:7,128:x;T:6:96,160:q;1"),
    ],
)
def test_an_extent_is_what_the_check_compares_it_with(condition, left, right, line):
    assert first(condition, left, right).line({}) == line


def test_a_tied_extent_moves_with_the_one_that_it_is_tied_to():
    call = first("q.size(1) * kPack == K", "1280", "128")

    assert "x_size_1" not in call.sizes
    assert call.line({"q_size_1": 165}) == "T:6:64,1320:x;T:6:96,165:q;1"


def test_what_is_divided_by_an_extent_is_twice_that():
    assert first("heads % kv_heads == 0", "64", "0").line({}) == "T:6:320,128:x;T:6:96,160:q;1", (
        "that was asked last"
    )


def test_a_bound_that_is_written_out_is_no_other_extent():
    assert first("q.size(1) <= 128", "160", "128", op="<=").line({}) == "T:6:64,144:x;T:6:96,128:q;1"


def test_a_condition_over_a_number_is_about_that_number():
    assert first("group == 64 || group == 128", "1", "64").numbers == {"group": 64}


BRANCHES = "switch (group) { case 8: f<8>(); case 16: f<16>(); default: TORCH_CHECK(false, group); } if (d == 3) g();"


def test_where_no_branch_is_taken_the_numbers_of_the_branches_are_tried():
    call = next(mended(CALL, Failed("false", "", "", "", "unsupported group", ASKED), BRANCHES))
    assert call.numbers == {"group": 8}

    by_extent = BRANCHES.replace("(group)", "(x.size(1))")
    call = next(mended(CALL, Failed("false", "", "", "", "unsupported", ASKED), by_extent))
    assert call.fixed == {"q_size_1": 8}, "the one that was asked for last"


def test_numbers_that_code_compares_a_name_with():
    assert list(switches(BRANCHES)) == [("group", [8, 16])]
    assert (compared("group", BRANCHES), compared("d", BRANCHES), compared("x", BRANCHES)) == (
        [0, 8, 16],
        [0, 3],
        [],
    )
