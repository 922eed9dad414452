"""A question that nobody waits for any more."""

import time

import pytest

from kernel_gate.expr.solver import Decision, decide
from kernel_gate.expr.stopping import StoppedError, asked_until
from kernel_gate.expr.terms import Num, Term, Var, add, equal, mul, negation


def cube(name: str) -> Term:
    return mul(Var(name), mul(Var(name), Var(name)))


# Whether 114 is a sum of three cubes is not known.
NO_SUM = negation(equal(add(cube("x"), add(cube("y"), cube("z"))), Num(114)))


def test_a_question_that_z3_is_at_ends_when_it_is_stopped() -> None:
    end = time.monotonic() + 0.2
    with asked_until(lambda: time.monotonic() > end), pytest.raises(StoppedError):
        decide([], NO_SUM, limit_ms=600_000)


def test_no_other_question_is_asked_then_and_those_outside_are() -> None:
    with asked_until(lambda: True), pytest.raises(StoppedError):
        decide([], NO_SUM)
    assert decide([], equal(Var("x"), Var("x"))).decision is Decision.PROVED


def test_what_is_not_stopped_has_its_answer() -> None:
    with asked_until(lambda: False):
        assert decide([], equal(Var("x"), Num(1))).decision is Decision.REFUTED
