"""Candidate predicates: the small grammar in which what probes show is said, cheapest first.

Over whole numbers: `d % k == 0`, `d >= k`, `d <= k`, `d == k`, `is_power_of_2(d)`, products of two, relations between
two facts, and sums of two within a third. Over truths: the fact or its negation; over texts: `x in (…)`; over
intervals: bounds of every value.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kernel_lineage.learning.probes.hints import Hints
from kernel_lineage.skills.conditions.facts import Scalar
from kernel_lineage.skills.conditions.names import declared, split_fact

FactValues = Mapping[str, Scalar]
_DIVISORS = (2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048)
_COST_OF_ZERO = 1.8
"""The cost of a bound on values at 0, where signs change."""
_COST_OF_ONE = 2.4
"""The cost of `G == 1` and `O == 0`: that there is but one of something, or none, says more than any other number."""
_PRODUCT_DIVISORS = (2, 4, 8, 16, 32)
_DERIVED = 1.3
"""Times the cost, of relations to the grid and the like, which follow from sizes: those say the same more plainly."""
_FACTORS = (1, 2, 4, 8)
"""Vector widths by which a block's size is multiplied in a relation."""
LEAST_NORMAL = 2.0**-126
"""The least normal number of float32: no tolerance tells what is smaller from 0."""
_SHORT = 0.003
"""The share by which a bound on values may be tighter than what was seen, to be said with fewer digits."""


@dataclass(frozen=True, slots=True)
class Bound:
    """What an atom bounds, where it bounds one number."""

    name: str
    """The fact."""
    value: float
    upper: bool
    end: int | None = None
    """Which end of an interval; None for a number."""

    def of(self, facts: FactValues) -> float:
        """The bounded number."""
        value: Any = facts[self.name]
        return float(value if self.end is None else value[self.end])


@dataclass(frozen=True)
class Atom:
    """One predicate, as text of the condition language and as what decides it quickly."""

    expr: str
    cost: float
    """What it takes to believe it: less for what the code or the mechanism suggests."""
    test: Callable[[FactValues], bool]
    exact: bool = True
    """False for a bound on values: some that break it come out right, because others in the row are small."""
    bound: Bound | None = None
    until: float | None = None
    """Where what breaks a bound on values was last seen to fail; beyond, cases were right again."""

    def is_past(self, facts: FactValues) -> bool:
        """Whether a case breaks a bound on values further out than any that fails: numerics saturate, so it says
        nothing against the bound.
        """
        if self.until is None or self.bound is None or not self.broken_by(facts):
            return False
        beyond = self.bound.of(facts) - self.until
        return beyond > 0 if self.bound.upper else beyond < 0

    def broken_by(self, facts: FactValues) -> bool:
        """Whether it fails, as far as these facts tell."""
        try:
            return not self.test(facts)
        except KeyError:
            return False


def atoms(points: Sequence[FactValues], hints: Hints) -> list[Atom]:
    """Predicates over the facts that every point has and that vary, by cost and then by text."""
    shared = [name for name in points[0] if all(name in p for p in points)] if points else []
    varying = [n for n in shared if len({repr(p[n]) for p in points}) > 1]
    numbers = [n for n in shared if all(type(p[n]) is int for p in points)]
    by_expr: dict[str, Atom] = {}
    for atom in itertools.chain(
        *(_over_number(n, points, hints) for n in varying if n in numbers),
        _over_two(numbers, varying, hints),
        _over_three(numbers, varying),
        *(_over_other(n, points) for n in varying if n not in numbers),
    ):
        if atom.expr not in by_expr or atom.cost < by_expr[atom.expr].cost:
            by_expr[atom.expr] = atom
    typical = dict.fromkeys(hints.typical, 0.5)
    cheap = [replace(a, cost=a.cost * typical.get(a.expr, 1.0)) for a in by_expr.values()]
    return sorted(cheap, key=lambda a: (a.cost, a.expr))


