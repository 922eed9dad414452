"""Special registers (PTX ISA 9.0, chapter 10). Clocks count executed instructions; they are never a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernel_gate.emulated.types import Array
from kernel_gate.emulated.wave import Wave

_CONSTANTS = {"%smid": 0, "%nsmid": 1, "%gridid": 1, "%warpsize": 32, "%globaltimer_hi": 0, "%clock_hi": 0}
_CLUSTER = ("%cluster_", "%clusterid.", "%nclusterid.", "%is_explicit_cluster")
_CLOCKS = {"%clock", "%clock64", "%globaltimer", "%globaltimer_lo"}


def _lane_masks(wave: Wave) -> dict[str, Array]:
    lane = wave.lane.astype(np.uint64)
    one = np.uint64(1)
    below, at = (one << lane) - one, one << lane
    full = np.uint64(0xFFFFFFFF)
    masks = {"lt": below, "le": below | at, "eq": at, "ge": full & ~below, "gt": full & ~(below | at)}
    return {f"%lanemask_{name}": mask.astype(np.uint32) for name, mask in masks.items()}


def reader(name: str) -> Callable[[Wave], Array] | None:
    """How to read a special register, as one value per thread of the wave or a scalar; None when unknown."""
    if name in _CONSTANTS:
        constant: Any = np.uint32(_CONSTANTS[name])
        return lambda _wave: constant
    if name.startswith(_CLUSTER):
        return lambda wave: wave.cluster_positions[name]
    if name in _CLOCKS:
        return lambda wave: np.uint64(wave.launch.instructions)  # type: ignore[return-value]
    for prefix, extent in (("%ntid.", "block"), ("%nctaid.", "grid")):
        if name.startswith(prefix) and name[-1] in "xyz":
            axis = "xyz".index(name[-1])
            return lambda wave: np.uint32(getattr(wave.launch, extent)[axis])  # type: ignore[return-value]
    if name.startswith("%lanemask_"):
        return lambda wave: _lane_masks(wave)[name]
    if name in ("%dynamic_smem_size", "%total_smem_size"):
        dynamic = name == "%dynamic_smem_size"
        return lambda wave: np.uint32(  # type: ignore[return-value]
            wave.launch.shared_bytes if dynamic else wave.shared.nbytes
        )
    if name == "%nwarpid":
        return lambda wave: np.uint32(-(-wave.launch.block_threads // 32))  # type: ignore[return-value]
    if name in ("%laneid", "%warpid") or name[:-1] in ("%tid.", "%ctaid."):
        return lambda wave: wave.special[name]
    return None
