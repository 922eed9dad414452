"""Shuffles become an exchange through shared memory: a thread writes its value, its warp waits, it reads another's."""

from __future__ import annotations

from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.rewrite.candidate import Edit
from kernel_lineage.rewrite.simplifications.functions import calls_replaced, functions_rewritten, seen_in
from kernel_lineage.rewrite.simplifications.model import Simplification

_FROM = {
    "__shfl_sync": "({}) & 31",
    "__shfl_xor_sync": "own_lane() ^ ({})",
    "__shfl_down_sync": "own_lane() + ({})",
    "__shfl_up_sync": "own_lane() - ({})",
}
"""Shuffle → the lane that is read. One outside of the warp keeps a lane's own value."""
_WHOLE = frozenset({"32", "warpSize", "WARP_SIZE"})
_NEEDS = """\
__device__ int own_lane() {
    return ((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x) % 32;
}

template <typename T>
__device__ T exchanged(unsigned mask, T value, int lane) {
    __shared__ T held[1024];
    int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    held[thread] = value;
    __syncwarp(mask);
    T taken = held[lane >= 0 && lane < 32 ? thread - own_lane() + lane : thread];
    __syncwarp(mask);
    return taken;
}

"""


def _simplify(kernel: Kernel) -> tuple[Edit, ...]:
    data = kernel.source.data.decode("utf-8", "replace") if kernel.source is not None else ""
    if seen_in(data, r"\b(?:own_lane|exchanged)\b"):
        return ()
    return functions_rewritten(kernel, _through_shared, _NEEDS)


def _through_shared(text: str) -> str:
    return calls_replaced(text, "|".join(_FROM), _exchange)


def _exchange(name: str, args: list[str]) -> str | None:
    # Parts of a warp keep apart what this would mix.
    if len(args) not in (3, 4) or (len(args) == 4 and args[3] not in _WHOLE):
        return None
    return f"exchanged({args[0]}, {args[1]}, {_FROM[name].format(args[2])})"


SIMPLIFICATION = Simplification(
    title="shuffles made an exchange through shared memory",
    weakens="warp_shuffle",
    languages=frozenset({Language.CUDA}),
    simplify=_simplify,
)
