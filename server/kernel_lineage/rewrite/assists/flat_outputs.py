"""Outputs of a matrix, or of several, that are counted by one flat index: `column = i % N`, `row = i / N % M`,
`layer = i / (M * N)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kernel_gate.expr.polynomials import Monomial, Polynomial, normal, polynomial, term_of
from kernel_gate.expr.terms import (
    TRUTHS,
    Num,
    Op,
    Term,
    Var,
    add,
    less,
    mul,
    rebuilt,
    sub,
    substituted,
    variables,
)
from kernel_lineage.code.model import Model
from kernel_lineage.kernels.source import Kernel, Launch
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.named_sizes import named_sizes
from kernel_lineage.rewrite.assists.term_text import c_text

_FLAT = Var("flat place")
_QUOTIENTS, _REMAINDERS = ("//", "quot"), ("%", "rem")


@dataclass(frozen=True, slots=True)
class FlatOutputs:
    """How a flat index is taken apart: `(layer * rows + row) * columns + column`."""

    columns: Term
    rows: Term
    layers: Term
    place: Mapping[str, Var]
    """`x` for an output's column, `y` for its row, `z` for its layer."""
    within: tuple[Term, ...] = ()
    """Lengths of which the columns are a multiple, and into which they are taken apart as well: the columns of an image
    are its pixels, of so many in each of its lines.
    """

    def over_places(self, term: Term, flat: Var) -> Term:
        """A term over the index `flat`, over an output's column, row and layer instead."""
        return _normal(self._split(substituted(term, {flat.name: _FLAT})))

    def _split(self, term: Term) -> Term:
        x, y, z = (self.place[axis] for axis in "xyz")
        plane = mul(self.rows, self.columns)
        high, low = add(mul(z, self.rows), y), add(mul(y, self.columns), x)
        taken_apart = [
            (_FLAT, plane, z, low),
            (_FLAT, self.columns, high, x),
            (high, self.rows, z, y),
            (low, self.columns, y, x),
        ]
        for length in self.within:
            lines = term_of(_divided(polynomial(self.columns), polynomial(length)) or {})
            line, at = Op("//", (x, length)), Op("%", (x, length))
            along = add(mul(high, lines), line)
            taken_apart += [(_FLAT, length, along, at), (along, lines, high, line)]
        match term:
            case Op("<", (a, b)) if a == _FLAT and polynomial(b) == polynomial(mul(self.layers, plane)):
                return rebuilt("and", (less(x, self.columns), less(y, self.rows)))
            case Op(name, args):
                parts = tuple(self._split(a) if a != _FLAT else a for a in args)
                for whole, by, quotient, rest in taken_apart if name in (*_QUOTIENTS, *_REMAINDERS) else ():
                    if polynomial(parts[0]) == polynomial(whole) and polynomial(parts[1]) == polynomial(by):
                        return quotient if name in _QUOTIENTS else rest
                return rebuilt(name, tuple(self._split(p) if p == _FLAT else p for p in parts))
        return add(mul(high, self.columns), x) if term == _FLAT else term

    def counts(self, kernel: Kernel, launch: Launch) -> dict[str, str]:
        """How many columns (`x`), rows (`y`) and layers (`z`) there are, as a launch can write it."""
        return at_launch(kernel, launch, {"x": self.columns, "y": self.rows, "z": self.layers})


def at_launch(kernel: Kernel, launch: Launch, counts: Mapping[str, Term]) -> dict[str, str]:
    """Terms over a kernel's arguments and named sizes, as a launch can write them. Raises `Refusal`."""
    names = {
        p.name: a if a.isidentifier() or a.isdigit() else f"({a})"
        for p, a in zip(kernel.parameters, launch.arguments, strict=False)
    }
    of_file = named_sizes(kernel)
    if missing := {n for t in counts.values() for n in variables(t)} - names.keys() - of_file:
        raise Refusal(f"the launch in line {launch.span.first_line} does not tell `{min(missing)}`")
    return {axis: c_text(term, names) for axis, term in counts.items()}


def flat_outputs(
    kernel: Kernel, model: Model, terms: list[Term], flat: Var, place: Mapping[str, Var]
) -> Iterator[FlatOutputs]:
    """How outputs of a kernel may be counted by `flat`, which its `terms` are over, the shortest rows first."""
    fixed = {p.name for p in kernel.parameters if not p.pointer} | named_sizes(kernel)
    fixed -= set(model.unknowns)
    parts = [part for term in terms for part in _parts(term) if set(variables(part.args[-1])) <= fixed]
    divided = [p for p in parts if p.name in (*_QUOTIENTS, *_REMAINDERS)]
    by = sorted(
        {normal(p.args[1]) for p in divided if p.args[0] == flat or _is_part(p.args[0], _REMAINDERS, flat)},
        key=lambda t: len(list(variables(t))),
    )
    ends = [p.args[1] for p in parts if p.name == "<" and p.args[0] == flat]
    for place_of, columns in enumerate(by):
        above = {
            normal(p.args[1])
            for p in divided
            if _is_part(p.args[0], _QUOTIENTS, flat)
            and isinstance(p.args[0], Op)
            and normal(p.args[0].args[1]) == columns
        }
        above |= {
            term_of(q)
            for t in by[place_of + 1 :]
            if (q := _divided(polynomial(t), polynomial(columns))) is not None
        }
        within = tuple(t for t in by[:place_of] if _divided(polynomial(columns), polynomial(t)) is not None)
        for end in ends:
            rest = _divided(polynomial(end), polynomial(columns))
            if rest is None or len(above) > 1:
                continue
            rows = next(iter(above)) if above else term_of(rest)
            layers = _divided(rest, polynomial(rows))
            if layers is not None:
                yield FlatOutputs(columns, rows, term_of(layers), place, within)
                break


def without_remainders(term: Term, of: Var) -> Term:
    """A term without remainders of a variable by numbers: `d // 9 * 9 + d // 3 % 3 * 3 + d % 3` is `d`."""
    if not isinstance(term, Op):
        return term
    args = tuple(without_remainders(a, of) for a in term.args)
    match term.name, args:
        case "%", (what, Num() as by) if of.name in variables(what):
            return sub(what, mul(without_remainders(Op("//", (what, by)), of), by))
        case "//", (Op("//", (what, Num(one))), Num(other)) if one > 0 and other > 0:
            return Op("//", (what, Num(one * other)))
    return rebuilt(term.name, args)


def _normal(term: Term) -> Term:
    """A term whose sums are normal, and those that it compares."""
    if isinstance(term, Op) and term.name in TRUTHS:
        return rebuilt(term.name, tuple(map(_normal, term.args)))
    return normal(term)


def _is_part(term: Term, names: tuple[str, ...], flat: Var) -> bool:
    return isinstance(term, Op) and term.name in names and term.args[0] == flat


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
