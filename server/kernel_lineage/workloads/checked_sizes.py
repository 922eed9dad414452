"""Sizes that are small enough to be checked often: a draft's own, halved until the emulated device can run them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from kernel_gate.expressions import ExpressionError
from kernel_gate.program import WARP
from kernel_gate.shapes import elements
from kernel_gate.workload import Workload, WorkloadError
from kernel_lineage.workloads.chosen_sizes import stays_small
from kernel_lineage.workloads.device_size import CHECKED, counts_multiprocessors
from kernel_lineage.workloads.divisions import conditions, divisible, divisors
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.promises import broken, fitted_sizes

CHECKED_ELEMENTS = 1 << 14
"""Elements of all buffers of a checked shape: what the emulated device runs in about a second."""
_VECTOR = 16
"""Elements of one byte that one access takes, and the edge of a tensor core's tile."""
_SMALLEST = 4
_TILES = re.compile(r"\bceil_div\((\w+), (\w+)\)")
_LARGEST_TILE = 1 << 11
_SMALL_FACTOR = 15
"""An odd factor up to here is kept: 12 heads divide 48 as they divide 768."""
_FEWEST = 2
"""Batches, heads or groups: fewer of them say as much, where fewer rows may say less."""

CHECKED_WITH = "; checked with "
"""Between what was concluded of a dim and its checked size."""


def with_checked_sizes(draft: Draft, most: int = CHECKED_ELEMENTS, *, by_tiles: bool = True) -> Draft:
    """Sizes that are small enough to be checked often: of about `most` elements, where they can be halved so far, and
    of no less than two tiles unless these are not asked for.
    """
    if draft.chosen:
        return draft
    try:
        workload = draft.workload()
    except WorkloadError:
        return draft
    sizes = {n: CHECKED if counts_multiprocessors(n) else size for n, size in draft.dims.items()}
    sizes = fitted_sizes(sizes, draft.promises)
    sizes = divisible(draft, sizes, draft.dims.keys() - divisors(draft))
    kept = [text for text in conditions(draft) if not broken(sizes, (text,))]

    def are_kept(tried: dict[str, int]) -> bool:
        return workload.keeps_promises(tried) and not broken(tried, kept)

    try:
        # What a size is a multiple of is kept as long as it can be, a warp's width before a vector's: kernels that
        # count on it, as their callers let them, fail at other sizes.
        tiles = two_tiles(draft) if by_tiles else {}
        _halve(workload, sizes, WARP, most, tiles, are_kept)
        few = [name for name in sizes if stays_small(name)]
        _halve(workload, sizes, _FEWEST, 4 * most, tiles, are_kept, few)
        for smallest in (_VECTOR, _SMALLEST):
            _halve(workload, sizes, smallest, 4 * most, tiles, are_kept)
    except ExpressionError:
        return draft
    notes = tuple(
        f"{s}{CHECKED_WITH}{sizes[n]}"
        if (n := s.split(" is ")[0]) in sizes and sizes[n] != draft.dims[n]
        else s
        for s in draft.assumed
    )
    return replace(draft, checked=sizes, assumed=notes)


def two_tiles(draft: Draft) -> dict[str, int]:
    """Dim → two tiles of it, where the draft or a loop counts tiles: one alone tells nothing of the way to the next."""
    texts = (*draft.grid, *draft.constexpr.values(), *(e for a in draft.arguments for e in a.shape or ()))
    tiles: dict[str, int] = {}
    values = {a.name: str(a.value) for a in draft.arguments if a.kind == "scalar"}
    looped = [(values.get(over, over), tile) for over, tile in draft.stepped]
    for name, tile in (*(pair for text in texts for pair in _TILES.findall(text)), *looped):
        number = draft.constexpr.get(tile, tile)
        if name in draft.dims and number.isdigit() and int(number) <= _LARGEST_TILE:
            tiles[name] = min(draft.dims[name], max(tiles.get(name, 0), 2 * int(number)))
    return tiles


def _halve(
    workload: Workload,
    sizes: dict[str, int],
    smallest: int,
    most: int,
    least: Mapping[str, int],
    are_kept: Callable[[dict[str, int]], bool],
    only: Collection[str] | None = None,
) -> None:
    """Halve the largest size (of `only` some), rounding up, while all buffers have more than `most` elements.

    None becomes smaller than `smallest`, or than its `least`, or such that the sizes are not kept.

    A size that is a multiple of a power of two up to `smallest`, and of a small odd number, stays one; one that leaves
    lanes of a warp over still does.
    """
    ragged = {name for name, size in sizes.items() if size % WARP}
    steps = {name: multiple_of(size, smallest) for name, size in sizes.items()}
    fixed = {n for n in sizes if counts_multiprocessors(n) or (only is not None and n not in only)}
    while elements(workload, sizes) > most:
        name = max((n for n in sizes if n not in fixed), key=lambda n: sizes[n], default="")
        size = sizes.get(name, 0)
        half = -(-math.ceil(size / 2) // steps.get(name, 1)) * steps.get(name, 1)
        if name in ragged and half % WARP == 0:
            half += steps[name]
        if half < smallest:
            return
        if least.get(name, 0) <= half < size and are_kept({**sizes, name: half}):
            sizes[name] = half
        else:
            fixed.add(name)


def multiple_of(size: int, largest: int) -> int:
    """What a size stays a multiple of: its power of two up to `largest`, times its odd factor where that is small."""
    power = size & -size
    odd = size // power if power else 1
    return min(power, largest) * (odd if odd <= _SMALL_FACTOR else 1) or 1
