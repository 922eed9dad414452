"""Sizes for the dims of a draft that no code tells, and small ones to try a kernel at.

A first plan has small sizes that differ; a second one multiples of 64, for kernels that only take whole tiles; a third
one a short last dim; a fourth one single digits, where the code gives buffers large other extents. Where a caller
goes through a list of sizes, those of the list are taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from types import MappingProxyType

from kernel_lineage.workloads.device_size import CHECKED, counts_multiprocessors

_FEW = frozenset({"nh", "h", "heads", "num_heads", "n_heads", "nheads", "groups", "num_groups"})
"""Names of dims that divide another one."""
_BATCH = frozenset({"b", "batch", "batch_size", "bs", "bsz"})
"""Names of dims that are small although nothing divides by them."""
_USUAL: tuple[tuple[str, int], ...] = (
    ("pad", 1), ("stride", 1), ("dilation", 1), ("kernel", 3), ("ksize", 3), ("seed", 1234), ("step", 1),
    ("device", 0), ("iters", 1), ("mode", 0),
)  # fmt: skip
"""Parameters of which a small number is usual → that."""
_SIZE_ALL_THE_SAME = re.compile(r"row|ld|num")
"""How other parameters begin, which are sizes."""
_SMALL = {1: (768,), 2: (6, 96), 3: (2, 12, 64), 4: (2, 8, 32, 48)}
_TILES = {1: (8192,), 2: (64, 256), 3: (128, 256, 64), 4: (2, 64, 128, 256)}
_NARROW = {1: (1024,), 2: (64, 32), 3: (64, 32, 32), 4: (2, 4, 64, 32)}
"""For kernels that hold a whole row in fixed memory: the last dim stays small when it is varied."""
_DIGITS = {1: (8,), 2: (3, 8), 3: (2, 3, 8), 4: (2, 3, 5, 8)}
_TIMED = 8
"""How many times as large the sizes are that are timed; a single dim's is `_TIMED_SINGLE` times."""
_TIMED_SINGLE = 1024
_MOST_TIMED = 1 << 23
"""Elements of a buffer of the largest listed sizes that are timed: kernels of matrices take milliseconds then."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Sizes to try a kernel at."""

    tried: Mapping[str, int]
    timed: Mapping[str, int]
    """The sizes to time: worth it where dims were chosen, the code's own otherwise."""
    steady: frozenset[str]
    """Dims that divide others."""
    room: int
    """Elements of a buffer whose shape is not known."""


def usual_number(name: str) -> int | None:
    """What a parameter of this name usually is, as a padding is 1; None where it may be any size."""
    if _SIZE_ALL_THE_SAME.match(name.lower()):
        return None
    return next((number for part, number in _USUAL if part in name.lower()), None)


def stays_small(name: str) -> bool:
    """Whether a dim of this name is a small number: of batches, heads, groups or multiprocessors."""
    return name.lower() in _FEW | _BATCH or counts_multiprocessors(name)


def plans(
    dims: Mapping[str, int],
    chosen: tuple[str, ...],
    numbers: Mapping[str, tuple[int, ...]] = MappingProxyType({}),
    divisors: frozenset[str] = frozenset(),
) -> Iterator[Plan]:
    """The plans, small sizes first. `dims` are the sizes that the code tells; those of `chosen` do not count, for
    those of `numbers` a caller goes through a list, and `divisors` divide others.
    """
    listed = {n: numbers[n] for n in chosen if n in numbers}
    chosen = tuple(n for n in chosen if n not in numbers)
    steady = divisors | {n for n in dims if n.lower() in _FEW}
    for table, few, most, room, longest in (
        (_SMALL, 4, 48, 1 << 20, 128),
        (_TILES, 2, 192, 1 << 22, 4096),
        (_NARROW, 2, 32, 1 << 20, 512),
        (_DIGITS, 2, 8, 1 << 20, 64),
    ):
        free = [n for n in chosen if n not in steady and n.lower() not in _BATCH]
        sizes = table.get(len(free), (*table[4], *(most + 16 * i for i in range(len(free)))))
        own = {**{n: few if n in steady else 2 for n in chosen}, **dict(zip(free, sizes, strict=False))}
        tried = {n: own.get(n, size) for n, size in _small(dims, most).items()}
        times = _TIMED_SINGLE if len(own) == 1 else _TIMED
        small, large = _small_listed(listed, longest), _largest(listed)
        tried |= small
        timed = {n: own[n] * (1 if n in steady else times) if n in own else size for n, size in dims.items()}
        timed |= large
        yield Plan(tried, timed, steady, room)


def _small_listed(listed: Mapping[str, tuple[int, ...]], longest: int) -> dict[str, int]:
    """The largest of the listed sizes that are no larger than `longest`; where there is none the smallest one, halved.

    One element says little where callers come with more: the smallest of a list is often an edge.
    Of several dims one has twice and one half as much, so that they are told apart.
    """
    sizes = {
        n: max((s for s in own if s <= longest), default=_halved(own[0], longest))
        for n, own in listed.items()
    }
    factors = dict(zip(sizes, (2, 4, 1), strict=False))
    return {n: max(1, size * factors.get(n, 2) // 2) for n, size in sizes.items()}


def _largest(listed: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """The largest listed sizes that are timed in little time: of several those that the two largest bound."""
    most = _MOST_TIMED * min(len(listed), 2)
    sizes = {n: max((s for s in own if s <= most), default=own[0]) for n, own in listed.items()}
    while sizes and prod(sorted(sizes.values())[-2:]) > most:
        name = max(sizes, key=sizes.__getitem__)
        smaller = max((s for s in listed[name] if s < sizes[name]), default=None)
        if smaller is None:
            break
        sizes[name] = smaller
    return sizes


def _small(dims: Mapping[str, int], most: int) -> dict[str, int]:
    """Sizes halved to `most`. Up to four times `most` those that differ still do, so that a kernel tells them apart."""
    small: dict[int, int] = {}
    for size in sorted({*dims.values()}):
        largest = max(small.values(), default=0)
        small[size] = _halved(size, most)
        if small[size] <= largest <= 2 * most:
            small[size] = _halved(size, 2 * largest)
    return {n: CHECKED if counts_multiprocessors(n) else small[size] for n, size in dims.items()}


def _halved(size: int, most: int) -> int:
    while size > most:
        size = -(-size // 2)
    return size
