"""The small language of workloads as terms: `ceil_div(N, 4)`, `C % 4 == 0`, `next_power_of_2(C)`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kernel_gate.expr import terms
from kernel_gate.expr.syntax import ExpressionError, parse
from kernel_gate.expr.terms import Num, Term, Var

_COMPARE: dict[type[ast.cmpop], Callable[[Term, Term], Term]] = {
    ast.Eq: terms.equal,
    ast.NotEq: lambda a, b: terms.negation(terms.equal(a, b)),
    ast.Lt: terms.less,
    ast.LtE: terms.at_most,
    ast.Gt: lambda a, b: terms.less(b, a),
    ast.GtE: lambda a, b: terms.at_most(b, a),
}
_BINARY: dict[type[ast.operator], Callable[[Term, Term], Term]] = {
    ast.Add: terms.add,
    ast.Sub: terms.sub,
    ast.Mult: terms.mul,
    ast.FloorDiv: terms.floor_div,
    ast.Mod: terms.mod,
}
_MOST_POWER = 8


@dataclass
class Reading:
    """Expressions over names that are known as terms; what a term cannot say becomes an unknown."""

    known: Mapping[str, Term]
    facts: list[Term] = field(default_factory=list)
    """What holds of the variables that were needed."""
    unknowns: dict[str, str] = field(default_factory=dict)
    naturals: set[str] = field(default_factory=set)

    def read(self, text: str | float) -> Term:
        """The term of an expression; a new unknown, with the reason, for one that has none."""
        if isinstance(text, bool | int):
            return Num(int(text))
        try:
            return self._term(parse(str(text)))
        except ExpressionError:
            return self._unknown(str(text))

    def _unknown(self, text: str) -> Term:
        variable = Var(f"`{text}`")
        self.unknowns[variable.name] = f"`{text}` of the workload"
        return variable

    def _term(self, node: ast.expr) -> Term:
        match node:
            case ast.Constant(value=bool() | int() as value):
                return Num(int(value))
            case ast.Name(id=name) if name in self.known:
                return self.known[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return terms.sub(Num(0), self._term(operand))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return terms.negation(self._term(operand))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return _BINARY[type(op)](self._term(left), self._term(right))
            case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int() as power)) if (
                0 <= power <= _MOST_POWER
            ):
                result: Term = Num(1)
                for _ in range(power):
                    result = terms.mul(result, self._term(left))
                return result
            case ast.BoolOp(op=ast.And(), values=parts):
                return terms.conjunction(*map(self._term, parts))
            case ast.BoolOp(values=parts):
                return terms.disjunction(*map(self._term, parts))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return terms.choice(self._term(test), self._term(body), self._term(orelse))
            case ast.Compare(left=left, ops=ops, comparators=rights) if all(type(o) in _COMPARE for o in ops):
                sides = [self._term(part) for part in (left, *rights)]
                pairs = zip(ops, sides, sides[1:], strict=False)
                return terms.conjunction(*(_COMPARE[type(op)](a, b) for op, a, b in pairs))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self._call(node, name, [self._term(a) for a in args])
        return self._unknown(ast.unparse(node))

    def _call(self, node: ast.expr, name: str, args: list[Term]) -> Term:
        match name, args:
            case "ceil_div" | "cdiv", [a, b]:
                return terms.ceil_div(a, b)
            case "min" | "max", [first, *rest]:
                join = terms.minimum if name == "min" else terms.maximum
                for other in rest:
                    first = join(first, other)
                return first
            case "bit_and" | "bit_or", [a, b]:
                return terms.bitwise("&" if name == "bit_and" else "|", a, b)
            case "abs", [a]:
                return terms.maximum(a, terms.sub(Num(0), a))
            case "next_power_of_2", [Num(value)]:
                return Num(1 << max(0, value - 1).bit_length())
            case "next_power_of_2", [a]:
                return self._power(a)
        return self._unknown(ast.unparse(node))

    def _power(self, of: Term) -> Term:
        """The power of two that is at least `of` and less than twice as much."""
        variable, facts = next_power_of_2(of)
        self.naturals.add(variable.name)
        self.facts += facts
        return variable


def next_power_of_2(of: Term) -> tuple[Var, list[Term]]:
    """A variable that stands for it, and what holds of that."""
    variable = Var(f"next_power_of_2({of})")
    twice = terms.mul(Num(2), terms.maximum(of, Num(1)))
    one_of = terms.disjunction(*(terms.equal(variable, Num(1 << bit)) for bit in range(32)))
    return variable, [terms.at_most(of, variable), terms.less(variable, twice), one_of]
