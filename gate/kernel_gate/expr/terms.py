"""Terms over mathematical integers and truth values.

`//` and `%` are floor division and its remainder, for positive divisors; `quot` and `rem` are those of C++, which round
towards zero. `& | ^ << >>` work on two's complement of any width. Builders fold constants and nothing else, so that a
term stays close to the code that it came from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Num:
    """A number; truth values are 0 and 1."""

    value: int

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, slots=True)
class Var:
    """An unknown integer."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Op:
    """`name` over `args`: numbers by `+ * // % quot rem & | ^ << >> min max ite`, truth by `< <= == and or not`."""

    name: str
    args: tuple[Term, ...]

    def __str__(self) -> str:
        match self.name, self.args:
            case "ite", (condition, yes, no):
                return f"({yes} if {condition} else {no})"
            case "not", (operand,):
                return f"not {operand}"
            case ("min" | "max" | "quot" | "rem") as name, args:
                return f"{name}({', '.join(map(str, args))})"
            case name, args:
                return f"({f' {name} '.join(map(str, args))})"


Term: TypeAlias = Num | Var | Op

TRUE, FALSE, ZERO, ONE = Num(1), Num(0), Num(0), Num(1)
TRUTHS = frozenset({"<", "<=", "==", "and", "or", "not"})
"""The operations that give a truth value."""

BITWISE = frozenset({"&", "|", "^", "<<", ">>"})
"""The operations on bits."""
_MOST_SHIFT = 63


def _truncated(a: int, b: int) -> int:
    whole = abs(a) // abs(b)
    return whole if (a < 0) == (b < 0) else -whole


FOLDED: Mapping[str, Callable[[int, int], int]] = {
    "quot": _truncated,
    "rem": lambda a, b: a - b * _truncated(a, b),
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "min": min,
    "max": max,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "==": lambda a, b: a == b,
}
"""What each binary operation gives for two numbers."""


def is_defined(name: str, b: int) -> bool:
    """Whether an operation has one value for this right operand."""
    if name in ("//", "%"):
        return b > 0
    if name in ("<<", ">>"):
        return 0 <= b <= _MOST_SHIFT
    return b != 0 or name not in ("quot", "rem")


def _binary(name: str, a: Term, b: Term) -> Term:
    if isinstance(a, Num) and isinstance(b, Num) and is_defined(name, b.value):
        return Num(int(FOLDED[name](a.value, b.value)))
    return Op(name, (a, b))


def add(a: Term, b: Term) -> Term:
    """`a + b`."""
    if a == ZERO:
        return b
    return a if b == ZERO else _binary("+", a, b)


def mul(a: Term, b: Term) -> Term:
    """`a * b`."""
    if ZERO in (a, b):
        return ZERO
    if a == ONE:
        return b
    return a if b == ONE else _binary("*", a, b)


def sub(a: Term, b: Term) -> Term:
    """`a - b`."""
    return ZERO if a == b else add(a, mul(Num(-1), b))


def floor_div(a: Term, b: Term) -> Term:
    """`a // b` for b > 0; any number for others."""
    return a if b == ONE else _binary("//", a, b)


def mod(a: Term, b: Term) -> Term:
    """`a % b` for b > 0, never negative; any number for others. By a power of two, of `x | y` it is that of each."""
    match a, b:
        case _, Num(1):
            return ZERO
        case Op("|", (x, y)), Num(power) if power > 0 and power & (power - 1) == 0:
            return bitwise("|", mod(x, b), mod(y, b))
    return _binary("%", a, b)


def quotient(a: Term, b: Term) -> Term:
    """C++'s `a / b` of integers, which rounds towards zero, for b other than 0."""
    return a if b == ONE else _binary("quot", a, b)


def remainder(a: Term, b: Term) -> Term:
    """C++'s `a % b`, which has the sign of a, for b other than 0."""
    return ZERO if b == ONE else _binary("rem", a, b)


