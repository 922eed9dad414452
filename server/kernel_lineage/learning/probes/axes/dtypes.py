"""Data types: every float buffer of a kernel that is generic over them, together and one by one."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace

from kernel_gate.program import Program
from kernel_lineage.code.types import DTYPES
from kernel_lineage.learning.probes.axis import Axis, Ground
from kernel_lineage.learning.probes.setting import Setting

_FLOATS = ("float32", "float16", "bfloat16", "float64")
_CPP = {"float32": "float", "float64": "double", "float16": "__half", "bfloat16": "__nv_bfloat16"}
_POOLED = 40
_FEW = 4


def _floats(setting: Setting) -> list[str]:
    return [a.name for a in setting.workload.args if a.is_pointer and a.dtype in _FLOATS]


def _typed(setting: Setting, names: tuple[str, ...], dtype: str) -> Setting:
    args = tuple(
        a.model_copy(update={"dtype": dtype}) if a.name in names else a for a in setting.workload.args
    )
    return replace(setting, workload=setting.workload.model_copy(update={"args": args}))


def _generic(setting: Setting) -> str | None:
    """The type that both CUDA programs are instantiated with; None when they are no such templates."""
    types = [
        [a for a in p.template_arguments if DTYPES.get(a) in _FLOATS] for p in (setting.before, setting.after)
    ]
    same = {t for dtypes in types for t in dtypes}
    return same.pop() if all(types) and len(same) == 1 else None


def _instantiated(program: Program, old: str, new: str) -> Program:
    arguments = tuple(re.sub(rf"\b{re.escape(old)}\b", new, a) for a in program.template_arguments)
    return replace(program, template_arguments=arguments)


def _moved(setting: Setting) -> Iterator[Setting]:
    floats = tuple(_floats(setting))
    if setting.after.language == "cuda":
        old = _generic(setting)
        typed = tuple(n for n in floats if old and _dtype(setting, n) == DTYPES[old])
        for dtype in _FLOATS if old and typed else ():
            new = _typed(setting, typed, dtype)
            yield replace(
                new,
                before=_instantiated(setting.before, old or "", _CPP[dtype]),
                after=_instantiated(setting.after, old or "", _CPP[dtype]),
            )
        return
    # Without an oracle the earlier state is what is expected, and few kernels compute in float64 because a buffer is.
    for dtype in _FLOATS if setting.workload.oracle is not None else _FLOATS[:3]:
        yield _typed(setting, floats, dtype)
    for names in (*_of_one_shape(setting, floats), *((name,) for name in floats if len(floats) > 1)):
        for dtype in _FLOATS[:3]:
            yield _typed(setting, names, dtype)


def _of_one_shape(setting: Setting, floats: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Buffers that have a type of their own in mixed precision: activations are narrow, weights and sums are not."""
    shapes: dict[tuple[str | int, ...], list[str]] = {}
    for argument in setting.workload.args:
        if argument.name in floats:
            shapes.setdefault(tuple(argument.shape or ()), []).append(argument.name)
    yield from (tuple(names) for names in shapes.values() if 1 < len(names) < len(floats))


def _dtype(setting: Setting, name: str) -> str:
    argument = setting.workload.argument(name)
    return argument.dtype if argument is not None else ""


def _boundaries(ground: Ground) -> Iterator[Setting]:
    yield ground.base
    yield from (moved for moved in _moved(ground.base) if moved.workload != ground.base.workload)


def _pool(ground: Ground, chance: random.Random) -> Iterator[Setting]:
    for _ in range(_POOLED):
        setting = chance.choice((ground.base, *ground.others))
        if not chance.randrange(3):
            # Where little is summed up, a type that is too narrow for more is right.
            setting = setting.at(**{name: chance.randint(1, _FEW) for name in sorted(setting.dims)})
        moved = list(_moved(setting))
        yield replace(chance.choice(moved) if moved else setting, seed=chance.randrange(1000))


AXIS = Axis(
    title="Data types",
    moves="The float buffers, all, those of one shape, and each, to float16, bfloat16, float32 and float64, where "
    "Triton or a template takes any.",
    boundaries=_boundaries,
    pool=_pool,
)
