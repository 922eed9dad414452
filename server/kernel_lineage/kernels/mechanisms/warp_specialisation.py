"""Warps of one block that do different work: some load, the others compute."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_lineage.kernels.cuda_syntax import cuda_syntax
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import BOTH, seen, seen_in
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_syntax import triton_syntax

ID = "warp_specialisation"

_CALLS = (
    "warpgroup_reg_alloc", "warpgroup_reg_dealloc", "reg_alloc", "reg_dealloc", "cudaSetMaxNReg", "bar_arrive",
)  # fmt: skip
_PTX = ("setmaxnreg", "bar.arrive", "barrier.arrive")


def _detect(kernel: Kernel) -> Iterator[Site]:
    syntax = cuda_syntax(kernel)
    if syntax is not None:
        for call in syntax.calls(*_CALLS):
            yield seen(ID, call.node, f"{call.name} shares out registers or work among warps")
        for unit in syntax.units:
            for code, node in unit.assembly:
                if any(instruction in code for instruction in _PTX):
                    yield seen(ID, node, "inline PTX shares out registers or work among warps")
    python = triton_syntax(kernel)
    if python is not None:
        for triton_unit, triton_call in python.calls("range"):
            asked = triton_call.keyword("warp_specialize")
            if asked is not None and not (isinstance(asked, ast.Constant) and not asked.value):
                yield seen_in(ID, triton_unit, triton_call.node, "the loop's loads go to warps of their own")
        for triton_unit, triton_call in python.calls("async_task", "warp_specialize", "async_tasks"):
            yield seen_in(ID, triton_unit, triton_call.node, f"{triton_call.qualified} splits the warps")


MECHANISM = Mechanism(
    id=ID,
    title="Warp specialisation",
    direction=Direction.LATENCY_HIDING,
    summary="Gives loading and computing to warps of their own, so that neither waits for its turn.",
    looks_for="Registers moved between warp groups (`setmaxnreg`, `warpgroup_reg_alloc`), arrivals at named barriers; "
    "in Triton `warp_specialize`.",
    detect=_detect,
    languages=BOTH,
    conditions=(
        validity("device.compute_capability >= (9, 0)", "hardware", "Warps trade registers from Hopper on."),
        profit("launch.block.x >= 256", "shape", "A producer must feed more than one consumer."),
    ),
)
