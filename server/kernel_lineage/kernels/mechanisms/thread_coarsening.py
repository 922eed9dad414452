"""Each thread, or each Triton program, works on several elements or blocks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_lineage.kernels.cuda_expressions import integer_of
from kernel_lineage.kernels.cuda_forms import Loop, bare, contains, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_mapping import Stride, moves_along_loop, stride_of
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.linear_forms import lane_stride
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit
from kernel_lineage.kernels.mechanisms.seeing import seen, seen_in
from kernel_lineage.kernels.triton_loops import range_arguments
from kernel_lineage.kernels.triton_syntax import TritonUnit
from kernel_lineage.kernels.units import in_entry, in_units, joined


def _is_constant(unit: Unit, loop: Loop) -> bool:
    bound = bare(loop.bound)
    if bound is None:
        return False
    if integer_of(bound) is not None:
        return True
    name = text_of(bound)
    templates = {p.name for p in unit.kernel.template_parameters}
    return bound.type == "qualified_identifier" or name in templates or (name.isupper() and len(name) > 1)


def _detect_in(unit: Unit) -> Iterator[Site]:
    reach = indexing(unit)
    touched = [a for a in reach.accesses if a.space == "global"]
    for loop in unit.loops:
        inside = [a for a in touched if contains(loop.node, a.node) and moves_along_loop(a, loop)]
        if not inside:
            continue
        if stride_of(unit, loop) in (Stride.BLOCK, Stride.WARP):
            yield seen(loop.node, f"each thread takes every so many elements of {inside[0].root}")
        elif _is_constant(unit, loop) and any(lane_stride(a.index) != 0 and a.writes for a in inside):
            yield seen(loop.node, f"each thread makes {text_of(loop.bound)} elements")


def _detect_triton(entry: TritonUnit) -> Iterator[Site]:
    constants = {p.name for p in entry.kernel.parameters if p.constexpr}
    calls = [(c, entry.form(c.node.args[0])) for c in (*entry.loads(), *entry.stores())]
    for loop in entry.loops:
        if not isinstance(loop, ast.For):
            continue
        start, stop, step = range_arguments(loop)
        by_blocks = (
            isinstance(step, ast.Name) and step.id in constants and (start is None or not entry.form(start))
        )
        few = isinstance(stop, ast.Name) and stop.id in constants and step is None and start is None
        if (by_blocks or few) and any(
            f"loop@{loop.lineno}" in form and "arange" in form for _, form in calls
        ):
            yield seen_in(entry, loop.iter, "each program takes one block after the other")


MECHANISM = Mechanism(
    title="Thread coarsening",
    direction=Direction.PARALLEL_MAPPING,
    summary="Gives each thread several elements, so that it reduces in registers and its set-up is shared.",
    looks_for="Loops over a row that stride by the block or the warp, and loops of constant length over results.",
    detect=joined(in_units(_detect_in), in_entry(in_triton=_detect_triton)),
    conditions=(
        profit("C > launch.block.x", "shape", "With one element per thread there is nothing to do."),
        profit("launch.grid.x >= device.sms", "hardware", "Fewer threads must still fill the device."),
    ),
)
