"""What is neither data nor a branch: fences, warp barriers, hints, traps."""

from __future__ import annotations

import numpy as np

from kernel_gate.emulated.instructions.warp import members_of
from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import TYPES
from kernel_gate.emulated.wave import Wave


def _nothing(_wave: Wave) -> None:
    """Changes no value: memory is coherent here and hints are free."""


@opcode(
    "prefetch",
    "prefetchu",
    "nanosleep",
    "griddepcontrol",
    "applypriority",
    "discard",
    "pmevent",
    "setmaxnreg",
)
def hint(_site: Site) -> Step:
    """Hints to the hardware."""
    return _nothing


@opcode("createpolicy")
def create_policy(site: Site) -> Step:
    """`createpolicy`: a cache policy is opaque and has no effect on values."""
    write = site.write(0, TYPES["b64"])
    return lambda wave: write(wave, np.uint64(0))  # type: ignore[arg-type]


@opcode("membar", "fence")
def fence(site: Site) -> Step:
    """`membar`, `fence`, `fence.proxy`: memory is coherent at once; the race detector asks for those of the device."""
    if site.has("cta", "proxy", "cluster"):
        return _nothing

    def step(wave: Wave) -> None:
        if wave.launch.races is not None:
            wave.launch.races.fence(wave)

    return step


@opcode("bar", "barrier")
def warp_barrier(site: Site) -> Step:
    """`bar.warp.sync`: orders what the threads of a warp did to shared memory. `barrier.cluster.arrive`."""
    if site.parts[1:3] == ("cluster", "arrive"):
        return lambda wave: wave.cluster_barriers.arrive(wave)
    if "warp" not in site.parts:
        raise site.unsupported()
    members = members_of(site, 0)

    def step(wave: Wave) -> None:
        members(wave)
        if wave.shared.races is not None:
            wave.shared.races.synchronise_warps(wave)
        if wave.launch.races is not None:
            wave.launch.races.synchronise_warps(wave)

    return step


@opcode("trap", "brkpt")
def trap(site: Site) -> Step:
    """`trap`: ends the launch."""

    def step(wave: Wave) -> None:
        raise wave.stop("trap", "the kernel trapped", site.instruction)

    return step
