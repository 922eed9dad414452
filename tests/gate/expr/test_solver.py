"""What is asked again, and how long a question gets."""

from __future__ import annotations

import pytest

from kernel_gate.expr import smallest, solver
from kernel_gate.expr.smallest import Question, answered
from kernel_gate.expr.solver import Answer, Decision, decide
from kernel_gate.expr.terms import Num, Var, add, at_most, equal, less, mul, negation

A, B = Var("a of test_solver"), Var("b of test_solver")
SUM = at_most(Num(2), add(A, B))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The limits of the questions that Z3 is asked."""
    limits: list[int] = []
    whole = solver.values_for

    def counted(*terms, limit_ms, **more):
        limits.append(limit_ms)
        return whole(*terms, limit_ms=limit_ms, **more)

    monkeypatch.setattr(solver, "values_for", counted)
    monkeypatch.setattr(solver, "_DECIDED", solver._Decided())
    return limits


@pytest.mark.parametrize(
    ("least", "decision"), [(1, Decision.PROVED), (0, Decision.REFUTED)], ids=["proved", "refuted"]
)
def test_what_is_decided_is_asked_once_whatever_the_limit_is(asked, least: int, decision: Decision) -> None:
    premises = [at_most(Num(least), A), at_most(Num(1), B)]
    first = decide(premises, SUM, limit_ms=5000)
    assert first.decision is decision
    assert decide(premises, SUM, limit_ms=10) == first
    assert asked == [5000]


def test_what_is_not_decided_is_asked_again(asked) -> None:
    # Whether 114 is a sum of three cubes is not known.
    x, y, z = (mul(v, mul(v, v)) for v in (A, B, Var("c of test_solver")))
    open_question = negation(equal(add(x, add(y, z)), Num(114)))
    for limit in (1, 2):
        assert decide([], open_question, limit_ms=limit).decision is Decision.UNDECIDED
    assert asked == [1, 2]


def test_other_premises_and_other_claims_are_other_questions(asked) -> None:
    assert decide([at_most(Num(1), A), at_most(Num(1), B)], SUM).decision is Decision.PROVED
    assert decide([at_most(Num(1), A)], SUM).decision is Decision.REFUTED
    assert (
        decide([at_most(Num(1), A), at_most(Num(1), B)], less(Num(2), add(A, B))).decision is Decision.REFUTED
    )
    product = at_most(Num(0), mul(A, B))
    assert decide([], product).decision is Decision.REFUTED
    assert decide([], product, never_negative={A.name}).decision is Decision.REFUTED
    assert len(asked) == 5


def test_only_the_latest_answers_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "_KEPT", 1)
    kept, keys = solver._Decided(), [((), at_most(Num(n), A), frozenset[str]()) for n in (1, 2)]
    for key in keys:
        kept.keep(key, Answer(Decision.PROVED))
    assert [kept.get(key) for key in keys] == [None, Answer(Decision.PROVED)]


def test_a_question_without_sizes_gets_its_time_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[int] = []

    def undecided(*terms, limit_ms, **more):
        limits.append(limit_ms)
        return Answer(Decision.UNDECIDED)

    monkeypatch.setattr(smallest, "decide", undecided)
    assert answered(Question([], SUM), 2000).decision is Decision.UNDECIDED
    assert limits == [2000]
