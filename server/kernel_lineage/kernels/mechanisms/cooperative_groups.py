"""Cooperative groups name the set of threads that work together."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, validity
from kernel_lineage.kernels.mechanisms.seeing import seen
from kernel_lineage.kernels.units import in_units

_SCOPES = ("cg::", "cooperative_groups::")
_MAKERS = frozenset(
    {"this_thread_block", "this_grid", "this_cluster", "tiled_partition", "coalesced_threads"}
)


def _detect_in(unit: Unit) -> Iterator[Site]:
    for call in unit.calls:
        if call.qualified.startswith(_SCOPES) or (call.name in _MAKERS and not call.receiver):
            yield seen(call.node, f"{call.qualified} works on a group of threads")


MECHANISM = Mechanism(
    title="Cooperative groups",
    direction=Direction.PARALLEL_MAPPING,
    summary="Gives the threads that share a piece of work a name, with ranks, barriers and reductions of their own.",
    looks_for="Calls in `cooperative_groups`: partitions, groups of a block, a grid or a cluster, collectives.",
    detect=in_units(_detect_in),
    conditions=(
        validity("launch.block.x % 32 == 0", "shape", "A tile of 32 needs whole warps."),
        validity("toolchain.cuda >= (11, 0)", "pipeline", "`cg::reduce` came with CUDA 11."),
    ),
)
