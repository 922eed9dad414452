"""Outputs of a matrix that are counted by one flat index: `row = i / N`, `column = i % N`, below `M * N`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kernel_gate.expr.polynomials import Monomial, Polynomial, normal, polynomial, term_of
from kernel_gate.expr.terms import TRUTHS, Op, Term, Var, add, less, mul, rebuilt, substituted, variables
from kernel_lineage.code.model import Model
from kernel_lineage.kernels.source import Kernel, Launch
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.term_text import c_text

_FLAT = Var("flat place")
_QUOTIENTS, _REMAINDERS = ("//", "quot"), ("%", "rem")


@dataclass(frozen=True, slots=True)
class FlatOutputs:
    """How a flat index is taken apart."""

    columns: Term
    rows: Term
    place: Mapping[str, Var]
    """`x` for an output's column, `y` for its row."""

    def over_places(self, term: Term, flat: Var) -> Term:
        """A term over the index `flat`, over an output's row and column instead."""
        split = self._split(substituted(term, {flat.name: _FLAT}))
        return split if isinstance(split, Op) and split.name in TRUTHS else normal(split)

    def _split(self, term: Term) -> Term:
        x, y = self.place["x"], self.place["y"]
        match term:
            case Op("<", (a, b)) if a == _FLAT and polynomial(b) == polynomial(mul(self.rows, self.columns)):
                return rebuilt("and", (less(x, self.columns), less(y, self.rows)))
            case Op(name, (a, b)) if a == _FLAT and b == self.columns and name in _QUOTIENTS:
                return y
            case Op(name, (a, b)) if a == _FLAT and b == self.columns and name in _REMAINDERS:
                return x
            case Op(name, args):
                return rebuilt(name, tuple(self._split(a) for a in args))
        return add(mul(y, self.columns), x) if term == _FLAT else term

    def counts(self, kernel: Kernel, launch: Launch) -> dict[str, str]:
        """How many columns (`x`) and rows (`y`) there are, as a launch can write it."""
        names = {
            p.name: a if a.isidentifier() or a.isdigit() else f"({a})"
            for p, a in zip(kernel.parameters, launch.arguments, strict=False)
        }
        counts = {"x": self.columns, "y": self.rows}
        if missing := {n for t in counts.values() for n in variables(t)} - names.keys():
            raise Refusal(f"the launch in line {launch.span.first_line} does not tell `{min(missing)}`")
        return {axis: c_text(term, names) for axis, term in counts.items()}


def flat_outputs(
    kernel: Kernel, model: Model, terms: list[Term], flat: Var, place: Mapping[str, Var]
) -> FlatOutputs | None:
    """How the outputs of a kernel are counted by `flat`, which its `terms` are over; None where they are not."""
    changed = set(model.unknowns)
    fixed = {p.name for p in kernel.parameters if not p.pointer} - changed
    parts = [part for term in terms for part in _parts(term)]
    by = {p.args[1] for p in parts if p.name in (*_QUOTIENTS, *_REMAINDERS) and p.args[0] == flat}
    if len(by) != 1 or not set(variables(columns := by.pop())) <= fixed:
        return None
    for part in parts:
        if part.name == "<" and part.args[0] == flat and set(variables(part.args[1])) <= fixed:
            rows = _divided(polynomial(part.args[1]), polynomial(columns))
            if rows is not None:
                return FlatOutputs(columns, term_of(rows), place)
    return None


def _parts(term: Term) -> Iterator[Op]:
    if isinstance(term, Op):
        yield term
        for argument in term.args:
            yield from _parts(argument)


def _divided(whole: Polynomial, by: Polynomial) -> Polynomial | None:
    """A polynomial divided by a product; None where it is no multiple, or that is a sum."""
    if len(by) != 1:
        return None
    ((factors, coefficient),) = by.items()
    made: dict[Monomial, int] = {}
    for monomial, count in whole.items():
        left = list(monomial)
        for factor in factors:
            if factor not in left:
                return None
            left.remove(factor)
        if count % coefficient:
            return None
        made[tuple(left)] = count // coefficient
    return made or None