def _over_number(name: str, points: Sequence[FactValues], hints: Hints) -> Iterator[Atom]:
    values = sorted({int(p[name]) for p in points})  # type: ignore[arg-type]
    if split_fact(name)[0] == "align":
        yield from (Atom(f"{name} >= {k}", 1.0, _at_least(name, k)) for k in values)
        return
    weight = 1.0 if declared(name) is None else 1.5
    for k in sorted({*_DIVISORS, *(h for h in hints.numbers if h > 1)}):
        likely = 1.0 if k in hints.numbers else 1.5 if k & (k - 1) == 0 else 3.0
        if k <= values[-1]:
            yield Atom(f"{name} % {k} == 0", likely * weight, _multiple(name, k))
    for k in _thresholds(values, hints.numbers):
        likely = 2.0 if k in hints.numbers else 3.0
        yield Atom(f"{name} >= {k}", likely * weight, _at_least(name, k), bound=Bound(name, k, upper=False))
        yield Atom(f"{name} <= {k}", likely * weight, _at_most(name, k), bound=Bound(name, k, upper=True))
    for k in values:
        yield Atom(f"{name} == {k}", (_COST_OF_ONE if k in (0, 1) else 5.0) * weight, _equal(name, k))
    yield Atom(f"is_power_of_2({name})", 2.5 * weight, _power_of_2(name))


