"""Aliasing: each output in the place of an input of its shape and type, as a caller who works in place passes them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from kernel_gate.cases import Memory
from kernel_gate.expressions import ExpressionError
from kernel_lineage.learning.probes.axis import Axis, Ground
from kernel_lineage.learning.probes.setting import Setting

_POOLED = 40


def _pairs(setting: Setting) -> Iterator[tuple[str, str]]:
    workload = setting.workload
    for output in (a for a in workload.args if a.kind == "output" and not a.noalias):
        for source in (a for a in workload.args if a.kind == "input" and not a.noalias):
            try:
                alike = workload.extents(output, setting.dims) == workload.extents(source, setting.dims)
            except ExpressionError:
                continue
            if alike and output.dtype == source.dtype:
                yield output.name, source.name


def _boundaries(ground: Ground) -> Iterator[Setting]:
    yield ground.base
    for pair in _pairs(ground.base):
        for setting in (ground.base, *ground.others):
            yield replace(setting, memory=Memory(alias=pair))


def _pool(ground: Ground, chance: random.Random) -> Iterator[Setting]:
    for _ in range(_POOLED):
        setting = replace(chance.choice((ground.base, *ground.others)), seed=chance.randrange(1000))
        pairs = [None, *_pairs(setting)]
        pair = chance.choice(pairs)
        yield replace(setting, memory=Memory(alias=pair)) if pair else setting


AXIS = Axis(
    title="Aliasing",
    moves="Each output into an input of the same shape and type, where the workload does not exclude it.",
    boundaries=_boundaries,
    pool=_pool,
)
