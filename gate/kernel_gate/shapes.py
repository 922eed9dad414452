"""The shapes that a program is checked on: those that a workload names, and hidden ones around them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping

from kernel_gate.expressions import ExpressionError
from kernel_gate.workload import Workload

MOST_WATCHED = 1 << 18
"""Elements of all buffers of a case that sanitizers watch, at most; one case of more where none is smaller."""
_NEAR = 5
"""How far from a named extent a neighbour is drawn, at most."""
_SEARCH = 64
"""How far from a wanted extent one that keeps the promises is looked for."""


def next_prime(n: int) -> int:
    """The smallest prime above n."""
    candidate = max(2, n + 1)
    while any(candidate % d == 0 for d in range(2, math.isqrt(candidate) + 1)):
        candidate += 1
    return candidate


def elements(workload: Workload, dims: Mapping[str, int]) -> int:
    """Elements of all buffers together: the size of a shape."""
    return workload.elements(dims)


def is_valid(workload: Workload, dims: Mapping[str, int]) -> bool:
    """Whether a shape keeps the workload's promises, has elements, and gives each number and index a value."""
    try:
        workload.scalars(dims)
        return workload.keeps_promises(dims) and elements(workload, dims) > 0 and workload.has_values(dims)
    except ExpressionError:
        return False


def hidden_shapes(workload: Workload, seed: int) -> list[dict[str, int]]:
    """Shapes around the named ones that keep the workload's promises: 1, drawn neighbours and primes; smallest first.

    Where promises exclude a neighbour, the nearest shape that keeps them takes its place.
    """
    drawn = random.Random(seed)
    named = [d for d in workload.shapes() if is_valid(workload, d)]
    if not named:
        return []
    base = min(named, key=lambda d: elements(workload, d))
    proposals: list[dict[str, int]] = []
    for name, extents in workload.dims.items():
        small = min((e for e in extents if e > 1), default=max(extents))
        above, below = small + drawn.randint(1, _NEAR), max(1, small - drawn.randint(1, _NEAR))
        prime = next_prime(small + drawn.randint(2, max(2, small // 2)))
        for wanted, step in ((1, 1), (above, 1), (below, -1), (prime, 1)):
            proposals += nearest(workload, base, name, wanted, step)
    primes = {n: next_prime(e + drawn.randint(0, e // 4)) for n, e in base.items()}
    proposals += [d for d in [primes] if is_valid(workload, d)]
    shapes = [dict(d) for d in named]
    fresh: list[dict[str, int]] = []
    for dims in proposals:
        if dims not in shapes and dims not in fresh:
            fresh.append(dims)
    return sorted(fresh, key=lambda d: elements(workload, d))


def ragged_beyond(
    workload: Workload, dims: Mapping[str, int], usual: Mapping[str, int], seed: int
) -> list[dict[str, int]]:
    """The shape that has a prime, up to a quarter above, for each extent of `dims` that is longer than `usual`.

    A loop that a longer extent enters may leave its last elements. None where no extent is longer, or where promises
    exclude it.
    """
    drawn = random.Random(seed)
    ragged = {**dims}
    for name, extent in dims.items():
        if extent > usual[name]:
            ragged[name] = next_prime(extent + drawn.randint(0, extent // 4))
            ragged = next(iter(nearest(workload, ragged, name, ragged[name], 1)), ragged)
    return [ragged] if ragged != dims and is_valid(workload, ragged) else []


def nearest(
    workload: Workload, base: Mapping[str, int], name: str, wanted: int, step: int
) -> list[dict[str, int]]:
    """The first valid shape with another extent of one dim, from `wanted` on by `step`; none where none is near."""
    for offset in range(_SEARCH):
        extent = wanted + step * offset
        if extent < 1:
            break
        dims = {**base, name: extent}
        if is_valid(workload, dims):
            return [dims]
    return []


def first_extent(holds: Callable[[int], bool], low: int, most: int) -> int | None:
    """The first extent from which something holds that does not hold at `low`, by halves; None: not up to about `most`.

    What holds is taken to hold for all larger ones.
    """
    high = low
    while not holds(high):
        if high > most:
            return None
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def named_shapes(workload: Workload) -> list[dict[str, int]]:
    """The shapes that the workload names and that keep its promises, smallest first."""
    valid = (d for d in workload.shapes() if is_valid(workload, d))
    return sorted(valid, key=lambda d: elements(workload, d))


def typical_shape(named: list[dict[str, int]]) -> dict[str, int]:
    """The smallest named shape with no extent of 1, else the largest of the smaller half."""
    return next((d for d in named if min(d.values(), default=2) > 1), named[len(named) // 2])