def _thresholds(values: Sequence[int], hinted: Collection[int]) -> list[int]:
    """Every value seen, its neighbours, halves of the gaps between, and what the code suggests."""
    middles = {(a + b) // 2 for a, b in itertools.pairwise(values)}
    near = {v + d for v in values for d in (-1, 0, 1)}
    return sorted(k for k in {*near, *middles, *hinted} if k >= 1)


def _over_two(numbers: Sequence[str], varying: Collection[str], hints: Hints) -> Iterator[Atom]:
    for a, b in itertools.permutations(numbers, 2):
        if a not in varying and b not in varying:
            continue
        plain = declared(a) is None
        if plain:
            more = 1.0 if declared(b) is None or split_fact(b)[0] == "launch.block.x" else _DERIVED
            yield Atom(f"{a} >= {b}", 3.0 * more, _relation(a, b, lambda x, y: x >= y))
            yield Atom(f"{a} <= {b}", 3.0 * more, _relation(a, b, lambda x, y: x <= y))
            if a < b:
                yield Atom(f"{a} == {b}", 4.0 * more, _relation(a, b, lambda x, y: x == y))
            for factor in _FACTORS:
                times = f" * {factor}" if factor > 1 else ""
                unit = f"({b}{times})" if times else b
                yield Atom(f"{a} % {unit} == 0", (2.6 + factor / 100) * more, _multiple_of(a, b, factor))
                if factor > 1:
                    yield Atom(f"{a} <= {b}{times}", (3.2 + factor / 100) * more, _bounded_by(a, b, factor))
        if plain and split_fact(b)[0] == "launch.block.x":
            for k in (2, 4, 8):
                yield Atom(f"ceil_div({a}, {b}) % {k} == 0", 3.2, _blocks_multiple(a, b, k))
        if a < b and plain and declared(b) is None:
            for k in sorted({*_PRODUCT_DIVISORS, *(h for h in hints.numbers if 1 < h <= 1024)}):
                yield Atom(f"{a} * {b} % {k} == 0", 2.8, _product_multiple(a, b, k))


def _over_three(numbers: Sequence[str], varying: Collection[str]) -> Iterator[Atom]:
    """A sum within a bound: positions from an offset on, in a table of a certain length."""
    plain = [n for n in numbers if declared(n) is None]
    for a, b in itertools.combinations(plain, 2):
        for c in plain:
            if c not in (a, b) and {a, b, c} & set(varying):
                yield Atom(f"{a} + {b} <= {c}", 3.3, _sum_within(a, b, c))


def _over_other(name: str, points: Sequence[FactValues]) -> Iterator[Atom]:
    values = {p[name] for p in points}
    if all(isinstance(v, bool) for v in values):
        yield Atom(name, 1.0, lambda p: p[name] is True)
        yield Atom(f"not {name}", 2.0, lambda p: p[name] is False)
    elif all(isinstance(v, str) for v in values):
        texts = sorted(str(v) for v in values)
        for count in range(1, len(texts)):
            for chosen in itertools.combinations(texts, count):
                yield Atom(_among(name, chosen), 1.0 + count / 10, _in(name, chosen))
    elif split_fact(name)[0] == "device.compute_capability":
        for version in sorted(values, key=str):
            yield Atom(f"{name} >= {version}", 1.0, _from_version(name, version))
    elif all(isinstance(v, tuple) and len(v) == 2 for v in values):
        yield from _over_interval(name, points)


def _from_version(name: str, version: Scalar) -> Callable[[FactValues], bool]:
    return lambda p: p[name] >= version  # type: ignore[operator]


def _over_interval(name: str, points: Sequence[FactValues]) -> Iterator[Atom]:
    """Bounds between the values that were seen, by few digits."""
    whole = all(isinstance(number, int) for p in points for number in p[name])  # type: ignore[union-attr]
    for end, op, weight in ((1, "<=", 2.0), (0, ">=", 2.2)):
        seen = sorted({float(p[name][end]) for p in points})  # type: ignore[index]
        for low, high in itertools.pairwise(seen):
            below = op == "<="
            bound = (low if below else high) if whole else _short_between(low, high, below=below)
            test = _at_most_all(name, bound) if op == "<=" else _at_least_all(name, bound)
            limit = Bound(name, bound, op == "<=", end)
            yield Atom(f"{name} {op} {bound:g}", weight, test, exact=False, bound=limit)
    for end, op, is_within in ((1, "<=", _at_most_all), (0, ">=", _at_least_all)):
        tiny = LEAST_NORMAL if op == "<=" else -LEAST_NORMAL
        yield Atom(
            f"{name} {op} 0", _COST_OF_ZERO, is_within(name, tiny), False, Bound(name, 0.0, op == "<=", end)
        )
    yield Atom(f"{name} > 0", 2.0, lambda p: p[name][0] > 0)  # type: ignore[index,operator]


def _short_between(low: float, high: float, *, below: bool) -> float:
    """A number of few digits that parts two: close to the low one for an upper bound, else to the high one."""
    near = (high - low) / 4
    short = _SHORT * abs(low if below else high)
    for digits in range(1, 12):
        shown = float(f"{low if below else high:.{digits}g}")
        if (low - short <= shown <= low + near) if below else (high - near <= shown <= high + short):
            return shown
    return low if below else high


def _among(name: str, chosen: Sequence[str]) -> str:
    return f"{name} == {chosen[0]}" if len(chosen) == 1 else f"{name} in ({', '.join(chosen)})"


def _int(point: FactValues, name: str) -> int:
    value = point[name]
    if not isinstance(value, int):
        raise TypeError(f"{name} is no whole number")
    return value


def _multiple(name: str, k: int) -> Callable[[FactValues], bool]:
    return lambda p: _int(p, name) % k == 0


def _at_least(name: str, k: int) -> Callable[[FactValues], bool]:
    return lambda p: _int(p, name) >= k


def _at_most(name: str, k: int) -> Callable[[FactValues], bool]:
    return lambda p: _int(p, name) <= k


def _equal(name: str, k: int) -> Callable[[FactValues], bool]:
    return lambda p: _int(p, name) == k


def _power_of_2(name: str) -> Callable[[FactValues], bool]:
    return lambda p: _int(p, name) > 0 and _int(p, name) & (_int(p, name) - 1) == 0


def _relation(a: str, b: str, test: Callable[[int, int], bool]) -> Callable[[FactValues], bool]:
    return lambda p: test(_int(p, a), _int(p, b))


def _multiple_of(a: str, b: str, factor: int) -> Callable[[FactValues], bool]:
    return lambda p: _int(p, b) != 0 and _int(p, a) % (_int(p, b) * factor) == 0


def _bounded_by(a: str, b: str, factor: int) -> Callable[[FactValues], bool]:
    return lambda p: _int(p, a) <= _int(p, b) * factor


def _blocks_multiple(a: str, b: str, k: int) -> Callable[[FactValues], bool]:
    return lambda p: _int(p, b) != 0 and -(-_int(p, a) // _int(p, b)) % k == 0


def _product_multiple(a: str, b: str, k: int) -> Callable[[FactValues], bool]:
    return lambda p: _int(p, a) * _int(p, b) % k == 0


def _sum_within(a: str, b: str, c: str) -> Callable[[FactValues], bool]:
    return lambda p: _int(p, a) + _int(p, b) <= _int(p, c)


def _in(name: str, chosen: Sequence[str]) -> Callable[[FactValues], bool]:
    return lambda p: p[name] in chosen


def _at_most_all(name: str, bound: float) -> Callable[[FactValues], bool]:
    return lambda p: p[name][1] <= bound  # type: ignore[index,operator]


def _at_least_all(name: str, bound: float) -> Callable[[FactValues], bool]:
    return lambda p: p[name][0] >= bound  # type: ignore[index,operator]
