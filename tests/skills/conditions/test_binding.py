"""A condition in a kernel's own names: renamed at once, bound to numbers and arithmetic too, else marked unbound."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel_lineage.skills.conditions.binding import bind
from kernel_lineage.skills.conditions.parse import ConditionError, parse
from kernel_lineage.skills.conditions.tree import facts_in
from kernel_lineage.skills.conditions.unparse import written


def test_all_names_are_renamed_at_once() -> None:
    assert bind(parse("noalias(x, y) and align(x) > 1"), {"x": "y", "y": "x"}) == parse(
        "noalias(y, x) and align(y) > 1"
    )


def test_two_names_may_stand_for_one() -> None:
    assert bind(parse("align(x) >= align(y)"), {"x": "inp", "y": "inp"}) == parse("align(inp) >= align(inp)")


@pytest.mark.parametrize(
    ("text", "expr"),
    [
        ("OC", "OC % 4 == 0"),
        ("256", "256 % 4 == 0"),
        ("64u", "64 % 4 == 0"),
        ("blockDim.x", "launch.block.x % 4 == 0"),
        ("C / 4", "C // 4 % 4 == 0"),
        ("2 * (C + 1)", "2 * (C + 1) % 4 == 0"),
        ("warpSize", "32 % 4 == 0"),
    ],
)
def test_a_dimension_may_be_bound_to_what_the_kernel_writes(text: str, expr: str) -> None:
    assert bind(parse("C % 4 == 0"), {"C": text}) == parse(expr)


@pytest.mark.parametrize("bindings", [{}, {"C": ""}, {"C": "sizes[0]"}, {"C": "(int)n"}, {"C": "f(n)"}])
def test_a_name_that_is_bound_to_nothing_that_can_be_said_is_marked(bindings: dict[str, str]) -> None:
    (ref,) = facts_in(bind(parse("C % 4 == 0"), bindings))
    assert ref.name == "C" and not ref.bound


def test_a_tensor_may_be_bound_to_one_of_its_elements() -> None:
    assert bind(parse("align(x) >= 16"), {"x": "inp[row * C + i]"}) == parse("align(inp) >= 16")


def test_a_tensor_is_bound_to_nothing_else() -> None:
    (ref,) = facts_in(bind(parse("align(x) >= 16"), {"x": "inp + 4"}))
    assert ref.name == "align(x)" and not ref.bound


EXPRS = [
    "C % 4 == 0 and align(x) >= 16",
    "not (C > 1 or N > 1) and (C > 2 or N > 2)",
    "dtype(x) in (float32,) or dtype(x) not in (float16, int8)",
    "device.compute_capability >= (8, 0)",
    "(C - (N - 1)) * 2 ** -N // (C % 3) > -C",
    "(2 ** 3) ** 2 == 64",
    'kernel.has("warp_shuffle") and "H100" in device.name',
    "min(C, N, 4) <= 1.5 and True == HAS_BIAS",
    "not (C in (1, 2))",
    "1 <= C <= N",
]


@pytest.mark.parametrize("expr", EXPRS)
def test_what_is_written_is_read_as_the_same_tree(expr: str) -> None:
    assert parse(written(parse(expr))) == parse(expr)


@given(
    st.lists(
        st.sampled_from(["C", "N", "2", "(", ")", "+", "-", "*", "//", "%", "**", "not", "and", "==", ">"]),
        max_size=14,
    )
)
def test_every_condition_is_written_as_itself(pieces: list[str]) -> None:
    try:
        tree = parse(" ".join(pieces))
    except ConditionError:
        return
    assert parse(written(tree)) == tree
