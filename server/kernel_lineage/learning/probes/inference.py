"""From probes to predicates: which conjunction of atoms parts what agrees from what fails, and which others would too.

A valid atom is true wherever the later state agreed. A hypothesis is a cover: each failing probe breaks one of its
atoms.
Truths over all probes are bits of one integer, so that thousands of atoms are compared in milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from kernel_lineage.learning.probes.hints import Hints
from kernel_lineage.learning.probes.predicates import Atom, FactValues, atoms

_MOST_ATOMS = 3
"""The most atoms of one conjunction: what needs more is no finding but a table."""
_MOST_RIVALS = 200
_MOST_FIRST, _MOST_SECOND = 30, 400
"""How many are tried as a disjunction's likelier part, and as the other."""
_OR_COST = 2.0
_FOR_ONE = 1.1
"""What one predicate may cost, as a share of several that say the same."""
_SLACK = 12
"""One in so many agreeing probes may break a bound on values, which is none too sharp."""

_FEW, _PLAINER = 2, 1.4
"""Cases in doubt at most, and how much plainer it would be without them."""
_LEAST_OF_A_SPAN, _SPAN_COST = 3, 1.5
"""Failures beyond a bound on values that end again further out: the fewest that show it, and what it costs."""


@dataclass(frozen=True, slots=True)
class Explained:
    """What parts the failing probes from the others, and what else would."""

    parts: tuple[Atom, ...]
    rivals: tuple[tuple[Atom, ...], ...]
    """Other conjunctions that the same probes allow."""

    def holds(self, facts: FactValues) -> bool:
        """Whether every part holds."""
        return all(part.test(facts) for part in self.parts)


