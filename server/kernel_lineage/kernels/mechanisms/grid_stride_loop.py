"""A loop that strides over the threads of the whole grid."""

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
    for loop in unit.loops:
        if stride_of(unit, loop) is Stride.GRID_THREADS:
            yield seen(loop.node, f"{loop.counter} strides over the grid")


def _detect_triton(unit: TritonUnit) -> Iterator[Site]:
    for node in unit.loops:
        if isinstance(node, ast.For) and program_step(unit, node) == "elements":
            yield seen_in(unit, node.iter, "strides over the elements of all programs")


MECHANISM = Mechanism(
    title="Grid-stride loop",
    direction=Direction.PARALLEL_MAPPING,
    summary="Lets a grid of any size cover any amount of work, so that threads and their set-up are reused.",
    looks_for="Loops that start at the thread's place in the grid and step by the size of the grid.",
    detect=in_units(_detect_cuda, _detect_triton),
    conditions=(
        profit("launch.grid.x >= device.sms", "hardware", "Fewer blocks leave processors idle."),
        profit("N >= 65536", "shape", "Small inputs need no loop."),
    ),
)
