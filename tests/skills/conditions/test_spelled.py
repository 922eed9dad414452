"""What code tests is said as a condition where the language has words for it."""

import pytest

from kernel_lineage.skills.conditions.spelled import spelled


@pytest.mark.parametrize(
    ("guard", "condition"),
    [
        ("C % 4 == 0 && !(n < 512)", "C % 4 == 0 and not (n < 512)"),
        ("(C & 3) == 0", "C % 4 == 0"),
        ("x.is_contiguous()", "contiguous(x)"),
        ("blockDim.x == 32", "launch.block.x == 32"),
        ("is_true == true", "is_true == True"),
        ("some_call(x)", None),
        ("1 < 2", None),
    ],
)
def test_a_guard_is_spelled_as_a_condition(guard: str, condition: str | None) -> None:
    assert spelled(guard) == condition


def test_a_quotient_is_one_of_integers_in_cpp_alone() -> None:
    assert spelled("n / 4 > 2", of_integers=True) == "n // 4 > 2"
    assert spelled("n / 4 > 2") is None
