"""Reads of a recorded block that matter: those whose value gets to a store, or decides a branch.

Where a tensor has fewer elements than a block has threads, Triton lets several threads compute each element and one of
them store it. What the others read is idle: whether they read it before or after the one stores in its place changes
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kernel_gate.emulated.program import DecodedKernel
from kernel_gate.emulated.slicing.trace import Event, Flags, Trace
from kernel_gate.emulated.slicing.walk import Walk

_NOT_FOLLOWED = frozenset({"call", "cp", "mbarrier", "multimem", "tcgen05", "wgmma"})
"""Instructions that move data by other ways than registers and addresses: none of their reads is known to be idle."""


def can_be_told(kernel: DecodedKernel) -> bool:
    """Whether all that a kernel does can be followed to its stores."""
    return not any(instruction.parts[0] in _NOT_FOLLOWED for instruction in kernel.flat.body)


def reads_that_matter(trace: Trace, kernel: DecodedKernel) -> Mapping[int, Flags]:
    """Event that loads from global memory → of each thread of the trace, whether what it read there matters."""
    walk = Walk.over(trace, kernel)
    flags: dict[int, Flags] = {}
    for place in range(len(trace.events) - 1, -1, -1):
        event = trace.events[place]
        gave = walk.take(event)
        if _is_load(event, kernel):
            flags[place] = np.zeros(trace.threads, np.bool_)
            if gave is not None:
                flags[place][gave[0]] = True
        elif walk.is_branch(event) or _stores(event):
            walk.look_for(event, walk.active(event))
    return flags


def _is_load(event: Event, kernel: DecodedKernel) -> bool:
    return kernel.flat.body[event.number].parts[0] == "ld" and any(t.space == "global" for t in event.touches)


def _stores(event: Event) -> bool:
    """Whether an event leaves something where others may read it; of atomics what they read is among it."""
    return any(touch.space == "global" and touch.purpose != "read" for touch in event.touches)
