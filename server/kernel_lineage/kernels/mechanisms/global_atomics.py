"""Atomic updates of global memory."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_forms import Call
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import Unit, cuda_syntax
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import BOTH, seen, seen_in
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_forms import TritonCall
from kernel_lineage.kernels.triton_syntax import TritonUnit, pointer_of, triton_syntax

ID = "global_atomics"

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


def _detect(kernel: Kernel) -> Iterator[Site]:
    syntax = cuda_syntax(kernel)
    for unit in syntax.units if syntax is not None else ():
        for call, root, space in atomic_calls(unit):
            if space not in ("shared", "local"):
                yield seen(ID, call.node, f"{call.name} on {root or 'memory'}", root)
        for call in unit.calls:
            if call.receiver and call.name in _REFERENCES:
                yield seen(ID, call.node, f"{call.name} through an atomic reference")
        for code, node in unit.assembly:
            if any(mark in code for mark in _PTX):
                yield seen(ID, node, "inline PTX updates memory atomically")
    python = triton_syntax(kernel)
    for triton_unit in python.units if python is not None else ():
        for triton_call in triton_atomics(triton_unit):
            root = pointer_of(triton_unit.form(triton_call.node.args[0]))
            yield seen_in(
                ID, triton_unit, triton_call.node, f"{triton_call.qualified} on global memory", root
            )


MECHANISM = Mechanism(
    id=ID,
    title="Global atomics",
    direction=Direction.ALGORITHM,
    summary="Combines the results of all blocks in memory by atomic updates, without a second kernel.",
    looks_for="`atomicAdd` and the like on global addresses, `tl.atomic_*`.",
    detect=_detect,
    languages=BOTH,
    conditions=(
        validity(
            "dtype(x) in (float32, int32, uint32, float64)",
            "data types",
            "Other types have no atomic addition everywhere.",
        ),
        profit("launch.grid.x <= 4096", "shape", "Many updates of one address queue up."),
    ),
)
