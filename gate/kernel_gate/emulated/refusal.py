"""Why a device would refuse a launch: extents, threads, clusters and shared memory that it does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernel_gate.emulated.waves import most_that_meet
from kernel_gate.launching import BLOCK_MOST, GRID_MOST, THREADS_MOST

if TYPE_CHECKING:
    from kernel_gate.emulated.launch import Launch

_CLUSTER_MOST = 16
_LOCAL_MOST = 512 << 10
"""Bytes of local memory that one thread can have (CUDA programming guide, table of compute capabilities)."""
_LOCAL_AT_ONCE = 512 << 20
SHARED_MOST = {"sm_80": 166_912, "sm_90": 232_448}
"""Bytes of shared memory that one block can have (CUDA programming guide, table of compute capabilities)."""
_SHARED_MOST_OTHERWISE = 101_376
UNBUILDABLE = "no device builds it"
"""How the reason begins that no launch is the cause of."""
_STATIC_SHARED_MOST = 48 << 10
"""Bytes of shared memory with extents at compile time; ptxas refuses to build a kernel with more."""


def refusal(launch: Launch, arch: str) -> str | None:
    """Why a device of this architecture would refuse the launch; None when it would not."""
    for name, extent, limits in (("grid", launch.grid, GRID_MOST), ("block", launch.block, BLOCK_MOST)):
        if any(not 1 <= e <= m for e, m in zip(extent, limits, strict=True)):
            return f"invalid launch: {name} {extent}; each extent must be 1 … {limits}"
    if launch.block_threads > THREADS_MOST:
        return f"invalid launch: {launch.block_threads} threads per block; at most {THREADS_MOST}"
    cluster = launch.kernel.flat.cluster
    if any(g % c for g, c in zip(launch.grid, cluster, strict=True)) or launch.cluster_size > _CLUSTER_MOST:
        return f"invalid launch: a grid {launch.grid} in clusters of {cluster}; they must fit and have at most 16"
    required = launch.kernel.flat.required_threads
    if required is not None and launch.block_threads != required:
        return f"invalid launch: {launch.block_threads} threads per block; compiled for exactly {required}"
    frame = launch.kernel.layout.frame_bytes
    if frame > _LOCAL_MOST:
        return f"invalid launch: {frame} bytes of local memory per thread; a device has {_LOCAL_MOST}"
    at_once = 2 * frame * launch.block_threads * launch.cluster_size
    if at_once > _LOCAL_AT_ONCE:
        return (
            f"the emulated device cannot run it: the local arrays of a block take {at_once >> 20} MB; "
            f"it has {_LOCAL_AT_ONCE >> 20} MB for them"
        )
    static = launch.kernel.layout.static_shared_bytes
    if static > _STATIC_SHARED_MOST:
        return (
            f"{UNBUILDABLE}: {static} bytes of shared memory in arrays of a fixed extent; "
            f"ptxas takes at most {_STATIC_SHARED_MOST} (with `extern __shared__` there is more)"
        )
    shared = static + launch.shared_bytes
    most = SHARED_MOST.get(arch, _SHARED_MOST_OTHERWISE)
    if shared > most:
        return f"invalid launch: {shared} bytes of shared memory per block; {arch} has {most}"
    if launch.kernel.meets_grid and launch.blocks > (together := most_that_meet(launch)):
        return (
            f"the emulated device cannot run it: {launch.blocks} blocks wait for each other at a barrier of the grid, "
            f"and {together} of them run at once; launch fewer"
        )
    return None
