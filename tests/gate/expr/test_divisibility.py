"""Promised multiples as products: the same truth at every size, and questions of tiles that become easy."""

from __future__ import annotations

import pytest

from kernel_gate.expr import terms
from kernel_gate.expr.divisibility import divided
from kernel_gate.expr.solver import Decision, decide
from kernel_gate.expr.terms import ZERO, Num, Term, Var, substituted

C, N, X = Var("C"), Var("N"), Var("x")


def _multiple(of: Var, divisor: int) -> Term:
    return terms.equal(terms.mod(of, Num(divisor)), ZERO)


CONDITIONS = {
    "quotient": terms.less(X, terms.floor_div(terms.add(C, Num(3)), Num(4))),
    "remainder": terms.equal(terms.mod(terms.add(terms.mul(Num(3), C), X), Num(8)), Num(5)),
    "negative": terms.at_most(terms.floor_div(terms.sub(X, C), Num(8)), Num(-2)),
    "product": terms.less(terms.mul(C, X), terms.mul(Num(40), terms.maximum(X, C))),
    "choice": terms.equal(terms.choice(terms.less(X, C), terms.mod(C, Num(4)), X), ZERO),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_conditions_keep_their_truth_at_every_size(name: str) -> None:
    condition = CONDITIONS[name]
    asked = divided([_multiple(C, 4), _multiple(C, 8), condition])
    assert dict(asked.divisors) == {"C": 8}
    for quotient in range(-3, 6):
        for x in range(-9, 20):
            there = {"C / 8": Num(quotient), "x": Num(x)}
            meant = substituted(condition, {"C": Num(8 * quotient), "x": Num(x)})
            assert substituted(asked.conditions[-1], there) == meant


def test_values_are_those_of_the_variables_that_were_asked_about() -> None:
    answer = decide([_multiple(C, 8), terms.at_most(Num(1), C)], terms.less(C, Num(10)))
    assert answer.decision is Decision.REFUTED
    assert answer.values["C"] >= 16
    assert answer.values["C"] % 8 == 0


def test_a_row_of_tiles_lies_within_a_matrix_of_whole_tiles() -> None:
    row, column = Var("row"), Var("column")
    assumptions = [
        _multiple(N, 32),
        *(terms.at_most(Num(1), size) for size in (C, N)),
        *(terms.at_most(ZERO, v) for v in (row, column)),
        terms.less(row, terms.ceil_div(N, Num(32))),
        terms.less(column, C),
    ]
    last = terms.add(terms.mul(Num(32), row), Num(31))
    at = terms.add(terms.mul(last, C), column)
    names = ("C", "N", "row", "column")
    answer = decide(assumptions, terms.less(at, terms.mul(N, C)), never_negative=names)
    assert answer.decision is Decision.PROVED
    wrong = decide(
        assumptions, terms.less(terms.add(at, Num(1)), terms.mul(N, C)), never_negative=names, limit_ms=500
    )
    assert wrong.decision is not Decision.PROVED
