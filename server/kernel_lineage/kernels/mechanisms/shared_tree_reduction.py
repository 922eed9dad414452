"""A block's values reduced through shared memory."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernel_lineage.kernels.cuda_forms import contains
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import Unit, cuda_syntax
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import first_type, seen
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.kernels.units import of_kernel

_BARRIERS = ("__syncthreads", "sync", "__barrier_sync", "barrier_sync")

_HELPERS = re.compile(
    r"(?:cub::)?(?:block_?(?:all_?)?reduce(?:_?(?:sum|max|min))?|block_?sum|block_?max)", re.IGNORECASE
)
_LIBRARY = re.compile(r"\bcub::(?:BlockReduce|BlockScan)\b|\bBlockReduce\s*<")
"""CUB's collectives of a block."""


def _detect_in(unit: Unit) -> Iterator[Site]:
    # A helper is handed its array as a pointer: threads that wait for each other over it share it.
    accesses = [a for a in indexing(unit).accesses if a.space in ("shared", "unknown")]
    for loop in unit.loops:
        if loop.halves and any(
            contains(loop.node, c.node) for name in _BARRIERS for c in unit.calls_by_name.get(name, ())
        ):
            root = next((a.root for a in accesses if a.writes and contains(loop.node, a.node)), None)
            if root is not None:
                yield seen(loop.node, f"{root} is folded in halves", by="halves")
    # Each warp leaves its partial result; then the partial results are read side by side, or one by one.
    own = [a for a in accesses if a.space == "shared" and a.writes and len(a.indices) == 1]
    partial = {a.root for a in own if a.index.get("warp") == 1}
    for access in accesses:
        gathers = access.reads and not access.writes and access.root in partial
        if gathers and (
            "lane" in access.index or "x" in access.index or any(k[:4] == "loop" for k in access.index)
        ):
            yield seen(access.node, f"the warps' results meet in {access.root}", by="warps")
            return


def _detect(kernel: Kernel) -> Iterator[Site]:
    syntax = cuda_syntax(kernel)
    if syntax is not None:
        here = {unit.name for unit in syntax.units}
        for unit in syntax.units:
            yield from _detect_in(unit)
            collective = first_type(unit, _LIBRARY)
            if collective is not None:
                yield seen(collective[1], "CUB reduces over the block", by="cub")
            for call in unit.calls:
                if _HELPERS.fullmatch(call.name) and call.name not in here and not call.receiver:
                    yield seen(call.node, f"{call.name} reduces over the block", certain=False)


MECHANISM = Mechanism(
    title="Block reduction through shared memory",
    direction=Direction.PARALLEL_MAPPING,
    summary="Combines the values of a block's threads in a number of steps that grows with the logarithm of the block.",
    looks_for="Halving loops over a shared array with barriers, and per-warp results that meet in a shared array.",
    detect=of_kernel(_detect, Language.CUDA),
    conditions=(
        validity(
            "launch.block.x in (32, 64, 128, 256, 512, 1024)",
            "shape",
            "Halving loses elements of a block that is no power of two.",
        ),
        profit("C >= 256", "shape", "Barriers cost more than a short row's work."),
    ),
)
