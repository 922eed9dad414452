"""A row kept on chip between passes, so that it is read from memory once."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import bare, contains, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import seen, seen_in
from kernel_lineage.kernels.triton_forms import dotted
from kernel_lineage.kernels.triton_loops import program_step
from kernel_lineage.kernels.triton_syntax import TritonUnit, pointer_of
from kernel_lineage.kernels.units import in_entry, in_units, joined

_REDUCTIONS = frozenset({"sum", "max", "min", "reduce", "argmax", "xor_sum", "cumsum"})


def _detect_cuda(unit: Unit) -> Iterator[Site]:
    """A local or shared array that one loop fills from global memory and another loop reads."""
    reach = indexing(unit)
    loads = [a for a in reach.accesses if a.reads and a.space == "global"]
    for write in reach.accesses:
        if not write.writes or write.space not in ("local", "shared") or not unit.loops_around(write.node):
            continue
        outer = unit.loops_around(write.node)[0]
        source = _origin(reach.unit, unit.values_of_targets.get(write.node.id))
        if source is None or not any(contains(source, a.node) for a in loads):
            continue
        for read in reach.accesses:
            later = read.root == write.root and read.reads and read.node.start_byte > outer.node.end_byte
            # The same places in the same order: each thread comes back to its own elements of the row.
            if later and unit.loops_around(read.node) and _own_axes(read.index) == _own_axes(write.index):
                yield seen(write.node, f"{write.root} keeps the row for the next pass")
                return


def _own_axes(form: object) -> set[str]:
    return {axis for axis in form if not axis.startswith("loop@")} if isinstance(form, dict) else set()


def _origin(unit: Unit, value: Node | None) -> Node | None:
    value = bare(value)
    if value is not None and value.type == "identifier":
        definition = unit.value_of(text_of(value), value.start_byte)
        return definition if definition is not None else value
    return value


def _detect_triton(unit: TritonUnit) -> Iterator[Site]:
    """A loaded block that is reduced, and used again after that."""
    for name, pairs in unit.assignments.items():
        for line, value in pairs:
            call = next((c for c in unit.loads() if c.node in unit.inside(value)), None)
            if call is None or _within_a_row(unit, call.node) or not _is_block(unit, call.node.args[0]):
                continue
            names = _same_block(unit, name, line)
            reductions = [
                c.node
                for c in unit.calls
                if c.name in _REDUCTIONS and c.of_language and names & unit.names_in(c.node)
            ]
            within = {n for call_node in reductions for n in unit.inside(call_node)}
            used = [
                n.lineno
                for n in unit.nodes.get(ast.Name, ())
                if isinstance(n, ast.Name)
                and n.id in names
                and isinstance(n.ctx, ast.Load)
                and n.lineno > line
                and n not in within
            ]
            if reductions and any(use >= min(r.lineno for r in reductions) for use in used):
                root = pointer_of(unit.form(call.node.args[0]))
                yield seen_in(unit, call.node, f"the row of {root or 'a tensor'} stays in {name}")
                return


def _within_a_row(unit: TritonUnit, node: ast.AST) -> bool:
    """Whether a loop is around it; one over rows, which a program takes one after the other, does not count."""
    return any(
        not isinstance(loop, ast.For) or program_step(unit, loop) != "programs"
        for loop in unit.loops_around(node)
    )


def _same_block(unit: TritonUnit, name: str, line: int) -> set[str]:
    """The names that hold a block and its conversions: `x32 = x.to(tl.float32)`."""
    names = {name}
    for other, pairs in unit.assignments.items():
        for at, value in pairs:
            converted = isinstance(value, ast.Call) and dotted(value.func) == f"{name}.to"
            if at > line and converted:
                names.add(other)
    return names


def _is_block(unit: TritonUnit, address: ast.expr) -> bool:
    return any(axis.startswith("arange") for axis in unit.form(address))


MECHANISM = Mechanism(
    title="Row kept on chip",
    direction=Direction.DATA_REUSE,
    summary="Keeps a row in registers or shared memory between passes over it, so that memory is read once.",
    looks_for="Arrays that one loop fills and a later loop reads; in Triton a block that is reduced and used again.",
    detect=joined(in_units(_detect_cuda), in_entry(in_triton=_detect_triton)),
    conditions=(
        profit("kernel.spills == 0", "pipeline", "A row that spills is read from memory again."),
        validity("C <= 16384", "shape", "The row must fit on chip; longer ones need a loop."),
        validity(
            "launch.shared_bytes <= device.shared_bytes_per_block", "hardware", "So must its shared copy."
        ),
    ),
)
