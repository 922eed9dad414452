"""Blocks or programs that stay and take one tile after the other."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_lineage.kernels.cuda_mapping import Stride, stride_of
from kernel_lineage.kernels.cuda_syntax import cuda_syntax
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit
from kernel_lineage.kernels.mechanisms.seeing import BOTH, seen, seen_in
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_loops import program_step
from kernel_lineage.kernels.triton_syntax import triton_syntax

ID = "persistent_loop"


def _detect(kernel: Kernel) -> Iterator[Site]:
    syntax = cuda_syntax(kernel)
    if syntax is not None:
        for loop in syntax.entry.loops:
            if stride_of(syntax.entry, loop) is Stride.GRID_BLOCKS:
                yield seen(ID, loop.node, f"each block takes every gridDim-th {loop.counter}")
    python = triton_syntax(kernel)
    for unit in python.units if python is not None else ():
        for node in unit.loops:
            if isinstance(node, ast.For) and program_step(unit, node) == "programs":
                yield seen_in(ID, unit, node.iter, "each program takes one tile after the other")


MECHANISM = Mechanism(
    id=ID,
    title="Persistent loop",
    direction=Direction.LAUNCH,
    summary="Launches as many blocks as fit and lets each take tile after tile, so that set-up is paid once.",
    looks_for="Loops that start at the block's or program's number and step by how many there are.",
    detect=_detect,
    languages=BOTH,
    conditions=(
        profit("launch.grid.x >= device.sms", "hardware", "Fewer blocks leave processors idle."),
        profit("N >= 4096", "shape", "With few tiles there is nothing to keep."),
    ),
)
