"""Addresses worked out once, before the loop that uses them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import arguments_of, bare, contains, field_of, operator_of, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import seen, seen_in
from kernel_lineage.kernels.triton_syntax import TritonUnit
from kernel_lineage.kernels.units import in_units


def _multiplies(unit: Unit, value: Node) -> bool:
    return any(True for _ in unit.operations_in(value, "*"))


def _detect_cuda(unit: Unit) -> Iterator[Site]:
    reach = indexing(unit)
    prepared: dict[str, tuple[Node, str]] = {}
    for variable in unit.variables:
        value = variable.value
        if value is None or not _multiplies(unit, value):
            continue
        place = reach.place(value)
        moves = bool(place.offset) if place.root else bool(reach.form(value))
        if moves and (place.root or not variable.pointer):
            prepared[variable.name] = (variable.node, place.root)
    for node in unit.of("assignment_expression"):
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        name = text_of(left)
        if operator_of(node) != "+=" or right is None or reach.space_of(name) != "global":
            continue
        if not unit.loops_around(node) and _multiplies(unit, right):
            prepared[name] = (node, name)
    if not prepared:
        return
    for access in reach.accesses:
        if access.space != "global":
            continue
        name = _used_name(access.node, access.indices, prepared)
        if name:
            node, root = prepared.pop(name)
            # Only what was prepared outside the loop is hoisted out of it.
            if any(not contains(loop.node, node) for loop in unit.loops_around(access.node)):
                yield seen(node, f"{name} is worked out before the loop over {root or access.root}")


def _used_name(node: Node, indices: tuple[Node, ...], prepared: dict[str, tuple[Node, str]]) -> str:
    """The prepared pointer or offset that an access starts from: `x[i]`, `inp[row + i]`, `__ldcs(x + i)`."""
    base = field_of(node, "argument")
    starts = [base, *indices, *arguments_of(node)[:1]]
    for start in starts:
        expression = bare(start)
        while (
            expression is not None
            and expression.type == "binary_expression"
            and operator_of(expression) == "+"
        ):
            expression = field_of(expression, "left")
        if expression is not None and expression.type == "identifier" and text_of(expression) in prepared:
            return text_of(expression)
    return ""


def _detect_triton(unit: TritonUnit) -> Iterator[Site]:
    names: set[str] = set()
    for call in (*unit.loads(), *unit.stores()):
        loops = unit.loops_around(call.node)
        if not loops:
            continue
        for name in (n.id for n in unit.inside(call.node.args[0]) if isinstance(n, ast.Name)):
            values = [*unit.assignments.get(name, ()), *unit.advances.get(name, ())]
            above = [pair for pair in values if pair[0] < loops[0].lineno]
            for _, value in above:
                moves = "program" in unit.form(value) and _has_product(unit, value)
                if moves and name not in names:
                    names.add(name)
                    yield seen_in(unit, value, f"{name} is worked out before the loop")


def _has_product(unit: TritonUnit, value: ast.expr) -> bool:
    return any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult) for n in unit.inside(value))


MECHANISM = Mechanism(
    title="Hoisted index arithmetic",
    direction=Direction.INSTRUCTION_THROUGHPUT,
    summary="Works out the start of a row once, so that the loop only adds its counter.",
    looks_for="Pointers and offsets with a product in them, made before a loop and used within it.",
    detect=in_units(_detect_cuda, _detect_triton),
    conditions=(
        validity("N * C < 2147483648", "shape", "A 32-bit product overflows for large tensors."),
        profit("kernel.spills == 0", "pipeline", "Each kept address takes registers."),
    ),
)