def bitwise(name: str, a: Term, b: Term) -> Term:
    """`a & b`, `a | b`, `a ^ b`, `a << b` or `a >> b`, by the operator; with low bits kept or cut as arithmetic."""
    match name, a, b:
        case "&", Num(), _ if not isinstance(b, Num):
            return bitwise("&", b, a)
        case "&", _, Num(mask) if mask >= 0 and mask & (mask + 1) == 0:
            return mod(a, Num(mask + 1))
        case "&", _, Num(mask) if mask < 0 and -mask & (-mask - 1) == 0:
            return sub(a, mod(a, Num(-mask)))
        case "<<", _, Num(count) if 0 <= count <= _MOST_SHIFT:
            return mul(a, Num(1 << count))
        case ">>", _, Num(count) if 0 <= count <= _MOST_SHIFT:
            return floor_div(a, Num(1 << count))
        case "|" | "^", _, Num(0):
            return a
        case "|" | "^", Num(0), _:
            return b
    return _binary(name, a, b)


def ceil_div(a: Term, b: Term) -> Term:
    """The quotient rounded up, for b > 0."""
    return floor_div(add(a, sub(b, ONE)), b)


def minimum(a: Term, b: Term) -> Term:
    """The smaller one."""
    return a if a == b else _binary("min", a, b)


def maximum(a: Term, b: Term) -> Term:
    """The larger one."""
    return a if a == b else _binary("max", a, b)


def less(a: Term, b: Term) -> Term:
    """`a < b`."""
    return _binary("<", a, b)


def at_most(a: Term, b: Term) -> Term:
    """`a <= b`."""
    return _binary("<=", a, b)


def equal(a: Term, b: Term) -> Term:
    """`a == b`; `x | y` is 0 where both are."""
    match a, b:
        case Op("|", (x, y)), Num(0):
            return conjunction(equal(x, ZERO), equal(y, ZERO))
    return TRUE if a == b else _binary("==", a, b)


def negation(a: Term) -> Term:
    """`not a`."""
    match a:
        case Num(value):
            return Num(int(not value))
        case Op("not", (inner,)):
            return inner
        case Op("<", (x, y)):
            return at_most(y, x)
        case Op("<=", (x, y)):
            return less(y, x)
        case _:
            return Op("not", (a,))


def conjunction(*parts: Term) -> Term:
    """All of them."""
    kept = tuple(dict.fromkeys(p for p in parts if p != TRUE))
    if FALSE in kept:
        return FALSE
    return TRUE if not kept else kept[0] if len(kept) == 1 else Op("and", kept)


def disjunction(*parts: Term) -> Term:
    """At least one of them."""
    kept = tuple(dict.fromkeys(p for p in parts if p != FALSE))
    if TRUE in kept:
        return TRUE
    return FALSE if not kept else kept[0] if len(kept) == 1 else Op("or", kept)


def choice(condition: Term, yes: Term, no: Term) -> Term:
    """`yes` where the condition holds, else `no`."""
    if isinstance(condition, Num):
        return yes if condition.value else no
    return yes if yes == no else Op("ite", (condition, yes, no))


def variables(term: Term) -> Iterator[str]:
    """The names of the variables, from left to right, with repetitions."""
    waiting = [term]
    while waiting:
        here = waiting.pop()
        if isinstance(here, Var):
            yield here.name
        elif isinstance(here, Op):
            waiting += reversed(here.args)


def is_truth(term: Term) -> bool:
    """Whether a term is a truth value by its form."""
    return (isinstance(term, Num) and term.value in (0, 1)) or (isinstance(term, Op) and term.name in TRUTHS)


_BUILDERS: dict[str, Callable[..., Term]] = {
    "+": add,
    "*": mul,
    "//": floor_div,
    "%": mod,
    "quot": quotient,
    "rem": remainder,
    "min": minimum,
    "max": maximum,
    "<": less,
    "<=": at_most,
    "==": equal,
    "not": negation,
    "and": conjunction,
    "or": disjunction,
    "ite": choice,
}


def substituted(term: Term, values: Mapping[str, Term]) -> Term:
    """The term with variables replaced, folded anew."""
    match term:
        case Num():
            return term
        case Var(name):
            return values.get(name, term)
        case Op(name, args):
            return rebuilt(name, tuple(substituted(a, values) for a in args))


def rebuilt(name: str, args: tuple[Term, ...]) -> Term:
    """An operation of that name, folded."""
    if name in BITWISE:
        return bitwise(name, *args)
    return _BUILDERS[name](*args)
