"""Alignment: each buffer by itself at addresses of less and less alignment, down to one element."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from kernel_gate.cases import Memory
from kernel_gate.dtypes import DTYPES
from kernel_gate.memory_cases import ALLOCATOR_ALIGNMENT
from kernel_lineage.learning.probes.axis import Axis, Ground
from kernel_lineage.learning.probes.setting import Setting

_POOLED = 60


def _offsets(setting: Setting, name: str) -> list[int]:
    """The offsets, in bytes, that a buffer may have: multiples of its element, or of what the workload promises."""
    argument = setting.workload.argument(name)
    if argument is None or not argument.is_pointer:
        return []
    least = argument.align or DTYPES[argument.dtype].itemsize
    return [o for o in range(least, ALLOCATOR_ALIGNMENT, least) if o & (o - 1) == 0]


def _placed(setting: Setting, name: str, offset: int) -> Setting:
    return replace(setting, memory=Memory(((name, offset),)) if offset else Memory())


def _boundaries(ground: Ground) -> Iterator[Setting]:
    yield ground.base
    for argument in ground.base.workload.args:
        for offset in _offsets(ground.base, argument.name):
            yield _placed(ground.base, argument.name, offset)


def _pool(ground: Ground, chance: random.Random) -> Iterator[Setting]:
    buffers = [a.name for a in ground.base.workload.args if _offsets(ground.base, a.name)]
    for _ in range(_POOLED if buffers else 0):
        setting = chance.choice((ground.base, *ground.others))
        name = chance.choice(buffers)
        offset = chance.choice([0, *_offsets(setting, name)])
        yield _placed(replace(setting, seed=chance.randrange(1000)), name, offset)


AXIS = Axis(
    title="Alignment",
    moves="Each buffer to addresses that are multiples of 128, 64, 32, 16, 8 … bytes only, down to its element's size.",
    boundaries=_boundaries,
    pool=_pool,
)
