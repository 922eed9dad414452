"""Terms of the reader as C++ expressions."""

from __future__ import annotations

from collections.abc import Mapping

from kernel_gate.expr.polynomials import Monomial, Polynomial, polynomial
from kernel_gate.expr.terms import Num, Op, Term, Var

_SPELLING = {"//": "/", "quot": "/", "%": "%", "rem": "%", "and": "&&", "or": "||"}
_NONE: Mapping[str, str] = {}


def c_text(term: Term, names: Mapping[str, str] = _NONE, *, wide: bool = False) -> str:
    """A term in C++; `names` are the spellings of variables that are written otherwise than they are named.

    `wide` multiplies in 64 bits, as an address has to where its parts are summed in another order than in the source.
    """
    match term:
        case Num(value):
            return str(value)
        case Var(name):
            return names.get(name, name)
        case Op("+" | "*", _):
            return _sum(polynomial(term), names, wide)
        case Op("not", (inner,)):
            return f"!{_factor(inner, names, wide)}"
        case Op("ite", (condition, yes, no)):
            return " ".join(
                [
                    _factor(condition, names, wide),
                    "?",
                    _factor(yes, names, wide),
                    ":",
                    _factor(no, names, wide),
                ]
            )
        case Op("min" | "max" as name, args):
            return f"{name}({', '.join(c_text(a, names, wide=wide) for a in args)})"
        case Op(name, args):
            parts = [_operand(a, name, names, wide) for a in args]
            return f" {_SPELLING.get(name, name)} ".join(parts)


def _operand(term: Term, of: str, names: Mapping[str, str], wide: bool) -> str:
    """An operand of a comparison or of a conjunction needs no brackets where it binds tighter for everybody."""
    comparison = isinstance(term, Op) and term.name in ("<", "<=", "==")
    arithmetic = isinstance(term, Op) and term.name in ("+", "*")
    if (of in ("<", "<=", "==") and arithmetic) or (of == "and" and comparison):
        return c_text(term, names, wide=wide)
    return _factor(term, names, wide)


def _factor(term: Term, names: Mapping[str, str], wide: bool) -> str:
    text = c_text(term, names, wide=wide)
    single = isinstance(term, (Num, Var)) and text.replace("_", "").replace(".", "").isalnum()
    return text if single or (isinstance(term, Op) and term.name in ("min", "max")) else f"({text})"


def _sum(of: Polynomial, names: Mapping[str, str], wide: bool) -> str:
    text = ""
    for monomial, coefficient in sorted(of.items(), key=lambda item: (item[1] < 0, -len(item[0]))):
        sign = "-" if coefficient < 0 else "+"
        part = _product(monomial, abs(coefficient), names, wide)
        text = f"{text} {sign} {part}" if text else f"-{part}" if sign == "-" else part
    return text or "0"


def _product(monomial: Monomial, coefficient: int, names: Mapping[str, str], wide: bool) -> str:
    factors = [_factor(f, names, wide) for f in monomial]
    if coefficient != 1 or not factors:
        factors.append(str(coefficient))
    cast = "(long long)" if wide and len(factors) > 1 else ""
    return cast + " * ".join(factors)
