"""Architecture: both states compiled for older and newer GPUs than the one that is emulated.

What is told: which instructions and intrinsics the later state asks of a GPU. What is not: anything of other compilers,
since one NVRTC and one Triton are installed, and what a real GPU of that architecture would do otherwise.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from kernel_lineage.learning.probes.axis import Axis, Ground
from kernel_lineage.learning.probes.setting import Setting

_ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90")
"""Those that the compilers of CUDA 13 and Triton have in common, up to what is emulated."""
_POOLED = 40


def _compiled_for(setting: Setting, arch: str) -> Setting:
    capability = int(arch[3:-1]), int(arch[-1])
    return replace(setting, arch=arch, told=(("device.compute_capability", capability),))


def _boundaries(ground: Ground) -> Iterator[Setting]:
    """The oldest: what it takes, newer ones take as well."""
    yield _compiled_for(ground.base, ground.base.arch)
    yield _compiled_for(ground.base, _ARCHITECTURES[0])


def _pool(ground: Ground, chance: random.Random) -> Iterator[Setting]:
    for _ in range(_POOLED):
        setting = replace(chance.choice((ground.base, *ground.others)), seed=chance.randrange(1000))
        yield _compiled_for(setting, chance.choice(_ARCHITECTURES))


AXIS = Axis(
    title="Architecture",
    moves="Both states to other architectures, from compute capability 7.5 on, as far as the installed compiler goes.",
    boundaries=_boundaries,
    pool=_pool,
)
