"""Calls of functions that take tensors, mended by checks that failed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernel_lineage.workloads.recording.call import Call, Parameter
from kernel_lineage.workloads.recording.failed import Failed
from kernel_lineage.workloads.recording.likeness import (
    as_before,
    is_too_flat,
    larger,
    layouts,
    modes,
    others,
    shaped,
    strangers,
    told_apart,
    unlike,
    with_alike,
)
from kernel_lineage.workloads.recording.mending import mended, mended_at_once

X, W = Parameter("x", "T"), Parameter("w", "T")
CALL = Call((X, W, Parameter("groups", "i")), {"x": 2, "w": 1}, {"x": "float32", "w": "float32"})


def failed(condition="", left="", op="", right="", asked=()):
    return Failed(condition, left, op, right, "", tuple(asked))


def first(check: Failed, call: Call = CALL) -> Call:
    return next(mended(call, check))


def test_extents_that_the_code_has_different_names_for_are_not_taken_to_be_equal():
    same = {"w_size_0": "x_size_0", "w_size_1": "x_size_1", "w_size_2": "x_size_2"}
    names = {
        "x_size_0": "B",
        "w_size_0": "B",
        "x_size_1": "H",
        "w_size_1": "L",
        "w_size_2": "KH",
        "x_size_2": "D",
    }
    call = replace(CALL, ranks={"x": 3, "w": 3}, same=same, names=names)
    apart = [set(same) - set(c.same) for c in told_apart(call)]
    assert apart == [{"w_size_1", "w_size_2"}, {"w_size_1"}, {"w_size_2"}]
    assert list(told_apart(replace(call, names={"x_size_1": "H", "w_size_1": "H"}))) == []


def test_no_two_extents_of_a_call_are_the_same():
    assert CALL.line({}) == "T:6:64,128:x;T:6:96:w;1"


def test_a_check_of_the_rank_gives_the_tensor_that_rank():
    call = first(failed("x.dim() == 4", "2", "==", "4", [("x", "dim", 0)]))

    assert call.ranks["x"] == 4


def test_extents_that_have_to_be_equal_become_one():
    call = first(failed("w.size(0) == hidden", "96", "==", "128"))

    assert call.line({}) == "T:6:64,128:x;T:6:128:w;1"


def test_shapes_that_have_to_be_equal_become_one_extent_by_extent():
    call = Call((X, W), {"x": 2, "w": 2}, {})

    assert (
        first(failed("w.sizes() == x.sizes()", "96,160", "==", "64,128"), call).line({})
        == "T:6:64,128:x;T:6:64,128:w"
    )


def test_a_number_that_is_asked_for_is_kept():
    call = first(failed("x.size(1) == 80", "128", "==", "80"))

    assert call.line({}) == "T:6:64,80:x;T:6:96:w;1"
    assert "x_size_1" not in call.sizes


def test_bounds_of_a_name_that_the_code_gives_are_tried_first():
    call = Call((X,), {"x": 2}, {}, names={"x_size_1": "width"})

    assert first(failed("width >= 2 && width <= 4"), call).fixed == {"x_size_1": 4}


def test_a_multiple_is_kept_when_sizes_change():
    call = first(failed("x.size(1) % 24 == 0", "8", "==", "0", [("x", "size", 1)]))

    assert call.sizes["x_size_1"] % 24 == 0


def test_a_type_that_is_asked_for_is_taken():
    call = first(failed("w.scalar_type() == at::kInt", "float32", "==", "int32", [("w", "type", 0)]))

    assert call.types["w"] == "int32"


def test_a_number_among_the_parameters_is_what_the_check_compares_it_with():
    assert first(failed("groups == 8", "1", "==", "8")).numbers["groups"] == 8


DX = Parameter("dx", "T")
STRIDED = Call((X, W, DX), {"x": 3, "w": 2, "dx": 2}, {})
ASKED = (("x", "sizes", 0), ("w", "size", 1), ("dx", "stride", 1))


def test_a_tensor_whose_extents_no_code_asks_for_is_like_the_one_that_its_name_tells():
    assert unlike(STRIDED, ASKED) == ["dx"]
    assert with_alike(STRIDED, ASKED).shape("dx") == STRIDED.shape("x")


def test_a_tensor_with_a_name_of_its_own_is_like_the_first_one():
    call = Call((X, W, Parameter("y", "T")), {"x": 3, "w": 2, "y": 1}, {})

    assert with_alike(call, ASKED).shape("y") == call.shape("x")


def test_where_strides_are_asked_another_extent_is_innermost_in_all_of_the_shape():
    call = with_alike(STRIDED, ASKED)
    (other,) = {c.line({}) for c in layouts(call, (*ASKED, ("x", "stride", 1)))}

    assert other == "T:6:64,128,96:x:1;T:6:160,192:w;T:6:64,128,96:dx:1"


def test_what_becomes_of_the_same_shape_later_has_its_layout():
    (strided,) = layouts(STRIDED, (("x", "stride", 1),))
    assert ":dx:1" not in strided.line({})

    assert strided.inner == with_alike(strided, ASKED).inner
    assert ":dx:1" in with_alike(strided, ASKED).line({})


@pytest.mark.parametrize(
    ("ranks", "asked", "flat"),
    [
        (1, [("x", "dim", 0), ("x", "size", 0)], True),
        (1, [("x", "numel", 0)], False),
        (1, [("x", "size", 0)], False),
        (1, [("x", "size", 0), ("x", "numel", 0)], True),
        (2, [("x", "dim", 0), ("x", "size", 1)], False),
    ],
    ids=["the last extent by the number of them", "elements", "the only extent", "rows by elements", "rows"],
)
def test_where_code_tells_extents_apart_one_is_too_few(ranks, asked, flat):
    assert is_too_flat(Call((X,), {"x": ranks}, {}), tuple(asked)) is flat


def test_one_whole_number_at_a_time_is_large():
    assert [c.numbers for c in larger(CALL)] == [{"groups": 1 << 16}]


def test_extents_that_a_compound_condition_compares_become_one():
    call = Call((X, W), {"x": 2, "w": 1}, {}, names={"x_size_0": "rows"})

    assert first(failed("x.size(-1) == w.size(0) && rows > 0"), call).line({}) == "T:6:64,128:x;T:6:128:w"


def test_extents_that_were_those_of_a_tensor_which_becomes_like_another_stay_equal():
    # As where a call begins with all tensors alike: the first one, whose extents no code asks for, stood for both.
    y = Parameter("y", "T")
    same = {f"{t}_size_{i}": f"w_size_{i}" for t in ("x", "y") for i in range(2)}
    call = with_alike(
        Call((W, X, y), {"w": 2, "x": 2, "y": 2}, {}, same=same), (("x", "size", 0), ("y", "size", 0))
    )

    assert call.shape("w") == call.shape("x") == call.shape("y") == ("x_size_0", "x_size_1")


def test_where_nothing_is_launched_lists_have_other_lengths_and_numbers_are_0():
    call = Call((Parameter("parts", "vT"), Parameter("mode", "i")), {}, {})

    assert [c.numbers for c in others(call)] == [
        {"parts_count": 3},
        {"parts_count": 1},
        {"parts_count": 4},
        {"mode": 0},
    ]


def test_other_modes_are_the_numbers_that_the_code_compares_with() -> None:
    call = Call((X, Parameter("activation", "i"), Parameter("bias", "b"), Parameter("n", "i")), {"x": 1}, {})
    text = "if (activation == 2) { a(); } else if (activation == 0) { b(); } if (n > 3) { switch (mode) { case 7: } }"

    assert [dict(other.numbers) for other in modes(call, text)] == [
        {"activation": 0},
        {"activation": 2},
        {"bias": 1},
    ]
    switched = [dict(other.numbers) for other in modes(call, "switch (activation) { case 5: return; }")]
    assert switched == [{"activation": 0}, {"activation": 5}, {"bias": 1}]


SIZES = failed("w.sizes() == wanted", "96", "==", "64,128,3", [("w", "sizes", 0)])


def test_a_tensor_gets_the_extents_that_it_is_compared_with_and_their_number():
    assert first(SIZES).line({}) == "T:6:64,128:x;T:6:64,128,3:w;1"


def test_what_is_compared_is_a_number_of_extents_only_where_a_tensor_has_so_many():
    asked = [("x", "dim", 0), ("x", "size", 1)]

    assert (
        first(failed("x.size(batch_ndim) == 3", "128", "==", "3", asked)).line({}) == "T:6:64,3:x;T:6:96:w;1"
    )
    assert first(failed("batch_ndim == 3", "2", "==", "3", asked)).ranks["x"] == 3


def test_all_checks_that_did_not_hold_are_mended_at_once():
    wrong = [
        failed("groups == 8", "1", "==", "8"),
        failed("x.size(1) == 4", "128", "==", "4"),
        failed("w.scalar_type() == at::kInt", "float32", "==", "int32", [("w", "type", 0)]),
        SIZES,
    ]
    calls = list(mended_at_once(CALL, wrong, "", 6))

    assert calls[0].line({}) == "T:6:64,4:x;T:3:64,4,3:w;8"
    assert first(wrong[0]) in calls  # and the first alone, where what was said after it followed from it


def test_where_a_tensor_gets_another_number_of_extents_what_was_said_of_them_is_left():
    wrong = [
        failed("x.dim() == 3", "2", "==", "3", [("x", "dim", 0)]),
        failed("x.size(-1) == 4", "128", "==", "4"),
    ]

    assert next(mended_at_once(CALL, wrong, "", 6)).line({}) == "T:6:64,128,96:x;T:6:160:w;1"


def test_extents_that_two_checks_make_one_stay_one():
    call = Call((X, W, DX), {"x": 1, "w": 1, "dx": 1}, {})
    wrong = [failed("a", "64", "==", "128"), failed("b", "96", "==", "128"), failed("c", "64", "==", "7")]

    assert next(mended_at_once(call, wrong, "", 6)).line({}) == "T:6:7:x;T:6:7:w;T:6:7:dx"


def test_a_function_is_called_with_tensors_as_they_were_in_a_call_of_another():
    before = Call(
        (X, W), {"x": 2, "w": 3}, {"w": "int32"}, same={"w_size_0": "x_size_0"}, fixed={"w_size_2": 4}
    )
    call = as_before((DX, W, X), before)

    assert call is not None
    assert call.line({}) == "T:6:64,128:dx;T:3:96,160,4:w;T:6:96,256:x"
    assert strangers(call, before) == 0
    assert strangers(Call((W,), {"w": 3}, {}), before) == 1
    assert as_before((DX,), before) is None


@pytest.mark.parametrize(
    ("asked", "shape"),
    [
        ([("x", "shape", 0)], {"x"}),
        ([("x", "dim", 0), ("x", "size", 0), ("x", "size", 1)], {"x"}),
        ([("x", "size", 0), ("x", "size", 1)], set()),
        ([("x", "dim", 0), ("x", "size", 1)], set()),
        ([("x", "sizes", 0), ("x", "numel", 0)], set()),
    ],
    ids=[
        "a check",
        "each extent",
        "their number is not asked",
        "one is not asked",
        "only what is made like it",
    ],
)
def test_a_shape_is_told_where_the_code_checks_it_or_asks_for_all_of_it(asked, shape):
    assert shaped(CALL, asked) == shape


@pytest.mark.parametrize("tensor", ["x", "w"])
def test_an_extent_of_which_another_number_is_asked_than_of_those_it_equals_is_one_of_its_own(tensor):
    call = Call(
        (X, W, DX), {"x": 1, "w": 1, "dx": 1}, {}, same={"w_size_0": "x_size_0", "dx_size_0": "w_size_0"}
    )
    call = replace(call, fixed={"x_size_0": 3})
    mended_call = first(failed("size(-1) == 4", "3", "==", "4", [(tensor, "size", 0)]), call)

    assert mended_call.values({})[mended_call.root(f"{tensor}_size_0")] == 4
    assert sorted(mended_call.line({}).split(";")) == sorted(
        f"T:6:{4 if name == tensor else 3}:{name}" for name in ("x", "w", "dx")
    )
