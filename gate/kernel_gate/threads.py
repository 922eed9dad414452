"""How many threads numeric libraries may start in the gate's processes.

A library that starts one thread a core does so in every process: a run has a dozen of short ones, and on a machine
with many GPUs, and so many cores, starting threads that do nothing was a share of what a verdict took.
"""

from __future__ import annotations

import os

_LIBRARIES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
ONE_THREAD = dict.fromkeys(_LIBRARIES, "1")
"""For processes that compile, replay or judge: none of them multiplies large matrices on the host."""
FOR_ORACLES = "KERNEL_GATE_ORACLE_THREADS"
"""The variable that says how many threads a worker's oracle may take: its share of the cores."""


def of_oracles() -> dict[str, str]:
    """For the process of an oracle, which may well multiply matrices; empty when nobody shares the machine."""
    share = os.environ.get(FOR_ORACLES)
    return dict.fromkeys(_LIBRARIES, share) if share else {}


def share_of_cores(workers: int) -> int:
    """Cores for each of so many workers."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // max(1, workers))
