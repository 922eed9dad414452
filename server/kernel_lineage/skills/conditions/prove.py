"""Whether promises imply a condition, by Z3 (the extra `prove`): proved, refuted with a counterexample, or not decided.

Numbers are mathematical integers: overflow of C's 32-bit arithmetic is another question. `%` and `//` are translated for
constant positive divisors, where Z3's division is Python's; versions, texts and real powers are not translated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any

from kernel_lineage.skills.conditions.names import DTYPES, Type
from kernel_lineage.skills.conditions.tree import (
    Arithmetic,
    Call,
    Comparison,
    Connective,
    Expr,
    FactRef,
    Items,
    Literal,
    Negative,
    Not,
    facts_in,
)
from kernel_lineage.skills.conditions.truth import Truth

LIMIT_MS = 5_000
_MAX_EXPONENT = 8
_CODES = {name: code for code, name in enumerate(DTYPES)}


@dataclass(frozen=True, slots=True)
class Proof:
    """`HOLDS` when the promises imply the claim, `FAILS` with values that keep the promises and break it."""

    truth: Truth
    counterexample: str | None = None
    reason: str = ""
    """Why it was not decided."""


def _is_stronger(promise: Expr, claim: Expr) -> bool:
    """`C % 8 == 0` says more than `C % 4 == 0`, `C >= 1024` more than `C >= 512`."""
    match promise, claim:
        case (
            Comparison(op="==", left=Arithmetic(op="%", left=a, right=Literal(value=int() as more)), right=Literal(value=0)),
            Comparison(op="==", left=Arithmetic(op="%", left=b, right=Literal(value=int() as less)), right=Literal(value=0)),
        ):
            return a == b and less > 0 and more % less == 0
        case Comparison(op=op, left=a, right=Literal(value=int() as more)), Comparison(
            op=same, left=b, right=Literal(value=int() as less)
        ) if op == same and a == b:
            return (op in (">", ">=") and more >= less) or (op in ("<", "<=") and more <= less)
        case _:
            return False


class _UntranslatedError(Exception):
    """A part that has no translation; the message names it."""


@lru_cache(maxsize=1024)
def implies(promises: tuple[Expr, ...], claim: Expr, limit_ms: int = LIMIT_MS) -> Proof:
    """Whether every situation that keeps all promises satisfies the claim. Untranslatable promises are left out.

    A promised multiple or bound that is plainly stronger is seen without Z3.
    """
    if any(promise == claim or _is_stronger(promise, claim) for promise in promises):
        return Proof(Truth.HOLDS)
    try:
        import z3
    except ImportError:
        return Proof(Truth.UNKNOWN, reason="z3 is not installed (pip install 'kernel-lineage[prove]')")
    solver = z3.Solver()
    solver.set("timeout", limit_ms)
    translate = _Translation(z3)
    try:
        solver.add(z3.Not(translate.truth(claim)))
    except _UntranslatedError as error:
        return Proof(Truth.UNKNOWN, reason=f"not translated: {error}")
    for promise in promises:
        try:
            solver.add(translate.truth(promise))
        except _UntranslatedError:
            continue
    answer = solver.check()
    if answer == z3.unsat:
        return Proof(Truth.HOLDS)
    if answer == z3.unknown:
        return Proof(Truth.UNKNOWN, reason=f"not decided within {limit_ms / 1000:g} s")
    model = solver.model()
    names = sorted({ref.name for ref in facts_in(claim)})
    return Proof(Truth.FAILS, ", ".join(f"{n} = {translate.shown(model, n)}" for n in names))


class _Translation:
    """One set of variables for a claim and its promises."""

    def __init__(self, z3: Any) -> None:
        self.z3 = z3
        self.variables: dict[str, Any] = {}

    def shown(self, model: Any, name: str) -> str:
        value = model.eval(self.variables[name], model_completion=True)
        return next((d for d, code in _CODES.items() if name.startswith("dtype(") and str(code) == str(value)), str(value))

    def truth(self, tree: Expr) -> Any:
        match tree:
            case Literal(value=bool() as value):
                return self.z3.BoolVal(value)
            case FactRef(type=Type.TRUTH):
                return self.variable(tree, self.z3.Bool)
            case Not(operand=operand):
                return self.z3.Not(self.truth(operand))
            case Connective(op=op, operands=operands):
                return (self.z3.And if op == "and" else self.z3.Or)(*map(self.truth, operands))
            case Comparison(op="in" | "not in" as op, left=left, right=Items(items=items)):
                among = self.z3.Or(*(self.number(left) == self.number(item) for item in items))
                return among if op == "in" else self.z3.Not(among)
            case Comparison(op=op, left=left, right=right) if op in _COMPARE:
                return _COMPARE[op](self.number(left), self.number(right))
            case _:
                raise _UntranslatedError(type(tree).__name__)

    def variable(self, ref: FactRef, kind: Callable[[str], Any]) -> Any:
        if not ref.bound:
            raise _UntranslatedError(f"{ref.name} is not bound")
        return self.variables.setdefault(ref.name, kind(ref.name))

    def number(self, tree: Expr) -> Any:
        match tree:
            case Literal(value=int() as value, type=Type.NUMBER):
                return self.z3.IntVal(value)
            case Literal(value=str() as value, type=Type.DTYPE):
                return self.z3.IntVal(_CODES[value])
            case FactRef(type=Type.NUMBER | Type.DTYPE):
                return self.variable(tree, self.z3.Int)
            case Negative(operand=operand):
                return -self.number(operand)
            case Arithmetic(op="//" | "%" as op, left=left, right=Literal(value=int() as divisor)) if divisor > 0:
                return self.number(left) / divisor if op == "//" else self.number(left) % divisor
            case Arithmetic(op="**", left=left, right=Literal(value=int() as power)) if 0 <= power <= _MAX_EXPONENT:
                return reduce(lambda a, b: a * b, [self.number(left)] * power, self.z3.IntVal(1))
            case Arithmetic(op="+" | "-" | "*" as op, left=left, right=right):
                a, b = self.number(left), self.number(right)
                return a + b if op == "+" else a - b if op == "-" else a * b
            case Call(function="min" | "max" as name, arguments=arguments):
                first, *rest = map(self.number, arguments)
                return reduce(lambda a, b: self.z3.If(a < b if name == "min" else a > b, a, b), rest, first)
            case Call(function="ceil_div", arguments=(number, Literal(value=int() as divisor))) if divisor > 0:
                return (self.number(number) + divisor - 1) / divisor
            case _:
                raise _UntranslatedError(type(tree).__name__)


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
