"""Values exchanged between the threads of a warp through registers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernel_lineage.kernels.cuda_forms import Call
from kernel_lineage.kernels.cuda_syntax import cuda_syntax
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, validity
from kernel_lineage.kernels.mechanisms.seeing import first_type, seen
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.kernels.units import of_kernel

_INTRINSICS = ("__shfl", "__reduce_")
_METHODS = frozenset({"shfl", "shfl_down", "shfl_up", "shfl_xor"})
_COLLECTIVES = frozenset({"reduce", "inclusive_scan", "exclusive_scan", "invoke_one_broadcast"})
_GROUPS = ("cg::", "cooperative_groups::")
_LIBRARIES = re.compile(
    r"\bcub::(?:WarpReduce|WarpScan|WarpExchange|ShuffleDown|ShuffleIndex|ShuffleUp)\b|\bWARP_SHFL(?:_XOR|_DOWN|_UP)?$"
)
"""CUB's collectives of a warp, and PyTorch's `DeviceUtils.cuh`."""


def _exchanges(call: Call, here: set[str]) -> bool | None:
    """Whether a call exchanges values within a warp; None where only the name of a function elsewhere says so."""
    if (call.name.startswith(_INTRINSICS) and "sync" in call.name) or call.name in (
        "__shfl",
        "__shfl_down",
        "__shfl_xor",
        "__shfl_up",
    ):
        return True
    if call.receiver:
        return call.name in _METHODS
    if call.name in _COLLECTIVES and call.qualified.startswith(_GROUPS):
        return True
    if _LIBRARIES.search(call.qualified):
        return True
    # A helper of another file is known by its name alone.
    elsewhere = call.name not in here and (_is_warp_reduction(call.name) or _is_warp_reduction(call.template))
    return None if elsewhere else False


def _is_warp_reduction(name: str) -> bool:
    plain = name.lower().replace("_", "").rpartition("::")[2]
    return plain.startswith(("warpreduce", "warpallreduce", "warpscan", "warpsum", "warpmax"))


def _detect(kernel: Kernel) -> Iterator[Site]:
    syntax = cuda_syntax(kernel)
    here = {unit.name for unit in syntax.units} if syntax is not None else set()
    for unit in syntax.units if syntax is not None else ():
        for call in unit.calls:
            exchanges = _exchanges(call, here)
            if exchanges is not False:
                note = f"{call.qualified} exchanges values within a warp"
                yield seen(call.node, note, certain=exchanges is True)
        for code, node in unit.assembly:
            if "shfl.sync" in code or "redux.sync" in code:
                yield seen(node, "inline PTX exchanges values within a warp")
        collective = first_type(unit, _LIBRARIES)
        if collective is not None:
            yield seen(collective[1], f"{collective[0][0]} exchanges values within a warp")


MECHANISM = Mechanism(
    title="Warp shuffle",
    direction=Direction.INSTRUCTION_THROUGHPUT,
    summary="Exchanges values between the threads of a warp in registers, without shared memory or barriers.",
    looks_for="`__shfl_*_sync`, `__reduce_*_sync`, `shfl` methods of tiles, `cg::reduce`, and warp reduction helpers.",
    detect=of_kernel(_detect, Language.CUDA),
    conditions=(
        validity("launch.block.x % 32 == 0", "shape", "A full mask names all 32 lanes of a warp."),
        validity("device.compute_capability >= (3, 0)", "hardware", "Shuffles came with that generation."),
    ),
)
