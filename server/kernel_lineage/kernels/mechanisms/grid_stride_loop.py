"""A loop that strides over the threads of the whole grid."""

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

ID = "grid_stride_loop"


def _detect(kernel: Kernel) -> Iterator[Site]:
    syntax = cuda_syntax(kernel)
    for unit in syntax.units if syntax is not None else ():
        for loop in unit.loops:
            if stride_of(unit, loop) is Stride.GRID_THREADS:
                yield seen(ID, loop.node, f"{loop.counter} strides over the grid")
    python = triton_syntax(kernel)
    for triton_unit in python.units if python is not None else ():
        for node in triton_unit.loops:
            if isinstance(node, ast.For) and program_step(triton_unit, node) == "elements":
                yield seen_in(ID, triton_unit, node.iter, "strides over the elements of all programs")


MECHANISM = Mechanism(
    id=ID,
    title="Grid-stride loop",
    direction=Direction.PARALLEL_MAPPING,
    summary="Lets a grid of any size cover any amount of work, so that threads and their set-up are reused.",
    looks_for="Loops that start at the thread's place in the grid and step by the size of the grid.",
    detect=_detect,
    languages=BOTH,
    conditions=(
        profit("launch.grid.x >= device.sms", "hardware", "Fewer blocks leave processors idle."),
        profit("N >= 65536", "shape", "Small inputs need no loop."),
    ),
)
