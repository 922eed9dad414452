"""Values exchanged between the threads of a warp through registers."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_forms import Call
from kernel_lineage.kernels.cuda_syntax import CudaSyntax, cuda_syntax
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, TypicalCondition
from kernel_lineage.kernels.mechanisms.seeing import CUDA_ONLY, cuda, seen
from kernel_lineage.kernels.source import Kernel

ID = "warp_shuffle"

_INTRINSICS = ("__shfl", "__reduce_")
_METHODS = frozenset({"shfl", "shfl_down", "shfl_up", "shfl_xor"})


def _exchanges(call: Call, syntax: CudaSyntax) -> bool:
    if call.name.startswith(_INTRINSICS) and "sync" in call.name:
        return True
    if call.receiver:
        return call.name in _METHODS
    if call.name == "reduce" and call.qualified in ("cg::reduce", "cooperative_groups::reduce"):
        return True
    # A helper of another file is known by its name alone.
    here = {unit.name for unit in syntax.units}
    return call.name not in here and (_is_warp_reduction(call.name) or _is_warp_reduction(call.template))


def _is_warp_reduction(name: str) -> bool:
    plain = name.lower().replace("_", "").rpartition("::")[2]
    return plain.startswith(("warpreduce", "warpallreduce"))


def _detect(kernel: Kernel) -> Iterator[Site]:
    syntax = cuda_syntax(kernel)
    if syntax is not None:
        for unit in syntax.units:
            for call in unit.calls:
                if _exchanges(call, syntax):
                    yield seen(ID, call.node, f"{call.qualified} exchanges values within a warp")


MECHANISM = Mechanism(
    id=ID,
    title="Warp shuffle",
    direction=Direction.INSTRUCTION_THROUGHPUT,
    summary="Exchanges values between the threads of a warp in registers, without shared memory or barriers.",
    looks_for="`__shfl_*_sync`, `__reduce_*_sync`, `shfl` methods of tiles, `cg::reduce`, and warp reduction helpers.",
    detect=_detect,
    languages=CUDA_ONLY,
    conditions=(
        TypicalCondition(
            "launch.block.x % 32 == 0", "validity", "shape", "A full mask names all 32 lanes of a warp."
        ),
        TypicalCondition(
            "device.compute_capability >= (3, 0)",
            "validity",
            "hardware",
            "Shuffles came with that generation.",
        ),
    ),
    present=(
        cuda("""
            __device__ float warp_sum(float v) {
                for (int offset = 16; offset > 0; offset /= 2) { v += __shfl_down_sync(0xffffffffu, v, offset); }
                return v;
            }
            __global__ void total(float* out, const float* inp) {
                float v = warp_sum(inp[blockIdx.x * 32 + threadIdx.x]);
                if (threadIdx.x == 0) { out[blockIdx.x] = v; }
            }
            """),
        cuda("""
            #include <cooperative_groups/reduce.h>
            namespace cg = cooperative_groups;
            __global__ void total(float* out, const float* inp) {
                cg::thread_block block = cg::this_thread_block();
                cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
                float v = cg::reduce(warp, inp[threadIdx.x], cg::plus<float>{});
                if (warp.thread_rank() == 0) { out[0] = v; }
            }
            """),
    ),
    absent=(
        cuda("""
            __global__ void total(float* out, const float* inp) {
                __shared__ float part[32];
                part[threadIdx.x] = inp[threadIdx.x];  // __shfl_down_sync would do
                __syncthreads();
                if (threadIdx.x == 0) { out[0] = part[0] + part[1]; }
            }
            """),
        cuda("""
            __device__ int reduce(int a, int b) { return a < b ? a : b; }
            __device__ int shfl(int a) { return a * 7; }
            __global__ void pick(int* out, const int* inp) { out[threadIdx.x] = reduce(shfl(inp[0]), inp[1]); }
            """),
    ),
)
