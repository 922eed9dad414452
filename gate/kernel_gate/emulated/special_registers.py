"""Special registers (PTX ISA 9.0, chapter 10), with values as an H200 gives them: no kernel can tell where it runs.

Clocks go on with executed instructions, from a start that differs from process to process; they are never a time. In
each launch they leap once, as where a GPU that others share takes a block off for a while: what a budget of cycles
decides may come out either way.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from kernel_gate.emulated.types import Array
from kernel_gate.emulated.wave import Wave

_MULTIPROCESSORS = 132
_CONSTANTS = {"%nsmid": _MULTIPROCESSORS, "%warpsize": 32, "%nwarpid": 64}
_CLOCK_START = (1 << 40) + secrets.randbelow(1 << 42)
_FIRST_GRID = 1 + secrets.randbelow(1 << 12)
_CYCLES = 4
"""About how many cycles an instruction takes."""
_SPREAD = 7
"""With the latest leap it has no divisor: launches one after the other leap at all places in turn."""
_CLUSTER = ("%cluster_", "%clusterid.", "%nclusterid.", "%is_explicit_cluster")
_HIGH = np.uint64(32)
GRID_BARRIER = ("%envreg1", "%envreg2")
"""Upper and lower half of the address of the memory by which the blocks of a cooperative launch wait for each other.

It is there for each kernel that reads them: one that is not launched so ends by a trap on a GPU.
"""

_LEAP = 1 << 26
"""Cycles of a leap, some time slices of a GPU; a kernel that waits for another one in earnest waits longer."""
_LATEST_LEAP = 16
"""As a power of two: the instructions of a launch before its leap."""


def _clock(wave: Wave) -> np.uint64:
    done, warps = wave.launch.instructions, max(wave.launch.block_threads // 32, 1)
    leapt = done >> (_FIRST_GRID + wave.launch.number) * _SPREAD % _LATEST_LEAP
    return np.uint64(_CLOCK_START + _CYCLES * done // warps + (_LEAP if leapt else 0))


def _nanoseconds(_wave: Wave) -> np.uint64:
    return np.uint64(time.time_ns() // 32 * 32)


def _multiprocessor(wave: Wave) -> Array:
    """The multiprocessor of each thread's block: blocks are dealt out two at a time, as a GPU does to pairs of them."""
    block = np.asarray(wave.blocks[wave.block_of])
    dealt = block % _MULTIPROCESSORS
    half = _MULTIPROCESSORS // 2
    return (2 * (dealt % half) + dealt // half).astype(np.uint32)


_TIMES: dict[str, Callable[[Wave], Any]] = {
    "%clock": _clock,
    "%clock64": _clock,
    "%clock_hi": lambda wave: _clock(wave) >> _HIGH,
    "%globaltimer": _nanoseconds,
    "%globaltimer_lo": _nanoseconds,
    "%globaltimer_hi": lambda wave: _nanoseconds(wave) >> _HIGH,
    "%gridid": lambda wave: np.uint64(_FIRST_GRID + wave.launch.number),
    "%smid": _multiprocessor,
}


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
    if name in _TIMES:
        return _TIMES[name]
    if name in GRID_BARRIER:
        shift = 32 if name == GRID_BARRIER[0] else 0
        return lambda wave: np.uint32(wave.launch.grid_barrier.base >> shift & 0xFFFFFFFF)  # type: ignore[return-value]
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
    if name in ("%laneid", "%warpid") or name[:-1] in ("%tid.", "%ctaid."):
        return lambda wave: wave.position(name)
    return None
