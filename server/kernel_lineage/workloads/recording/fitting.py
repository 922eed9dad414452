"""From quantities that were seen at several sizes to an expression over the sizes.

What launches are made of is products of sizes, their ceilings and floors, multiples, bounds and sums of a few products;
an expression counts when it gives every quantity that was seen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from math import ceil, floor, prod

from kernel_gate.expressions import ExpressionError, evaluate

Sample = tuple[Mapping[str, int], int]
_SHIFTS = (0, -1, 1, -2, 2)
_MOST_FACTORS = 4
_MOST_DIVISORS = 4
_MULTIPLES = (2, 3, 4, 5, 6, 7, 9, 10, 12)


def moving(samples: Sequence[Sample], ends: Collection[str] = ()) -> tuple[str, ...]:
    """The sizes that a quantity changes with, where runs differ in one alone but for `ends`: others decide them."""
    base, value = samples[0]
    names: dict[str, None] = {}
    for sizes, other in samples[1:]:
        changed = [n for n in base if n not in ends and sizes.get(n) != base[n]]
        if len(changed) == 1 and other != value:
            names[changed[0]] = None
    return tuple(n for n in base if n in names)


def expression(
    samples: Sequence[Sample], constants: Collection[int] = (), ends: Collection[str] = ()
) -> str | None:
    """An expression that gives the quantity at all sizes; None where none of the usual ones does.

    `constants` are numbers that are likely to divide, such as the extents of a block; `ends` are sizes that others
    decide, which no run changes alone.
    """
    value = samples[0][1]
    if all(other == value for _, other in samples):
        return str(value)
    same = (n for n in ends if all(sizes.get(n) == quantity for sizes, quantity in samples))
    if (name := next(same, None)) is not None:
        return name
    names = moving(samples, ends)
    if not names or len(names) > _MOST_FACTORS:
        return None
    for text in _candidates(names, samples, constants):
        if _gives(text, samples):
            return text
    return None


def _gives(text: str, samples: Sequence[Sample]) -> bool:
    try:
        return all(evaluate(text, sizes) == value for sizes, value in samples)
    except (ExpressionError, ArithmeticError):
        return False


def _candidates(
    names: tuple[str, ...], samples: Sequence[Sample], constants: Collection[int]
) -> Iterator[str]:
    if len(names) == 1 and all(quantity & (quantity - 1) == 0 for _, quantity in samples):
        # A grid of one or two blocks is shared out among threads.
        yield from (f"ceil_div({names[0]}, {c})" for c in constants if c > 1)
        # Before other quotients, which give powers of two by chance where runs are few.
        text = f"next_power_of_2({names[0]})"
        seen = [(int(evaluate(text, sizes)), quantity) for sizes, quantity in samples]
        yield from _scaled(text, seen, constants)
    yield from _products(names, samples, constants)
    # Some sizes multiply, and the others are divided on their own.
    for count in range(1, len(names)):
        for outer in combinations(names, count):
            inner = tuple(n for n in names if n not in outer)
            rest = _divided(samples, outer)
            if rest is not None:
                yield from (
                    f"{' * '.join(outer)} * {_bracketed(t)}" for t in _products(inner, rest, constants)
                )
    yield from _bounded(names, samples, constants)
    yield from _sums(names, samples)
    # Where cells begin: one more than there are of them.
    yield from (f"{text} + 1" for text in _products(names, [(d, q - 1) for d, q in samples], constants))


def _products(names: tuple[str, ...], samples: Sequence[Sample], constants: Collection[int]) -> Iterator[str]:
    for powers in product((1, 2, 3), repeat=len(names)):
        if sum(powers) > _MOST_FACTORS:
            continue
        for shift in _SHIFTS:
            shown = [f"({n} {'+' if shift > 0 else '-'} {abs(shift)})" if shift else n for n in names]
            text = " * ".join(s for s, p in zip(shown, powers, strict=True) for _ in range(p))
            values = [
                prod((d[n] + shift) ** p for n, p in zip(names, powers, strict=True)) for d, _ in samples
            ]
            if all(values):
                yield from _scaled(
                    text, [(v, q) for v, (_, q) in zip(values, samples, strict=True)], constants
                )


def _scaled(text: str, seen: Sequence[tuple[int, int]], constants: Collection[int]) -> Iterator[str]:
    """What makes `value` to `quantity`: a factor, a divisor, or a factor of a ceiling."""
    factors = {q / v for v, q in seen}
    if len(factors) == 1 and (one := factors.pop()) == int(one) and one:
        yield text if one == 1 else f"{text} * {int(one)}"
        return
    for times in dict.fromkeys((1, *sorted(constants, reverse=True))):
        if times < 1 or any(q % times for _, q in seen):
            continue
        parts = [(v, q // times) for v, q in seen]
        front = f"{times} * " if times > 1 else ""
        for divisor in _divisors(parts, constants, up=True):
            yield f"{front}ceil_div({text}, {divisor})"
        for divisor in _divisors(parts, constants, up=False):
            yield f"{front}({text} // {divisor})" if front else f"{text} // {divisor}"
    # Three numbers for each of so many elements, shared out among blocks.
    for times in _MULTIPLES:
        for divisor in _divisors([(v * times, q) for v, q in seen], constants, up=True):
            yield f"ceil_div({text} * {times}, {divisor})"


def _divisors(seen: Sequence[tuple[int, int]], constants: Collection[int], *, up: bool) -> Iterator[int]:
    """Whole numbers by which every value gives its quantity, rounded up or down; powers of two first."""
    low, high = 2, 1 << 40
    for value, quantity in seen:
        if quantity < 0 or value <= 0:
            return
        if up:  # ceil(v / d) == q, so v / q <= d < v / (q - 1)
            low = max(low, ceil(value / quantity) if quantity else high + 1)
            high = min(high, ceil(value / (quantity - 1)) - 1 if quantity > 1 else high)
        else:  # floor(v / d) == q, so v / (q + 1) < d <= v / q
            low = max(low, floor(value / (quantity + 1)) + 1)
            high = min(high, floor(value / quantity) if quantity else high)
    if low > high:
        return
    likely = [c for c in dict.fromkeys(constants) if low <= c <= high]
    powers = [1 << k for k in range(1, 21) if low <= 1 << k <= high]
    yield from list(dict.fromkeys((*likely, *powers, low)))[:_MOST_DIVISORS]


def _bounded(names: tuple[str, ...], samples: Sequence[Sample], constants: Collection[int]) -> Iterator[str]:
    """The largest or the smallest quantity as a bound of what the others give."""
    values = [q for _, q in samples]
    for bound, word in ((max(values), "min"), (min(values), "max")):
        free = [s for s in samples if s[1] != bound]
        if len(free) > 1 and len({q for _, q in free}) > 1:
            yield from (f"{word}({text}, {bound})" for text in _products(names, free, constants))


def _sums(names: tuple[str, ...], samples: Sequence[Sample]) -> Iterator[str]:
    """Sums of products: exact where runs have every corner of sizes, else over one size: a line."""
    if len(names) == 1:
        (name,) = names
        points = sorted({(d[name], q) for d, q in samples})
        (x0, y0), (x1, y1) = points[0], points[-1]
        slope = (y1 - y0) / (x1 - x0)
        if slope == int(slope) and slope:
            front = name if slope == 1 else f"{int(slope)} * {name}"
            rest = y0 - int(slope) * x0
            yield f"{front} {'+' if rest > 0 else '-'} {abs(rest)}"
        return
    # Each size adds on its own: q = c + sum of c_n * n.
    base, value = samples[0]
    slopes: dict[str, int] = {}
    for name in names:
        other = next(
            ((d, q) for d, q in samples if all((d[n] == base[n]) == (n != name) for n in base)), None
        )
        if other is None:
            return
        slope = (other[1] - value) / (other[0][name] - base[name])
        if slope != int(slope):
            return
        slopes[name] = int(slope)
    rest = value - sum(c * base[n] for n, c in slopes.items())
    parts = [n if c == 1 else f"{c} * {n}" for n, c in slopes.items()]
    yield " + ".join([*parts, str(rest)] if rest else parts)


def _divided(samples: Sequence[Sample], names: Iterable[str]) -> list[Sample] | None:
    """The samples with the quantity over a product of sizes; None where it is no multiple of it."""
    result: list[Sample] = []
    for sizes, value in samples:
        over = prod(sizes[n] for n in names)
        if not over or value % over:
            return None
        result.append((sizes, value // over))
    return result


def _bracketed(text: str) -> str:
    return text if text.startswith("ceil_div(") else f"({text})"


def factors(text: str) -> tuple[str, ...]:
    """The extents that a product is made of; another expression is one extent."""
    parts, depth, start = [], 0, 0
    for place, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if depth == 0 and text[place : place + 3] == " * ":
            parts.append(text[start:place])
            start = place + 3
        elif depth == 0 and text[place : place + 3] in (" + ", " - ", " //"):
            return (text,)
    return tuple(p for p in (*parts, text[start:]) if p != "1") or ("1",)
