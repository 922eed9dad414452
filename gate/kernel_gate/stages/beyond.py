"""Launches of more blocks than the callers' sizes bring, of which some run alone: for a block's number in 16 bits.

`short b = blockIdx.x` is right for 32,768 blocks. Where the candidate has more instructions than the baseline that keep
8 or 16 bits of a number, extents are looked for that bring just more blocks than such a number counts. Where it has
more that make a whole number of a float of 32 bits, they bring just more threads than such a float counts. What is
wrong there, as far as faults and the elements that the blocks write tell, is a condition on the extent.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

from kernel_gate.cases import Case
from kernel_gate.launching import LaunchError
from kernel_gate.shapes import first_extent, is_valid, named_shapes, typical_shape
from kernel_gate.stages.callers import Reached, check_blocks
from kernel_gate.stages.check_state import CheckState, Stop

_KEEPS_FEW_BITS = re.compile(
    r"\bshl\.b32\b.*, (?:16|24);|\bcvt\S*\.[su](?:8|16)\b|\b(?:bfe|prmt)\b|\b(?:mul|mad)\.wide\.[su]16\b"
)
_MASK = re.compile(r"\band\.b\d\d\b.*, (\d+);")
_THROUGH_FLOAT = re.compile(r"\bcvt\.r\Si(?:\.ftz)?(?:\.sat)?\.[su]\d\d\.f32\b")
_MASKS = range(1 << 9, 1 << 27)
"""Smaller ones are of numbers of lanes and threads, larger ones keep what a block's number can be."""
_COUNTED = (1 << 15, 1 << 16)
"""Blocks that 16 bits count, with a sign and without."""
_THREADS = 1 << 24
"""Whole numbers that a float of 32 bits tells apart."""
_LARGEST = 1 << 30


def check_beyond(run: CheckState, seed: int, callers: Mapping[str, int]) -> None:
    """Keep the condition that a block's number in few bits needs. A launch ends at the deadline that holds."""
    few_bits = _COUNTED if _has_more(run, _narrowing) else ()
    floats = _blocks_of_floats(run) if _has_more(run, _through_floats) else ()
    counted = [*((blocks, 1) for blocks in few_bits), *((blocks, 3) for blocks in floats)]
    if not counted:
        return
    small = typical_shape(named_shapes(run.workload))
    for name, usual in callers.items():
        for blocks, more in counted:
            extent = _extent_of(run, {**small, name: usual}, name, blocks)
            if extent is None or (why := _wrong(run, seed, {**small, name: extent + more})) is None:
                continue
            # What is wrong at the usual extent too is not the number of blocks' doing.
            if _wrong(run, seed, {**small, name: usual}) is None:
                most = usual if _wrong(run, seed, {**small, name: extent}) else extent
                run.conditions.setdefault(f"{name} <= {most}", why)
            return


def _has_more(run: CheckState, count: Callable[[str], int]) -> bool:
    """Whether the candidate has more of something in its PTX than the baseline."""
    after, before = (
        max((count(image.ptx) for image in built.images.values()), default=0)
        for built in (run.candidate, run.baseline)
    )
    return after > before


def _narrowing(ptx: str) -> int:
    return len(_KEEPS_FEW_BITS.findall(ptx)) + sum(int(mask) in _MASKS for mask in _MASK.findall(ptx))


def _through_floats(ptx: str) -> int:
    return len(_THROUGH_FLOAT.findall(ptx))


def _blocks_of_floats(run: CheckState) -> set[int]:
    """How many blocks have as many threads as a float counts, of each size of block."""
    bound = run.candidate.bound(run.workload, typical_shape(named_shapes(run.workload)))
    return {_THREADS // math.prod(launch.block) for launch in bound.launches}


def _wrong(run: CheckState, seed: int, dims: Mapping[str, int]) -> str | None:
    """What is wrong with blocks of a launch that run alone; None where nothing is, or nothing can be told."""
    reached = Reached(dims)
    try:
        check_blocks(run, Case(dims, seed, origin="hidden"), reached)
    except Stop as stop:
        return stop.reason
    return reached.elsewhere or None


def _extent_of(run: CheckState, usual: Mapping[str, int], name: str, blocks: int) -> int | None:
    """The largest extent of a dim, beyond the usual one, that brings no more blocks on an axis; None: there is none."""

    def brings_more(extent: int) -> bool:
        dims = {**usual, name: extent}
        if not is_valid(run.workload, dims):
            return False
        try:
            bound = run.candidate.bound(run.workload, dims)
        except LaunchError:
            return False
        return any(n > blocks for launch in bound.launches for n in launch.grid)

    if brings_more(usual[name]):
        return None
    first = first_extent(brings_more, usual[name], _LARGEST)
    return first - 1 if first is not None else None
