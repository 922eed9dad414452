"""Blocks or programs that stay and take one tile after the other."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_lineage.kernels.cuda_mapping import Stride, stride_of
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit
from kernel_lineage.kernels.mechanisms.seeing import seen, seen_in
from kernel_lineage.kernels.triton_loops import program_step
from kernel_lineage.kernels.triton_syntax import TritonUnit
from kernel_lineage.kernels.units import in_units


def _detect_cuda(unit: Unit) -> Iterator[Site]:
    for loop in unit.loops if unit.entry else ():
        if stride_of(unit, loop) is Stride.GRID_BLOCKS:
            yield seen(loop.node, f"each block takes every gridDim-th {loop.counter}")


def _detect_triton(unit: TritonUnit) -> Iterator[Site]:
    for node in unit.loops:
        if isinstance(node, ast.For) and program_step(unit, node) == "programs":
            yield seen_in(unit, node.iter, "each program takes one tile after the other")


MECHANISM = Mechanism(
    title="Persistent loop",
    direction=Direction.LAUNCH,
    summary="Launches as many blocks as fit and lets each take tile after tile, so that set-up is paid once.",
    looks_for="Loops that start at the block's or program's number and step by how many there are.",
    detect=in_units(_detect_cuda, _detect_triton),
    conditions=(
        profit("launch.grid.x >= device.sms", "hardware", "Fewer blocks leave processors idle."),
        profit("N >= 4096", "shape", "With few tiles there is nothing to keep."),
    ),
)
