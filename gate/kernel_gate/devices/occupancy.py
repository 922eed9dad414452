"""How many blocks of a kernel fit on a multiprocessor at once.

The rules are those of NVIDIA's occupancy calculator (Nsight Compute documentation, Occupancy Calculator): registers are
given to warps in units of 256, warps in fours, shared memory in units of 128 bytes beside what the system keeps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from kernel_gate.program import WARP

_REGISTER_UNIT = 256
_WARP_UNIT = 4
_SHARED_UNIT = 128

Limit = Literal["warps", "blocks", "registers", "shared memory"]


@dataclass(frozen=True, slots=True)
class Multiprocessor:
    """What one multiprocessor has, from the device's attributes."""

    threads: int
    blocks: int
    registers: int
    shared_bytes: int
    reserved_shared_bytes: int
    """Per block, for the system."""


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Blocks at once, the share of warp slots that they fill, and what stops at that."""

    blocks: int
    share: float
    limited_by: Limit


def occupancy(sm: Multiprocessor, block_threads: int, registers: int, shared_bytes: int) -> Occupancy:
    """The occupancy of a kernel with so many registers per thread and bytes of shared memory per block."""
    warps = math.ceil(block_threads / WARP)
    limits: dict[Limit, int] = {"warps": sm.threads // WARP // warps, "blocks": sm.blocks}
    if registers:
        per_warp = math.ceil(registers * WARP / _REGISTER_UNIT) * _REGISTER_UNIT
        limits["registers"] = sm.registers // per_warp // _WARP_UNIT * _WARP_UNIT // warps
    taken = math.ceil((shared_bytes + sm.reserved_shared_bytes) / _SHARED_UNIT) * _SHARED_UNIT
    if taken:
        limits["shared memory"] = sm.shared_bytes // taken
    limited_by = min(limits, key=lambda name: limits[name])
    blocks = limits[limited_by]
    return Occupancy(blocks, blocks * warps * WARP / sm.threads, limited_by)
