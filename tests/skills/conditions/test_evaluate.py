"""Truth over facts: Kleene's laws, several values, evidence, missing facts and counterexamples."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel_lineage.skills.conditions.binding import bind
from kernel_lineage.skills.conditions.evaluate import judge
from kernel_lineage.skills.conditions.facts import Fact, Facts, FactSource
from kernel_lineage.skills.conditions.parse import parse
from kernel_lineage.skills.conditions.truth import Truth

HOLDS, FAILS, UNKNOWN = Truth.HOLDS, Truth.FAILS, Truth.UNKNOWN


def facts(**values) -> Facts:
    """`C=(1, 2)` gives two values; `align__x=16` stands for `align(x)`, `launch_block_x` for itself with dots."""
    fact_table = {}
    for key, value in values.items():
        head, _, argument = key.partition("__")
        name = f"{head}({argument.replace('__', ', ')})" if argument else head
        several = value if isinstance(value, list) else [value]
        fact_table[name] = Fact(tuple(several), f"{name} is stated", FactSource.STATED)
    return Facts(fact_table)


@pytest.mark.parametrize(
    ("expr", "fact_table", "truth"),
    [
        ("C % 4 == 0", facts(C=768), HOLDS),
        ("C % 4 == 0", facts(C=770), FAILS),
        ("C % 4 == 0", facts(), UNKNOWN),
        ("C % 4 == 0", facts(C=[768, 1024]), HOLDS),
        ("C % 4 == 0", facts(C=[768, 770]), FAILS),
        ("C % 4 == 0 and align(x) >= 16", facts(C=770), FAILS),
        ("align(x) >= 16 and C % 4 == 0", facts(C=770), FAILS),
        ("align(x) >= 16 or C % 4 == 0", facts(C=768), HOLDS),
        ("not (align(x) >= 16 and C % 4 == 0)", facts(C=770), HOLDS),
        ("32 <= N <= 1024", facts(N=64), HOLDS),
        ("32 <= N <= 1024", facts(N=[64, 2048]), FAILS),
        ("dtype(x) in (float32, float16)", facts(dtype__x="float32"), HOLDS),
        ("dtype(x) == bfloat16", facts(dtype__x="float32"), FAILS),
        ("C * itemsize(dtype(x)) % 16 == 0", facts(C=6, dtype__x="float64"), HOLDS),
        ("C * itemsize(dtype(x)) % 16 == 0", facts(C=6, dtype__x="float128"), UNKNOWN),
        ("noalias(x, y)", facts(noalias__y__x=True), HOLDS),
        ("range(x) <= 88", facts(range__x=(-5, 88)), HOLDS),
        ("range(x) <= 88", facts(range__x=(-5, 89)), FAILS),
        ("-3 <= range(x)", facts(range__x=(-5, 89)), FAILS),
        ("HAS_BIAS", facts(HAS_BIAS=True), HOLDS),
        ("not HAS_BIAS", facts(HAS_BIAS=True), FAILS),
        ("HAS_BIAS == True", facts(HAS_BIAS=True), HOLDS),
        ("is_power_of_2(N)", facts(N=[1, 2, 64]), HOLDS),
        ("is_power_of_2(N)", facts(N=[64, 0]), FAILS),
        ("ceil_div(N, 4) == 2 and min(N, 3) == 3 and max(N, 9, 2) == 9", facts(N=5), HOLDS),
        ("C % N == 0", facts(C=4, N=0), UNKNOWN),
        ("N != 0 and C % N == 0", facts(C=4, N=0), FAILS),
        ("C ** N > 0", facts(C=10, N=10**9), UNKNOWN),
        ("(C - 8) ** 0.5 > 0", facts(C=4), UNKNOWN),
        ("C > 1", facts(C="many"), UNKNOWN),
    ],
)
def test_truth(expr: str, fact_table: Facts, truth: Truth) -> None:
    assert judge(expr, fact_table).truth is truth


def test_a_failure_shows_the_values_that_fail_and_only_the_facts_that_decide() -> None:
    judged = judge("C % 4 == 0 or N > 100", facts(C=[768, 770], N=[200, 7], M=3))
    assert judged.counterexample == "C = 770, N = 7"
    assert {f.evidence for f in judged.evidence} == {"C is stated", "N is stated"}
    assert judge("N > 100 and C % 4 == 0", facts(C=770)).counterexample == "C = 770"


def test_an_unknown_names_every_missing_fact_and_only_those() -> None:
    assert judge("align(x) >= 16 and C % 4 == 0 and noalias(x, y)", facts(C=8)).missing == (
        "align(x)",
        "noalias(x, y)",
    )


def test_versions_compare_from_the_left() -> None:
    fact_table = Facts({"device.compute_capability": Fact(((9, 0),), "H200", FactSource.DEVICE)})
    assert judge("device.compute_capability >= (8, 9)", fact_table).truth is HOLDS
    assert judge("device.compute_capability in ((8, 0), (8, 6))", fact_table).truth is FAILS


def test_a_name_that_the_anchor_did_not_bind_is_unknown_even_when_the_kernel_has_one_like_it() -> None:
    judged = judge(bind(parse("C % 4 == 0"), {"x": "inp"}), facts(C=768))
    assert judged.truth is UNKNOWN
    assert judged.missing == ("what `C` is in this kernel",)


def test_too_many_combinations_are_unknown_not_slow() -> None:
    fact_table = facts(C=list(range(200)), N=list(range(200)), M=list(range(200)))
    judged = judge("C + N + M >= 0", fact_table)
    assert judged.truth is UNKNOWN
    assert "combinations" in judged.missing[0]


ATOMS = ["A == 1", "B == 1", "D == 1"]
formulas = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.one_of(
        inner.map(lambda a: f"not ({a})"),
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda t: f"({t[0]}) {t[1]} ({t[2]})"),
    ),
    max_leaves=6,
)
partial = st.fixed_dictionaries({}, optional={n: st.sampled_from([0, 1]) for n in "ABD"})


def known_of(values: dict) -> Facts:
    return facts(**values)


@given(formulas, partial)
def test_with_all_facts_known_the_truth_is_that_of_python(formula: str, values: dict) -> None:
    full = {"A": 0, "B": 0, "D": 0, **values}
    expected = eval(formula, {"__builtins__": {}}, full)  # the oracle of this test only
    assert judge(formula, known_of(full)).truth is (HOLDS if expected else FAILS)


@given(formulas, partial)
def test_a_decided_truth_stays_when_more_becomes_known(formula: str, values: dict) -> None:
    before = judge(formula, known_of(values)).truth
    rest = [n for n in "ABD" if n not in values]
    for more in itertools.product([0, 1], repeat=len(rest)):
        after = judge(formula, known_of({**values, **dict(zip(rest, more, strict=True))})).truth
        assert before in (UNKNOWN, after)


@given(formulas, formulas, partial)
def test_de_morgan_and_commutativity(a: str, b: str, values: dict) -> None:
    fact_table = known_of(values)
    assert (
        judge(f"not (({a}) and ({b}))", fact_table).truth
        is judge(f"not ({a}) or not ({b})", fact_table).truth
    )
    assert judge(f"({a}) or ({b})", fact_table).truth is judge(f"({b}) or ({a})", fact_table).truth
    assert judge(f"not (not ({a}))", fact_table).truth is judge(a, fact_table).truth


@given(
    formulas,
    st.fixed_dictionaries({n: st.lists(st.sampled_from([0, 1]), min_size=1, max_size=2) for n in "ABD"}),
)
def test_several_values_hold_only_if_every_choice_does(formula: str, values: dict) -> None:
    each = [
        judge(formula, known_of(dict(zip("ABD", choice, strict=True)))).truth
        for choice in itertools.product(*(values[n] for n in "ABD"))
    ]
    assert judge(formula, known_of(values)).truth is (FAILS if FAILS in each else HOLDS)


@pytest.mark.parametrize(
    ("expr", "fact_table", "partly"),
    [
        ("C % 4 == 0", facts(C=[770, 768]), True),
        ("C % 4 == 0", facts(C=[770, 771]), False),
        ("C % 4 == 0 and N > 1", facts(C=[770, 768], N=1), False),
        ("C % 4 == 0 or N > 1", facts(C=[770, 768]), False),
        ("C % 4 == 0 and N > 1", facts(C=[770, 768]), True),
    ],
)
def test_a_failure_says_whether_it_is_only_for_some_values(
    expr: str, fact_table: Facts, partly: bool
) -> None:
    assert judge(expr, fact_table).partly is partly