def explain(agreed: Sequence[FactValues], failed: Sequence[FactValues], hints: Hints) -> Explained | None:
    """The cheapest conjunction that all agreeing probes keep and each failing one breaks; None when there is none."""
    points = [*agreed, *failed]
    if not failed or not agreed:
        return None
    all_agreed = (1 << len(agreed)) - 1
    valid: list[tuple[Atom, int]] = []
    halves: list[tuple[Atom, int]] = []
    for atom in atoms(points, hints):
        truths = _truths(atom.test, points)
        broken = ~(truths >> len(agreed)) & ((1 << len(failed)) - 1)
        missed = (~truths & all_agreed).bit_count()
        if broken and missed and not atom.exact:
            atom, missed = _saturating(atom, agreed, failed)
        if broken and missed <= (0 if atom.exact else len(agreed) // _SLACK):
            valid.append((replace(atom, cost=atom.cost * (1 + missed)), broken))
        elif broken:
            halves.append((atom, truths))
    everything = (1 << len(failed)) - 1
    cover = _cover(valid, everything)
    if cover is None:
        valid += _either(halves, all_agreed, len(agreed), everything)
        cover = _cover(valid, everything)
    if cover is None:
        return None
    return Explained(tuple(atom for atom, _ in cover), tuple(_rivals(cover, valid, everything)))


def in_doubt(
    agreed: Sequence[FactValues], failed: Sequence[FactValues], hints: Hints, explained: Explained
) -> list[FactValues]:
    """The few agreeing cases but for which something much plainer would say it all: they may be right by luck.

    Plainer than several predicates is one, and than a bound another one on the same.
    """
    points = [*agreed, *failed]
    cost = sum(part.cost for part in explained.parts)
    first, *more = explained.parts
    bounded = first.bound.name if first.bound is not None else ""
    several = bool(more) or " or " in first.expr
    for atom in atoms(points, hints) if several or bounded else ():
        if atom.cost * _PLAINER > cost:
            break
        fits = several or (atom.bound is not None and atom.bound.name == bounded)
        if fits and atom.exact and all(atom.broken_by(p) for p in failed):
            against = list({repr(p): p for p in agreed if atom.broken_by(p)}.values())
            if 0 < len(against) <= _FEW:
                return against
    return []


def _saturating(atom: Atom, agreed: Sequence[FactValues], failed: Sequence[FactValues]) -> tuple[Atom, int]:
    """A bound on values with how far out what breaks it fails, and the agreeing cases on the way there that break it.

    Where values are so large that both states end up with the same limit, they agree again.
    """
    missed = [p for p in agreed if atom.broken_by(p)]
    bound = atom.bound
    out = [bound.of(p) for p in failed if atom.broken_by(p)] if bound is not None else []
    if bound is None or len(out) < _LEAST_OF_A_SPAN:
        return atom, len(missed)
    past = replace(atom, until=max(out) if bound.upper else min(out), cost=atom.cost * _SPAN_COST)
    within = sum(not past.is_past(p) for p in missed)
    return (past if within < len(missed) else atom), within


def _truths(test: Callable[[FactValues], bool], points: Sequence[FactValues]) -> int:
    bits = 0
    for position, point in enumerate(points):
        if test(point):
            bits |= 1 << position
    return bits


def _cover(valid: Sequence[tuple[Atom, int]], everything: int) -> list[tuple[Atom, int]] | None:
    """Atoms that break every failing probe together: greedily, most probes for the cost, none that is not needed."""
    chosen: list[tuple[Atom, int]] = []
    left = everything
    while left:
        best = max(valid, key=lambda v: ((v[1] & left).bit_count() / v[0].cost, -v[0].cost), default=None)
        if best is None or not best[1] & left or len(chosen) == _MOST_ATOMS:
            return None
        chosen.append(best)
        left &= ~best[1]
    for item in list(chosen):
        others = [c for c in chosen if c is not item]
        if others and _union(others) == everything:
            chosen = others
    single = next((v for v in valid if v[1] == everything), None)
    if single is not None and len(chosen) > 1 and single[0].cost <= _FOR_ONE * sum(a.cost for a, _ in chosen):
        chosen = [single]
    return chosen


def _union(chosen: Sequence[tuple[Atom, int]]) -> int:
    result = 0
    for _, broken in chosen:
        result |= broken
    return result


def _either(
    halves: Sequence[tuple[Atom, int]], all_agreed: int, agreed: int, everything: int
) -> list[tuple[Atom, int]]:
    """Disjunctions of two atoms of which neither is valid alone: a path that is right for other reasons.

    Of the cheapest, and of the cheapest of those that no failing probe keeps: they are what most often makes one.
    """
    never = [h for h in halves if not h[1] >> agreed]
    others = [h for h in halves if h[1] >> agreed]
    seconds = [*never[:_MOST_SECOND], *others[:_MOST_SECOND]]
    disjunctions = []
    for first, first_truths in (*never[:_MOST_FIRST], *others[:_MOST_FIRST]):
        for second, second_truths in seconds:
            if second.cost < first.cost or second is first:
                continue
            truths = first_truths | second_truths
            broken = ~(truths >> agreed) & everything
            if truths & all_agreed == all_agreed and broken:
                cost = (first.cost + second.cost) * _OR_COST
                disjunctions.append(
                    (Atom(f"{first.expr} or {second.expr}", cost, _or(first, second)), broken)
                )
    return sorted(disjunctions, key=lambda f: (f[0].cost, f[0].expr))


def _or(first: Atom, second: Atom) -> Callable[[FactValues], bool]:
    return lambda point: first.test(point) or second.test(point)


def _rivals(
    cover: Sequence[tuple[Atom, int]], valid: Sequence[tuple[Atom, int]], everything: int
) -> list[tuple[Atom, ...]]:
    """Covers with one atom replaced, cheapest first."""
    covers: list[tuple[Atom, ...]] = []
    for position, item in enumerate(cover):
        others = [c for c in cover if c is not item]
        needed = everything & ~_union(others)
        for atom, broken in valid:
            if broken & needed == needed and atom is not item[0]:
                covers.append(
                    (*(a for a, _ in cover[:position]), atom, *(a for a, _ in cover[position + 1 :]))
                )
    return sorted(covers, key=lambda atoms: (sum(a.cost for a in atoms), [a.expr for a in atoms]))[
        :_MOST_RIVALS
    ]
