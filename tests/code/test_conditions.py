"""What conditions of `#if` come to, for both who ask: a compiler's 0 for what is not defined, or nothing."""

import pytest

from kernel_lineage.code.cuda.conditions import Conditions

MACROS = {"TWO": "2", "SUM": "(TWO + 3) * 2", "SELF": "SELF", "MASK": "0x10u", "EMPTY": ""}


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("1 + 2 * 3 == 7", 1),
        ("SUM == 10 && !defined(NONE)", 1),
        ("defined TWO && defined(SUM)", 1),
        ("(MASK & 16) >> 4 == 1 || 0", 1),
        ("1 << 3 | 1", 9),
        ("~0 == -1", 1),
        ("7 / 0 + 5 % 3", 2),
        ("0 && UNKNOWN", 0),
        ("1 || UNKNOWN", 1),
        ("9" * 9000 + " == 0", 1),
        ("1" + " << 63" * 20_000 + " == 0", 1),
    ],
)
def test_what_is_known_is_the_same_for_both(condition, value):
    for unknown in (0, None):
        conditions = Conditions(MACROS.get, unknown)
        assert conditions.holds(condition) == bool(value)
        if "defined" not in condition:
            assert conditions.value(condition) == value


@pytest.mark.parametrize(
    ("condition", "as_compiler"),
    [("!UNKNOWN", 1), ("UNKNOWN < 3", 1), ("SELF", 0), ("EMPTY", 0), ("A ? B : C", 0), ("'a' == 97", 0)],
)
def test_what_is_not_known_is_zero_to_a_compiler(condition, as_compiler):
    assert Conditions(MACROS.get, 0).value(condition) == as_compiler
    assert Conditions(MACROS.get, None).value(condition) is None


@pytest.mark.parametrize("condition", ["(" * 5000 + "1" + ")" * 5000, "!" * 9000 + "1", "M0"])
def test_a_condition_that_would_take_forever_is_not_known(condition):
    doubling = {f"M{n}": f"(M{n + 1} + M{n + 1}) " * 50 for n in range(30)}
    assert Conditions(doubling.get, None).value(condition) is None
