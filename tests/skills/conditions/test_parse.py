"""The condition language accepts a fixed grammar, checks types, and says what is wrong where."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel_lineage.skills.conditions.names import FACT_NAMES
from kernel_lineage.skills.conditions.parse import FUNCTIONS, MAX_LENGTH, ConditionError, parse
from kernel_lineage.skills.conditions.tree import Op, facts_in, names_in


def test_a_condition_becomes_a_tree_of_named_facts() -> None:
    tree = parse("C % 4 == 0 and align(x) >= 16 and device.compute_capability >= (8, 0)")
    assert isinstance(tree, Op) and tree.op == "and"
    assert [ref.name for ref in facts_in(tree)] == ["C", "align(x)", "device.compute_capability"]
    assert names_in(tree) == {"C", "x"}


def test_a_chain_is_the_conjunction_of_its_comparisons() -> None:
    assert parse("32 <= launch.block.x <= 1024") == parse("32 <= launch.block.x and launch.block.x <= 1024")


def test_names_of_cpp_that_python_keeps_for_itself_are_names() -> None:
    tree = parse("align(in) >= 16 and in % lambda == 0")
    assert [ref.name for ref in facts_in(tree)] == ["align(in)", "in", "lambda"]
    tree = parse("dtype(in) not in (float32, float16) or in > 0 and not in == 8")
    assert [ref.name for ref in facts_in(tree)] == ["dtype(in)", "in", "in"]


def test_the_same_text_is_parsed_once() -> None:
    assert parse("C > 1") is parse("C > 1")


@pytest.mark.parametrize("name", FACT_NAMES.values(), ids=lambda n: n.name)
def test_every_declared_name_parses_in_its_own_form(name) -> None:
    tree = parse(f"{name.form} == {name.form}") if name.type != "truth value" else parse(name.form)
    assert {ref.type for ref in facts_in(tree)} == {name.type}


@pytest.mark.parametrize(
    ("expr", "column", "says"),
    [
        ("C % 4 == '0'", 10, "a number cannot be compared with a text"),
        ("dtype(x) == 4", 13, "a data type cannot be compared with a number"),
        ("dtype(x) < float32", 12, "has no order"),
        ("device.compute_capability >= 8", 30, "a version cannot be compared with a number"),
        ("range(x) == 3", 13, "compared with a number by < <= > >="),
        ("allign(x) >= 16", 1, "did you mean `align`?"),
        ("launch.blok.x > 1", 1, "did you mean `launch.block.x`?"),
        ("align > 3", 1, "takes arguments: `align(x)`"),
        ("align(x, y) > 3", 1, "write it as `align(x)`"),
        ("align(x + 1) > 3", 7, "this is no tensor"),
        ("stride(x, -1) == 1", 11, "this is no axis"),
        ("kernel.has(warp_shuffle)", 12, "this is no mechanism"),
        ("align(x)", 1, "cannot be true or false"),
        ("4", 1, "cannot be true or false"),
        ("C / 4 == 1", 1, "only + - * // % ** are allowed"),
        ("x[0] > 1", 1, "Subscript is not in the condition language"),
        ("(lambda: 1)() == 1", 1, "is no declared function"),
        ("__import__('os') == 1", 1, "`__import__` is no declared function"),
        ("C in 5", 6, "takes a tuple"),
        ("C in ()", 6, "takes a tuple"),
        ("C is 5", 1, "compare"),
        ("C == None", 6, "is no value of the language"),
        ("C < 1e999", 5, "is no value of the language"),
        ("min(1) > 0", 1, "`min` takes 2 arguments, not 1"),
        ("itemsize(C) == 4", 10, "takes a data type here"),
        ("profile.bound == 'bandwith'", 18, "is one of bandwidth, compute, latency"),
        ("align(x", 6, "not an expression"),
        ("", 1, "not an expression"),
        ("C > 1\0", 1, "not an expression"),
        ("not " * 60 + "C", 201, "nested more than"),
        ("C > 1 and " * 100 + "C > 1", 1, f"longer than {MAX_LENGTH}"),
    ],
)
def test_what_is_not_in_the_language_is_refused_with_its_column(expr: str, column: int, says: str) -> None:
    with pytest.raises(ConditionError) as refused:
        parse(expr)
    assert says in str(refused.value)
    assert refused.value.column == column


@pytest.mark.parametrize(
    "expr", ["C >", "(" * 250 + "C" + ")" * 250, "-" * 500 + "C", "C\\", "# C", "C = 4", "C; N"]
)
def test_what_python_cannot_read_is_a_condition_error_too(expr: str) -> None:
    with pytest.raises(ConditionError):
        parse(expr)


_PIECES = [
    "C",
    "N",
    "x",
    "4",
    "0",
    "1.5",
    "'a'",
    "(8, 0)",
    "and",
    "or",
    "not",
    "in",
    "==",
    "<",
    "%",
    "**",
    "(",
    ")",
    ",",
]
_PIECES += [".", "float32", "align(x)", "launch.block.x", *FACT_NAMES, *FUNCTIONS]


@pytest.mark.long
@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(_PIECES), max_size=20).map(" ".join)))
def test_any_text_gives_a_tree_or_a_condition_error(text: str) -> None:
    try:
        parse(text)
    except ConditionError as error:
        assert error.column >= 1
