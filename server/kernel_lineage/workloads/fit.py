"""From extents that were seen at some sizes to an expression over the sizes: a product, else a sum of products."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import ceil, prod

Sizes = Mapping[str, int]
MOST_TIMES = 3
"""How many times as large as at first a size is, at the most, in the runs that tell an extent."""
_MOST_DIMS = 4
"""In a sum: it takes two runs for each dim."""
_LARGEST_DIVISOR = 4096


class NoFitError(Exception):
    """No expression gives the extents that were seen."""


def sizes_for_products(base: Sizes, steady: Collection[str] = ()) -> list[dict[str, int]]:
    """The sizes that tell a product: the base, each dim doubled, and last one that it is tried on.

    Dims that are `steady` divide others, and are as they were in the last one.
    """
    free = [name for name in base if name not in steady]
    ends = {*free[:1], *free[-1:]}
    tried = {name: size * (MOST_TIMES if name in ends else 1) for name, size in base.items()}
    return [dict(base), *({**base, name: 2 * size} for name, size in base.items()), tried]


def sizes_for_sums(base: Sizes, seen: Callable[[Sizes], int]) -> list[dict[str, int]]:
    """The sizes that tell a sum of products besides: each set of dims doubled by which the extent changes.

    Raises `NoFitError` for too many.
    """
    moving = _moving(base, seen)
    if len(moving) > _MOST_DIMS:
        raise NoFitError(f"a sum over {len(moving)} dims takes too many runs")
    return [_doubled(base, chosen) for chosen in _subsets(moving)]


def _moving(base: Sizes, seen: Callable[[Sizes], int]) -> list[str]:
    """The dims by which the extent changes where each of them alone is doubled."""
    return [n for n in base if seen(_doubled(base, (n,))) != seen(base)]


def _doubled(base: Sizes, names: Collection[str]) -> dict[str, int]:
    return {n: size * (2 if n in names else 1) for n, size in base.items()}


def fitted(base: Sizes, tried: Sizes, seen: Callable[[Sizes], int]) -> tuple[str, ...]:
    """The extents of a buffer of which `seen` tells how many elements are reached at some sizes.

    `tried` are the sizes that an expression is tried on.

    `seen` raises `KeyError` for sizes that were not tried. Raises `NoFitError`.
    """
    if seen(base) == 0:
        raise NoFitError("nothing is reached at the first sizes")
    product = _product(base, seen)
    if product is not None and _product_at(product, tried) == seen(tried):
        return _written(*product)
    try:
        terms = _sum(base, seen)
    except KeyError as error:
        raise NoFitError("what is reached is no product of the dims") from error
    if sum(c * prod(tried[n] for n in names) for names, c in terms.items()) != seen(tried):
        raise NoFitError("what is reached is no sum of products of the dims")
    parts = [_term(names, c) for names, c in terms.items() if c]
    return (" + ".join(parts),)


_Product = tuple[dict[str, int], Fraction]
"""Dim → its power, and the coefficient."""
_POWERS = {Fraction(1, 2): -1, Fraction(1): 0, Fraction(2): 1, Fraction(4): 2}
"""How many times as far is reached where a dim is doubled → its power in the product."""


def _product(base: Sizes, seen: Callable[[Sizes], int]) -> _Product | None:
    whole = seen(base)
    powers: dict[str, int] = {}
    for name, size in base.items():
        ratio = Fraction(seen({**base, name: 2 * size}), whole)
        if ratio not in _POWERS:
            return None
        powers[name] = _POWERS[ratio]
    coefficient = whole / prod((Fraction(base[n]) ** p for n, p in powers.items()), start=Fraction(1))
    return (powers, coefficient) if coefficient.denominator <= _LARGEST_DIVISOR else None


def _product_at(product: _Product, sizes: Sizes) -> int:
    powers, coefficient = product
    factors = (Fraction(sizes[name]) ** power for name, power in powers.items())
    return ceil(coefficient * prod(factors, start=Fraction(1)))


def _written(powers: Mapping[str, int], coefficient: Fraction) -> tuple[str, ...]:
    factors = [name for name, power in powers.items() for _ in range(power)]
    under = [name for name, power in powers.items() if power < 0]
    if coefficient.denominator > 1:
        under.append(str(coefficient.denominator))
    if under:
        over = [*([str(coefficient.numerator)] if coefficient.numerator > 1 or not factors else []), *factors]
        return (f"ceil_div({' * '.join(over)}, {' * '.join(under)})",)
    if coefficient != 1 or not factors:
        factors.append(str(coefficient.numerator))
    return tuple(factors)


def _subsets(names: Sequence[str]) -> list[tuple[str, ...]]:
    return [chosen for size in range(len(names) + 1) for chosen in combinations(names, size)]


def _sum(base: Sizes, seen: Callable[[Sizes], int]) -> dict[tuple[str, ...], int]:
    """The coefficients of the multilinear polynomial through all corners; a doubled dim adds its own size."""
    at = {chosen: seen(_doubled(base, chosen)) for chosen in _subsets(_moving(base, seen))}
    steps = {
        chosen: sum(
            (-1) ** (len(chosen) - len(inner)) * value
            for inner, value in at.items()
            if set(inner) <= set(chosen)
        )
        for chosen in at
    }
    # A step over a set of dims is what the terms that hold all of them give; the largest sets come first.
    terms: dict[tuple[str, ...], int] = {}
    for chosen in sorted(steps, key=len, reverse=True):
        larger = sum(
            c * prod(base[n] for n in names) for names, c in terms.items() if set(names) > set(chosen)
        )
        own = Fraction(steps[chosen] - larger, prod(base[n] for n in chosen))
        if own.denominator != 1:
            raise NoFitError("what is reached is no sum of products of the dims")
        terms[chosen] = int(own)
    return terms


def _term(names: tuple[str, ...], coefficient: int) -> str:
    factors = [*names, *([str(coefficient)] if coefficient != 1 or not names else [])]
    return " * ".join(factors)
