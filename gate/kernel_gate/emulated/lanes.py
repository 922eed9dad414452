"""Which lane of its warp a thread reads in a shuffle."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kernel_gate.emulated.types import Array

Index = npt.NDArray[np.int64]


def source_lanes(mode: str, lane: Index, b: Array | int, c: Array | int) -> tuple[Index, Array]:
    """The lane that each thread reads and whether it lies in its segment (PTX ISA, `shfl`, pseudo-code)."""
    by, clamp = np.asarray(b).astype(np.int64) & 31, np.asarray(c).astype(np.int64)
    mask = (clamp >> 8) & 31
    last = (lane & mask) | (clamp & 31 & ~mask)
    if mode == "up":
        source = lane - by
        inside = source >= last
    elif mode == "down":
        source = lane + by
        inside = source <= last
    elif mode == "bfly":
        source = lane ^ by
        inside = source <= last
    else:
        source = (lane & mask) | (by & ~mask)
        inside = source <= last
    return np.where(inside, source, lane), inside
