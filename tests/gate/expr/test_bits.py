"""Bits of two numbers at once: `(a | b) % 16 == 0` asks for both, as tests of two addresses do."""

from __future__ import annotations

import itertools

import pytest

from kernel_gate.expr.parsing import Reading
from kernel_gate.expr.solver import Decision, decide
from kernel_gate.expr.terms import Num, Term, Var, bitwise, conjunction, disjunction, equal, mod, substituted

A, B = Var("a"), Var("b")
EITHER = bitwise("|", A, B)


@pytest.mark.parametrize("power", [1, 2, 16])
def test_a_remainder_or_a_zero_of_either_has_the_values_that_python_gives(power: int) -> None:
    for a, b in itertools.product(range(-20, 21), repeat=2):
        values: dict[str, Term] = {"a": Num(a), "b": Num(b)}
        assert substituted(mod(EITHER, Num(power)), values) == Num((a | b) % power)
        assert substituted(equal(EITHER, Num(0)), values) == Num(int((a | b) == 0))


def test_neither_is_decided_for_divisors_that_are_no_power_of_two() -> None:
    claim = equal(mod(EITHER, Num(12)), Num(0))
    assert decide([equal(mod(A, Num(12)), Num(0))], claim).decision is Decision.UNDECIDED


@pytest.mark.parametrize("text", ["bit_or(a, b) % 16 == 0", "not bit_or(a, bit_or(b, a)) % 16"])
def test_both_are_multiples_where_either_is_asked_for(text: str) -> None:
    names: dict[str, Term] = {"a": A, "b": B}
    asked = Reading(names).read(text)
    both = conjunction(*(equal(mod(v, Num(16)), Num(0)) for v in names.values()))
    assert decide([asked], both).decision is Decision.PROVED
    assert decide([both], asked).decision is Decision.PROVED
    one = decide([equal(mod(A, Num(16)), Num(0))], asked)
    assert one.decision is Decision.REFUTED
    assert one.values["b"] % 16


def test_a_number_of_bits_is_true_where_one_of_the_two_is() -> None:
    claim = disjunction(equal(A, Num(0)), EITHER)
    assert decide([], claim).decision is Decision.PROVED
