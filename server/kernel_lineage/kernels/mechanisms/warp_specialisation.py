"""Warps of one block that do different work: some load, the others compute."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import in_assembly, seen, seen_in
from kernel_lineage.kernels.triton_syntax import TritonUnit
from kernel_lineage.kernels.units import in_units

_CALLS = (
    "warpgroup_reg_alloc", "warpgroup_reg_dealloc", "reg_alloc", "reg_dealloc", "cudaSetMaxNReg", "bar_arrive",
)  # fmt: skip
_PTX = ("setmaxnreg", "bar.arrive", "barrier.arrive")


def _detect_cuda(unit: Unit) -> Iterator[Site]:
    for call in unit.calls:
        if call.name in _CALLS:
            yield seen(call.node, f"{call.name} shares out registers or work among warps")
    for _, node in in_assembly(unit, *_PTX):
        yield seen(node, "inline PTX shares out registers or work among warps")


def _detect_triton(unit: TritonUnit) -> Iterator[Site]:
    for call in unit.called("range"):
        asked = call.keyword("warp_specialize")
        if asked is not None and not (isinstance(asked, ast.Constant) and not asked.value):
            yield seen_in(unit, call.node, "the loop's loads go to warps of their own")
    for call in unit.called("async_task", "warp_specialize", "async_tasks"):
        yield seen_in(unit, call.node, f"{call.qualified} splits the warps")


MECHANISM = Mechanism(
    title="Warp specialisation",
    direction=Direction.LATENCY_HIDING,
    summary="Gives loading and computing to warps of their own, so that neither waits for its turn.",
    looks_for="Registers moved between warp groups (`setmaxnreg`, `warpgroup_reg_alloc`), arrivals at named barriers; "
    "in Triton `warp_specialize`.",
    detect=in_units(_detect_cuda, _detect_triton),
    conditions=(
        validity("device.compute_capability >= (9, 0)", "hardware", "Warps trade registers from Hopper on."),
        profit("launch.block.x >= 256", "shape", "A producer must feed more than one consumer."),
    ),
)
