"""Atomic updates of global memory."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_forms import Call
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import in_assembly, seen, seen_in
from kernel_lineage.kernels.triton_forms import TritonCall
from kernel_lineage.kernels.triton_syntax import TritonUnit, pointer_of
from kernel_lineage.kernels.units import in_units

_ATOMICS = frozenset({
    "atomicAdd", "atomicSub", "atomicMax", "atomicMin", "atomicExch", "atomicCAS", "atomicInc", "atomicDec",
    "atomicAnd", "atomicOr", "atomicXor", "atomicAdd_block", "atomicAdd_system", "gpuAtomicAdd",
    "gpuAtomicAddNoReturn", "fastAtomicAdd", "gpuAtomicMax", "gpuAtomicMin", "gpuAtomicMul",
})  # fmt: skip
"""CUDA's own, and those of PyTorch's `Atomic.cuh` that stand for them."""
_REFERENCES = frozenset(
    {"fetch_add", "fetch_sub", "fetch_max", "fetch_min", "fetch_or", "fetch_and", "fetch_xor"}
)
_PTX = ("red.global", "atom.global", "red.relaxed.gpu", "red.async", "cp.reduce.async.bulk")


def atomic_calls(unit: Unit) -> Iterator[tuple[Call, str, str]]:
    """Each atomic call of a CUDA C++ function, the array it updates and that array's space."""
    for call in unit.calls:
        if call.name in _ATOMICS and call.arguments:
            root = indexing(unit).place(call.arguments[0]).root
            yield call, root, indexing(unit).space_of(root)


def triton_atomics(unit: TritonUnit) -> Iterator[TritonCall]:
    """Each `tl.atomic_…` call."""
    return (c for c in unit.calls if c.of_language and c.name.startswith("atomic_") and c.node.args)


def _detect_cuda(unit: Unit) -> Iterator[Site]:
    for call, root, space in atomic_calls(unit):
        if space not in ("shared", "local"):
            yield seen(call.node, f"{call.name} on {root or 'memory'}", root)
    for call in unit.calls:
        if call.receiver and call.name in _REFERENCES:
            yield seen(call.node, f"{call.name} through an atomic reference")
    for _, node in in_assembly(unit, *_PTX):
        yield seen(node, "inline PTX updates memory atomically")


def _detect_triton(unit: TritonUnit) -> Iterator[Site]:
    for call in triton_atomics(unit):
        root = pointer_of(unit.form(call.node.args[0]))
        yield seen_in(unit, call.node, f"{call.qualified} on global memory", root)


MECHANISM = Mechanism(
    title="Global atomics",
    direction=Direction.ALGORITHM,
    summary="Combines the results of all blocks in memory by atomic updates, without a second kernel.",
    looks_for="`atomicAdd` and the like on global addresses, `tl.atomic_*`.",
    detect=in_units(_detect_cuda, _detect_triton),
    conditions=(
        validity(
            "dtype(x) in (float32, int32, uint32, float64)",
            "data types",
            "Other types have no atomic addition everywhere.",
        ),
        profit("launch.grid.x <= 4096", "shape", "Many updates of one address queue up."),
    ),
)
