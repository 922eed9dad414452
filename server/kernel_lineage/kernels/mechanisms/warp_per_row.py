"""One warp works on each row."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_indexing import Access, indexing
from kernel_lineage.kernels.cuda_mapping import Stride, is_contiguous, is_row_pitch, row_is_shared_by
from kernel_lineage.kernels.cuda_syntax import Unit, cuda_syntax
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import seen
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.kernels.units import of_kernel


def _owned_by_a_warp(unit: Unit, access: Access) -> bool:
    if access.space != "global" or not access.reads or not is_contiguous(access):
        return False
    owned = is_row_pitch(access.index.get("warp", 0)) or is_row_pitch(access.index.get("y", 0))
    return owned and row_is_shared_by(unit, access, Stride.WARP)


def _detect(kernel: Kernel) -> Iterator[Site]:
    syntax = cuda_syntax(kernel)
    for unit in syntax.units if syntax is not None else ():
        for access in indexing(unit).accesses:
            if _owned_by_a_warp(unit, access):
                yield seen(access.node, f"a warp strides along its row of {access.root}")
                return


MECHANISM = Mechanism(
    title="Warp per row",
    direction=Direction.PARALLEL_MAPPING,
    summary="Gives each row to one warp, whose lanes read it side by side and reduce it without barriers.",
    looks_for="Row offsets that move with the warp's index, and loops that stride over the lanes of a warp.",
    detect=of_kernel(_detect, Language.CUDA),
    conditions=(
        validity("launch.block.x % 32 == 0", "shape", "A row needs a whole warp."),
        profit("C >= 32", "shape", "Shorter rows leave lanes without work."),
        profit("C <= 8192", "shape", "Very long rows are better shared by a block."),
    ),
)
