"""What a Triton parameter may be at compile time besides a number, as a workload writes it."""

from __future__ import annotations

import pytest

from kernel_gate.compile_time import constant, is_word
from kernel_gate.expressions import ExpressionError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("next_power_of_2(C)", 64),
        (8, 8),
        ("None", None),
        ("'mean'", "mean"),
        ('"sum"', "sum"),
        ("tl.float32", "tl.float32"),
    ],
)
def test_a_parameter_is_a_number_or_a_word(text: str | int, value: object) -> None:
    assert constant(text, {"C": 40}) == value


def test_numbers_are_no_words() -> None:
    assert [is_word(t) for t in ("C + 1", 3, "None", "'a'", "tl.int8")] == [False, False, True, True, True]


@pytest.mark.parametrize("text", ["tl.float31", "mean", "'a' + 'b'"])
def test_what_is_neither_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        constant(text, {})
