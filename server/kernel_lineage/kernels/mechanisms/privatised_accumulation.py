"""Each block or program gathers its own partial result before anything is shared."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_expressions import integer_of
from kernel_lineage.kernels.cuda_forms import bare, contains, operator_of, test_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_mapping import is_row_pitch
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.linear_forms import lane_stride
from kernel_lineage.kernels.mechanisms.global_atomics import atomic_calls, triton_atomics
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import seen, seen_in
from kernel_lineage.kernels.triton_forms import dotted
from kernel_lineage.kernels.triton_syntax import TritonUnit
from kernel_lineage.kernels.units import in_units


def one_thread_only(unit: Unit, node: Node) -> bool:
    """Whether a node is under `if (threadIdx.x == 0)`, or what stands for it."""
    for statement in unit.of("if_statement"):
        if not contains(statement, node):
            continue
        condition = test_of(statement)
        waiting = [condition] if condition is not None else []
        while waiting:
            test = bare(waiting.pop())
            if test is None or test.type != "binary_expression":
                continue
            left, right = test.child_by_field_name("left"), test.child_by_field_name("right")
            if operator_of(test) in ("&&", "||"):
                waiting += [side for side in (left, right) if side is not None]
            elif (
                operator_of(test) == "=="
                and integer_of(right) == 0
                and lane_stride(indexing(unit).form(left)) == 1
            ):
                return True
    return False


def _detect_cuda(unit: Unit) -> Iterator[Site]:
    for call, root, space in atomic_calls(unit):
        if space == "shared":
            yield seen(call.node, f"the block gathers in {root}")
        elif space == "global" and one_thread_only(unit, call.node):
            yield seen(call.node, f"one update of {root} per block or warp")
    for access in indexing(unit).accesses:
        owned = access.space == "global" and access.writes and not access.reads and len(access.index) == 1
        if not owned or access.index.get("block") != 1 or not _gathers(unit) or not _splits_one_array(unit):
            continue
        if one_thread_only(unit, access.node):
            yield seen(access.node, f"{access.root} holds one partial result per block")


def _splits_one_array(unit: Unit) -> bool:
    """Whether the blocks share one array: a block that owns its row stores a result, not a part of one."""
    for access in indexing(unit).accesses:
        block = access.index.get("block", 0)
        read = access.space == "global" and access.reads and lane_stride(access.index) == 1
        if read and block not in (0, 1, "?") and not is_row_pitch(block):
            return True
    return False


def _gathers(unit: Unit) -> bool:
    """Whether values of several threads come together before: through shared memory or shuffles."""
    exchanged = any(c.name.startswith("__shfl") or "reduce" in c.name.lower() for c in unit.calls)
    return exchanged or any(a.space == "shared" and a.writes for a in indexing(unit).accesses)


def _detect_triton(unit: TritonUnit) -> Iterator[Site]:
    gathered = {name for loop in unit.loops for name in _gathered_in(unit, loop)}
    for call in unit.stores():
        value = call.node.args[1] if len(call.node.args) > 1 else call.keyword("value")
        names = {n.id for n in unit.inside(value) if isinstance(n, ast.Name)} if value is not None else set()
        inside = {name for loop in unit.loops_around(call.node) for name in _gathered_in(unit, loop)}
        if (
            names & (gathered - inside)
            and "program" in unit.form(call.node.args[0])
            and _owns_many_rows(unit)
        ):
            yield seen_in(unit, call.node, "each program stores its own partial result")
    for call in triton_atomics(unit):
        value = call.node.args[1] if len(call.node.args) > 1 else None
        reduced = value is not None and any(
            isinstance(n, ast.Call) and dotted(n.func).rpartition(".")[2] == "sum"
            for n in unit.inside(_value(unit, value))
        )
        names = {n.id for n in unit.inside(value) if isinstance(n, ast.Name)} if value is not None else set()
        if (reduced or names & gathered) and not unit.loops_around(call.node):
            yield seen_in(unit, call.node, "one update per program")


def _gathered_in(unit: TritonUnit, loop: ast.For | ast.While) -> set[str]:
    names = {
        n.target.id
        for n in unit.inside(loop)
        if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)
    }
    return {name for name in names if "ptr" not in name.lower()}


def _owns_many_rows(unit: TritonUnit) -> bool:
    """Whether the program's loop walks over rows: its start moves with the program."""
    for loop in unit.loops:
        bounds = loop.iter.args if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) else []
        if any("program" in unit.form(bound) for bound in bounds):
            return True
    return False


def _value(unit: TritonUnit, node: ast.expr) -> ast.expr:
    if isinstance(node, ast.Name):
        definition = unit.value_of(node.id, node.lineno)
        return definition[1] if definition is not None else node
    return node


MECHANISM = Mechanism(
    title="Privatised accumulation",
    direction=Direction.ALGORITHM,
    summary="Gathers on chip first, so that global memory sees one update per block instead of one per thread.",
    looks_for="Atomics on shared memory, one global update per block or program, one partial result per block.",
    detect=in_units(_detect_cuda, _detect_triton),
    conditions=(
        profit("launch.block.x >= 64", "shape", "A small block gathers little."),
        validity(
            "launch.shared_bytes <= device.shared_bytes_per_block", "hardware", "The private copy must fit."
        ),
    ),
)
