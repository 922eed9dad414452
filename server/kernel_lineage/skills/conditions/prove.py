"""Whether promises imply a condition (the extra `prove`): proved, refuted with the smallest values, or not decided.

Numbers are mathematical integers: overflow of C's 32-bit arithmetic is another question.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from kernel_gate.expr.smallest import Question, answered
from kernel_gate.expr.solver import LIMIT_MS, Decision, SolverMissingError
from kernel_lineage.skills.conditions.evaluate import judge, show
from kernel_lineage.skills.conditions.facts import Fact, Facts, FactSource, Scalar
from kernel_lineage.skills.conditions.terms import Translated, UntranslatedError
from kernel_lineage.skills.conditions.tree import Expr, Literal, Op, facts_in
from kernel_lineage.skills.conditions.truth import Truth


@dataclass(frozen=True, slots=True)
class Proof:
    """`HOLDS` when the promises imply the claim, `FAILS` with values that keep the promises and break it."""

    truth: Truth
    counterexample: str | None = None
    reason: str = ""
    """Why it was not decided."""


@lru_cache(maxsize=1024)
def implies(promises: tuple[Expr, ...], claim: Expr, limit_ms: int = LIMIT_MS) -> Proof:
    """Whether every situation that keeps all promises satisfies the claim. Untranslatable promises are left out.

    A promised multiple or bound that is plainly stronger is seen without Z3. A counterexample is evaluated before it is
    given: where a translated promise is left out or a divisor is not positive, the values prove nothing.
    """
    if any(promise == claim or _is_stronger(promise, claim) for promise in promises):
        return Proof(Truth.HOLDS)
    translated = Translated()
    try:
        wanted = translated.truth(claim)
    except UntranslatedError as error:
        return Proof(Truth.UNKNOWN, reason=f"not translated: {error}")
    premises = []
    for promise in promises:
        try:
            premises.append(translated.truth(promise))
        except UntranslatedError:
            continue
    question = Question([*translated.ranges(), *premises], wanted, sizes=translated.numbers())
    try:
        answer = answered(question, limit_ms)
    except SolverMissingError as error:
        return Proof(Truth.UNKNOWN, reason=str(error))
    if answer.decision is Decision.PROVED:
        return Proof(Truth.HOLDS)
    if answer.decision is Decision.UNDECIDED:
        return Proof(Truth.UNKNOWN, reason=answer.reason)
    values = {name: translated.value(name, answer.values.get(name, 0)) for name in translated.types}
    return _refuted(promises, claim, values)


def _refuted(promises: tuple[Expr, ...], claim: Expr, values: Mapping[str, Scalar]) -> Proof:
    facts = Facts({name: Fact((value,), "", FactSource.STATED) for name, value in values.items()})
    shown = ", ".join(
        f"{name} = {show(values[name])}" for name in sorted({ref.name for ref in facts_in(claim)})
    )
    broken = judge(claim, facts).truth is Truth.FAILS
    if broken and not any(judge(promise, facts).truth is Truth.FAILS for promise in promises):
        return Proof(Truth.FAILS, shown)
    return Proof(Truth.UNKNOWN, reason=f"not decided: the solver's values ({shown}) are no counterexample")


def _is_stronger(promise: Expr, claim: Expr) -> bool:
    """`C % 8 == 0` says more than `C % 4 == 0`, `C >= 1024` more than `C >= 512`."""
    match promise, claim:
        case (
            Op(op="==", operands=(Op(op="%", operands=(a, Literal(value=int() as more))), Literal(value=0))),
            Op(op="==", operands=(Op(op="%", operands=(b, Literal(value=int() as less))), Literal(value=0))),
        ):
            return a == b and less > 0 and more % less == 0
        case (
            Op(op=op, operands=(a, Literal(value=int() as more))),
            Op(op=same, operands=(b, Literal(value=int() as less))),
        ) if op == same and a == b:
            return (op in (">", ">=") and more >= less) or (op in ("<", "<=") and more <= less)
        case _:
            return False
