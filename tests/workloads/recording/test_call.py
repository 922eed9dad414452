"""Calls of functions that take tensors, mended by checks that failed."""

from __future__ import annotations

from kernel_lineage.workloads.recording.call import Call, Failed, Parameter, mended

X, W = Parameter("x", "T"), Parameter("w", "T")
CALL = Call((X, W, Parameter("groups", "i")), {"x": 2, "w": 1}, {"x": "float32", "w": "float32"})


def failed(condition="", left="", op="", right="", asked=()):
    return Failed(condition, left, op, right, "", tuple(asked))


def first(check: Failed, call: Call = CALL) -> Call:
    return next(mended(call, check))


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
