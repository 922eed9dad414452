"""The record of a call, from what was seen of it: names, scratch, zeros, and library calls that matter."""

import pytest

from kernel_gate.capture.record import Address, Number, RecordedLaunch, RecordedMemset
from kernel_gate.capture.recorder import CaptureError, Place, Recorder

X, OUT, HELD, RESULT = range(4)


def whole(storage: int, nbytes: int = 64) -> Place:
    return Place(storage, 0, nbytes, dense=True)


def recorder() -> Recorder:
    made = Recorder()
    made.argument("x", whole(X), "float32", 4)
    made.allocated(OUT, 64, "float32", 4)
    made.allocated(HELD, 8, "float64", 8)
    return made


def launch(made: Recorder, *storages: int) -> None:
    operands = {f"argument {i}": Place(s, 0, 8, dense=True) for i, s in enumerate(storages)}
    made.launched(0, "k", (2, 1, 1), operands | {"n": Number(value=16, dtype="int32")})


def test_allocations_are_outputs_where_they_are_returned_and_scratch_where_they_are_used():
    made = recorder()
    made.zeroed(whole(HELD, 8), "zeros", "a.py:1")
    launch(made, OUT, X, HELD)
    assert made.returned("y", whole(OUT), 64)
    record = made.finish({"N": 16}, ["y"], ["x"])
    zeroed, launched = record.steps
    assert zeroed == RecordedMemset(buffer="allocation_0", offset=0, nbytes=8)
    assert isinstance(launched, RecordedLaunch)
    assert [launched.operands[f"argument {i}"] for i in range(3)] == [
        Address(buffer=name, offset=0) for name in ("y", "x", "allocation_0")
    ]
    assert [(b.name, b.dtype, b.elements) for b in record.scratch] == [("allocation_0", "float64", 1)]
    assert not record.delegated


def test_what_no_kernel_uses_is_not_scratch():
    made = recorder()
    launch(made, X)
    assert made.finish({}, [], []).scratch == ()


@pytest.mark.parametrize("used", ["launch", "return", "argument", "nothing"])
def test_a_library_call_matters_where_its_result_is_used(used):
    made = recorder()
    made.allocated(RESULT, 64, "float32", 4)
    made.library_call("sum", "a.py:7", [X if used == "argument" else RESULT])
    launch(made, OUT, *([RESULT] if used == "launch" else []))
    if used == "return":
        made.returned("y", whole(RESULT), 64)
    (call,) = made.finish({}, [], ["x"]).delegated
    assert (call.op, call.place, call.matters) == ("sum", "a.py:7", used != "nothing")


def test_zeros_of_a_tensor_with_gaps_are_a_library_call():
    made = recorder()
    made.zeroed(Place(OUT, 0, 32, dense=False), "zero_", "a.py:3")
    launch(made, OUT)
    assert made.finish({}, [], []).delegated[0].matters


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (whole(X), "in the buffer of x"),
        (Place(OUT, 4, 60, dense=True), "a part or a transposed view"),
        (Place(OUT, 0, 64, dense=False), "a part or a transposed view"),
    ],
)
def test_an_output_is_a_whole_buffer_of_its_own(place, said):
    with pytest.raises(CaptureError, match=said):
        recorder().returned("y", place, 64)


def test_a_tensor_from_nowhere_is_refused():
    with pytest.raises(CaptureError, match="made in a way that is not recorded"):
        launch(recorder(), 99)
