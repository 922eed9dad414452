"""One warp works on each row."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_indexing import Access, indexing
from kernel_lineage.kernels.cuda_mapping import Stride, is_contiguous, is_row_pitch, row_is_shared_by
from kernel_lineage.kernels.cuda_syntax import Unit, cuda_syntax
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, TypicalCondition
from kernel_lineage.kernels.mechanisms.seeing import CUDA_ONLY, cuda, seen
from kernel_lineage.kernels.source import Kernel

ID = "warp_per_row"


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
                yield seen(ID, access.node, f"a warp strides along its row of {access.root}")
                return


MECHANISM = Mechanism(
    id=ID,
    title="Warp per row",
    direction=Direction.PARALLEL_MAPPING,
    summary="Gives each row to one warp, whose lanes read it side by side and reduce it without barriers.",
    looks_for="Row offsets that move with the warp's index, and loops that stride over the lanes of a warp.",
    detect=_detect,
    languages=CUDA_ONLY,
    conditions=(
        TypicalCondition("launch.block.x % 32 == 0", "validity", "shape", "A row needs a whole warp."),
        TypicalCondition("C >= 32", "profit", "shape", "Shorter rows leave lanes without work."),
        TypicalCondition("C <= 8192", "profit", "shape", "Very long rows are better shared by a block."),
    ),
    present=(
        cuda("""
            __global__ void scale_rows(float* out, const float* inp, int N, int C) {
                int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
                int row = blockIdx.x * (blockDim.x / 32) + warp;
                if (row >= N) { return; }
                for (int i = lane; i < C; i += 32) { out[row * C + i] = 2.0f * inp[row * C + i]; }
            }
            """),
        cuda("""
            namespace cg = cooperative_groups;
            __global__ void scale_rows(float* out, const float* inp, int N, int C) {
                auto warp = cg::tiled_partition<32>(cg::this_thread_block());
                int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
                const float* x = inp + row * C;
                for (int i = warp.thread_rank(); i < C; i += warp.size()) { out[row * C + i] = 2.0f * x[i]; }
            }
            """),
    ),
    absent=(
        cuda("""
            __global__ void scale_rows(float* out, const float* inp, int C) {
                for (int i = threadIdx.x; i < C; i += blockDim.x) {
                    out[blockIdx.x * C + i] = 2.0f * inp[blockIdx.x * C + i];
                }
            }
            """),
        cuda("""
            __global__ void mark(float* out) {
                int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
                if (lane == 0) { out[blockIdx.x * (blockDim.x / 32) + warp] = 1.0f; }
            }
            """),
    ),
)
