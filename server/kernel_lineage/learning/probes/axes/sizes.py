"""Sizes: every dimension by itself, then several at once, around the widths that the step's code speaks of."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

from kernel_gate.shapes import next_prime
from kernel_lineage.learning.probes.axis import Axis, Ground
from kernel_lineage.learning.probes.closing_in import middle
from kernel_lineage.learning.probes.setting import Setting

_SMALL = (1, 2, 3, 4, 5, 8, 12, 16)
_ROUND = (24, 31, 32, 33, 48, 64, 65, 100, 128, 129, 256, 257, 512)
_LARGE = (1000, 1024, 1025, 2048, 4096, 4100)
_POOLED = 160
_HINTED = 6
_TRIES = 12


def _around(width: int) -> Iterator[int]:
    yield from (width, width + 1, width - 1, 2 * width, 3 * width, width // 2)


def values_of(base: Setting, name: str, hinted: tuple[int, ...]) -> list[int]:
    """The extents that a dimension is moved to, the most telling first."""
    extent, least = base.dims[name], base.at_least(name)
    near = (extent + 1, extent - 1, extent + 2, next_prime(extent), 2 * extent, extent + 4, extent // 2 + 1)
    widths = [w for width in hinted[:_HINTED] for w in _around(width)]
    return [
        v for v in dict.fromkeys((*near, *(0,)[least:], *widths, *_SMALL, *_ROUND, *_LARGE)) if v >= least
    ]


def _boundaries(ground: Ground) -> Iterator[Setting]:
    base = ground.base
    yield base
    moves = {name: values_of(base, name, ground.hints.numbers) for name in base.dims}
    for position in range(max(map(len, moves.values()), default=0)):
        for name, values in moves.items():
            if position < len(values) and values[position] != base.dims[name]:
                yield base.at(**{name: values[position]})
    yield base.at(**{name: next_prime(extent) for name, extent in base.dims.items()})
    yield base.at(**dict.fromkeys(base.dims, 1))


def _pool(ground: Ground, chance: random.Random) -> Iterator[Setting]:
    base = ground.base
    for _ in range(_POOLED):
        dims = dict(base.dims)
        for name in chance.sample(sorted(dims), chance.randint(1, max(1, len(dims)))) if dims else ():
            dims[name] = _drawn(ground, name, chance)
        if len(dims) > 1 and not chance.randrange(4):
            one, other = chance.sample(sorted(dims), 2)
            dims[one] = _beside(dims[other], chance)
        yield base.at(**dims)


def _beside(extent: int, chance: random.Random) -> int:
    """An extent that has to do with another one: what relates two dimensions is rare among those drawn alone."""
    times = chance.choice((1, 1, 2, 3, 4))
    return max(1, chance.choice((extent * times, extent * times, extent // 2, extent + 1, extent - 1)))


def _drawn(ground: Ground, name: str, chance: random.Random) -> int:
    """An extent: any, one near a width, or a multiple of one."""
    widths = (4, 8, 16, 32, 64, 128, *ground.hints.numbers)
    most, least = max(4 * ground.base.dims[name], 300), ground.base.at_least(name)
    match chance.randrange(4):
        case 0:
            return chance.randint(least, most)
        case 1:
            return max(least, chance.choice(widths) + chance.randint(-2, 2))
        case 2:
            width = chance.choice(widths)
            return width * chance.randint(1, max(1, most // width))
        case _:
            return chance.randint(least, 40)


def _between(ground: Ground, name: str, low: float, high: float, chance: random.Random) -> Iterator[Setting]:
    if name in ground.base.dims:
        for extent in (middle(low, high), *(chance.uniform(low, high) for _ in range(_TRIES))):
            yield ground.base.at(**{name: int(extent)})
        for setting in itertools.islice(_pool(ground, chance), _TRIES):
            yield setting.at(**{name: int(chance.uniform(low, high))})


AXIS = Axis(
    title="Sizes",
    moves="Each dimension to its neighbours, primes, powers of two and one beside them, and to less than a tile.",
    boundaries=_boundaries,
    pool=_pool,
    between=_between,
)
