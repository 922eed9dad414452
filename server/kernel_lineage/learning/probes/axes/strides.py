"""Strides: rows of inputs and outputs apart by more than their length, for kernels that are passed the stride."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator
from dataclasses import replace

from kernel_gate.arguments import Argument
from kernel_gate.workload import Workload
from kernel_lineage.learning.probes.axis import Axis, Ground
from kernel_lineage.learning.probes.setting import Setting
from kernel_lineage.skills.conditions.facts import Scalar

_PADS = (16, 4, 1, 3)
_POOLED = 40


def strided(workload: Workload) -> Iterator[tuple[Argument, Argument]]:
    """Buffers of two axes or more whose row stride is a scalar argument of its own: `x` and `x_stride`."""
    for buffer in workload.args:
        if not buffer.is_pointer or buffer.shape is None or len(buffer.shape) < 2:
            continue
        row = str(buffer.shape[-1]).replace(" ", "")
        for scalar in workload.args:
            spelled = str(scalar.value).replace(" ", "") == row if scalar.value is not None else False
            if spelled and _speaks_of(scalar.name, buffer.name):
                yield buffer, scalar


def _speaks_of(scalar: str, buffer: str) -> bool:
    """Whether a scalar's name says that it is this buffer's stride: `X_row_stride`, `stride_x`, `stride_xn`."""
    bare = re.sub(r"_?(ptr|pointer)$", "", buffer.lower())
    words = scalar.lower().replace("row_", "").split("_")
    return "stride" in words and any(w in (bare, f"{bare}n", f"{bare}m", f"{bare}0") for w in words)


def _padded(setting: Setting, buffer: Argument, scalar: Argument, pad: int) -> Setting:
    """With rows that are apart by `pad` more elements; an output keeps what lies between them."""

    def of(argument: Argument) -> Argument:
        if argument.name == scalar.name:
            return argument.model_copy(update={"value": f"{argument.value} + {pad}"})
        if argument.name != buffer.name:
            return argument
        shape = (*(argument.shape or ())[:-1], f"{(argument.shape or ())[-1]} + {pad}")
        kind = "inout" if argument.kind == "output" else argument.kind
        return argument.model_copy(update={"shape": shape, "kind": kind})

    workload = setting.workload.model_copy(
        update={"args": tuple(map(of, setting.workload.args)), "oracle": None}
    )
    *rows, stride = workload.extents(of(buffer), setting.dims)
    # A single row has no gap behind it.
    facts = {**dict(_plain(setting).told), f"contiguous({buffer.name})": math.prod(rows) < 2}
    facts[f"stride({buffer.name}, 0)"] = stride
    return replace(setting, workload=workload, told=tuple(facts.items()))


def _plain(setting: Setting) -> Setting:
    """With what is true of every buffer whose rows may be moved apart, so that cases can be compared."""
    facts: list[tuple[str, Scalar]] = []
    for buffer, _ in strided(setting.workload):
        stride = setting.workload.extents(buffer, setting.dims)[-1]
        facts += [(f"contiguous({buffer.name})", True), (f"stride({buffer.name}, 0)", stride)]
    return replace(setting, told=tuple(facts))


def _boundaries(ground: Ground) -> Iterator[Setting]:
    yield from [_plain(ground.base)] if any(strided(ground.base.workload)) else []
    for buffer, scalar in strided(ground.base.workload):
        for pad in _PADS:
            yield _padded(ground.base, buffer, scalar, pad)


def _pool(ground: Ground, chance: random.Random) -> Iterator[Setting]:
    pairs = list(strided(ground.base.workload))
    for _ in range(_POOLED if pairs else 0):
        setting = replace(chance.choice((ground.base, *ground.others)), seed=chance.randrange(1000))
        buffer, scalar = chance.choice(pairs)
        pad = chance.choice((0, 0, *_PADS, 8, 32))
        yield _padded(setting, buffer, scalar, pad) if pad else _plain(setting)


AXIS = Axis(
    title="Strides",
    moves="Rows of each buffer whose stride is an argument apart by 1, 3, 4 and 16 elements more than they are long.",
    boundaries=_boundaries,
    pool=_pool,
)
