"""Launches: block sizes, and for Triton constexpr parameters, warps and stages.

Both states get the new launch where they share what is moved, so that a launch which neither takes says nothing.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace

from kernel_gate.expressions import ExpressionError, evaluate
from kernel_gate.program import WARP, LaunchSpec, Program
from kernel_lineage.learning.probes.axis import Axis, Ground
from kernel_lineage.learning.probes.setting import Setting, launch_of

_BLOCKS = (32, 64, 96, 128, 160, 192, 256, 320, 512, 1024)
_WARPS, _STAGES = (1, 2, 4, 8), (1, 2, 3, 4)
_LOOP = re.compile(r"^\s+(?:for|while)\b", re.MULTILINE)
_POOLED = 60


def _moved(setting: Setting, field: str, old: str, new: str) -> Setting:
    """Both states with a field of their launch replaced, as far as they have it with the old value."""

    def of(program: Program) -> Program:
        launch = launch_of(program, setting.workload)
        return program if launch is None else replace(program, launch=_changed(launch, field, old, new))

    return replace(setting, before=of(setting.before), after=of(setting.after))


def _changed(launch: LaunchSpec, field: str, old: str, new: str) -> LaunchSpec:
    if field == "block":
        if not launch.block or launch.block[0] != old:
            return launch
        block, grid = (new, *launch.block[1:]), tuple(_scaled(g, int(old), int(new)) for g in launch.grid)
        return replace(
            launch, block=block, grid=grid, shared_bytes=_scaled(launch.shared_bytes, int(old), int(new))
        )
    if field == "num_warps":
        return replace(launch, num_warps=int(new))
    if field == "num_stages":
        return replace(launch, num_stages=int(new))
    if launch.constexpr.get(field) != old:
        return launch
    return replace(launch, constexpr={**launch.constexpr, field: new})


def _scaled(text: str, old: int, new: int) -> str:
    """An expression in which the block's size, or its number of warps, is written as a number."""

    def swapped(match: re.Match[str]) -> str:
        number = int(match[0])
        if number == old:
            return str(new)
        return str(max(1, new // WARP)) if number == old // WARP and number > 1 else match[0]

    return re.sub(r"\b\d+\b", swapped, text)


def _moves(setting: Setting) -> Iterator[tuple[str, str, str]]:
    """Field, old and new text of everything that can be moved in the later state's launch."""
    launch = launch_of(setting.after, setting.workload)
    if launch is None:
        return
    if setting.after.language == "cuda":
        if len(launch.block) == 1 and launch.block[0].isdigit():
            yield from (("block", launch.block[0], str(b)) for b in _BLOCKS if str(b) != launch.block[0])
        return
    for name, text in launch.constexpr.items():
        yield from ((name, text, str(value)) for value in _tiles(setting, text))
    yield from (("num_warps", "", str(w)) for w in _WARPS if w != launch.num_warps)
    if _LOOP.search(setting.after.source):  # stages are of a loop's loads
        yield from (("num_stages", "", str(s)) for s in _STAGES if s != launch.num_stages)


def _tiles(setting: Setting, text: str) -> list[int]:
    """Other powers of two, where the parameter is one that is larger than a flag."""
    try:
        value = evaluate(text, {**setting.dims, **setting.workload.scalars(setting.dims)})
    except ExpressionError:
        return []
    if not isinstance(value, int) or isinstance(value, bool) or value < 4 or value & (value - 1):
        return []
    return [v for v in (value * 2, value // 2, value * 4, value // 4, 16) if v >= 4 and v != value]


def _boundaries(ground: Ground) -> Iterator[Setting]:
    yield ground.base
    for move in dict.fromkeys(_moves(ground.base)):
        yield _moved(ground.base, *move)
    for setting in ground.failing:
        # A size that fails may do so for the workload's own launch only.
        for move in dict.fromkeys(_moves(setting)):
            yield _moved(setting, *move)
    for setting in (ground.base, *ground.others) if ground.failing else ():
        yield from _in_proportion(setting)


def _in_proportion(setting: Setting) -> Iterator[Setting]:
    """A launch half or twice as large with a dimension that goes along: what a size was taken to need by itself it
    may need of the launch.
    """
    for field, old, new in dict.fromkeys(_moves(setting)):
        if not (old.isdigit() and new.isdigit() and (int(old) == 2 * int(new) or int(new) == 2 * int(old))):
            continue
        for name, extent in setting.dims.items():
            if extent * int(new) % int(old) == 0:
                yield _moved(setting, field, old, new).at(**{name: extent * int(new) // int(old)})


def _pool(ground: Ground, chance: random.Random) -> Iterator[Setting]:
    for _ in range(_POOLED):
        setting = chance.choice((ground.base, *ground.others))
        for name in chance.sample(sorted(setting.dims), k=chance.randint(0, 1)):
            # What a block must have is often said of a dimension: both have to move.
            setting = setting.at(**{name: chance.randint(1, setting.dims[name])})
        moves = [*_moves(setting), None]
        move = chance.choice(moves)
        moved = _moved(setting, *move) if move else setting
        yield replace(moved, seed=chance.randrange(1000))


AXIS = Axis(
    title="Launch",
    moves="The block to other multiples of a warp; Triton's constexpr tiles to other powers of two, warps and stages.",
    boundaries=_boundaries,
    pool=_pool,
)
