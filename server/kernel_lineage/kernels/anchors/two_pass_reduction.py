"""A row walked once for one statistic and again for the next, where one pass could do."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.anchors.matching import matched, matched_in
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.cuda_forms import Loop, contains, field_of, operator_of, test_of, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_mapping import innermost_loop
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.python_text import names_in
from kernel_lineage.kernels.triton_forms import dotted
from kernel_lineage.kernels.triton_syntax import TritonUnit, pointer_of
from kernel_lineage.kernels.units import in_entry

_MAXIMA = ("fmaxf", "max", "fmax", "maximum")


def _statistic(unit: Unit, loop: Loop) -> str:
    """What a loop gathers of a row: `max`, `sum`, or "" when it gathers nothing."""
    if loop.body is None:
        return ""
    for node in unit.of("assignment_expression"):
        left, right = field_of(node, "left"), field_of(node, "right")
        if left is None or right is None or not contains(loop.body, node) or left.type != "identifier":
            continue
        if any(v.name == text_of(left) and contains(loop.body, v.node) for v in unit.variables):
            continue
        if operator_of(node) == "+=":
            return "sum"
        if operator_of(node) == "=" and (_is_maximum(right) or _under_comparison(unit, loop.body, node)):
            return "max"
    return ""


def _is_maximum(value: Node) -> bool:
    return value.type == "call_expression" and text_of(value.child_by_field_name("function")) in _MAXIMA


def _under_comparison(unit: Unit, body: Node, node: Node) -> bool:
    """`if (x > best) { best = x; }`."""
    name = text_of(node.child_by_field_name("left"))
    for statement in unit.of("if_statement"):
        if contains(body, statement) and contains(statement, node):
            test = test_of(statement)
            if test is not None and operator_of(test) in ("<", ">", "<=", ">="):
                return name in (
                    text_of(test.child_by_field_name("left")),
                    text_of(test.child_by_field_name("right")),
                )
    return False


def _find_cuda(unit: Unit) -> Iterator[Anchor]:
    gathered: dict[str, tuple[str, Loop]] = {}
    for access in indexing(unit).accesses:
        loop = innermost_loop(unit, access) if access.space == "global" and access.reads else None
        if loop is None:
            continue
        statistic = _statistic(unit, loop)
        if not statistic:
            continue
        before = gathered.setdefault(access.root, (statistic, loop))
        if before[1].node.end_byte <= loop.node.start_byte:
            names = {"x": access.root, "C": text_of(loop.bound), "first": before[0], "second": statistic}
            yield matched(loop.node, f"{access.root} is walked for its {before[0]}, then again", names)
            return


def _find_triton(unit: TritonUnit) -> Iterator[Anchor]:
    gathered: dict[str, tuple[str, ast.For | ast.While]] = {}
    for call in unit.loads():
        loops = unit.loops_around(call.node)
        pointer = pointer_of(unit.form(call.node.args[0]))
        if not loops or not pointer:
            continue
        loop = loops[-1]
        statistic = _triton_statistic(unit, loop)
        if not statistic:
            continue
        before = gathered.setdefault(pointer, (statistic, loop))
        if (before[1].end_lineno or 0) < loop.lineno:
            names = {"x": pointer, "first": before[0], "second": statistic}
            yield matched_in(unit, loop, f"{pointer} is walked for its {before[0]}, then again", names)
            return


def _triton_statistic(unit: TritonUnit, loop: ast.For | ast.While) -> str:
    carried = {n.id for n in unit.inside(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for node in unit.inside(loop):
        added = node.target if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) else None
        if isinstance(added, ast.Name):
            # What is made anew in each round gathers nothing.
            if unit.value_of(added.id, added.lineno) == unit.value_of(added.id, loop.lineno):
                return "sum"
            continue
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and isinstance(node.targets[0], ast.Name)
        ):
            inside = names_in(node.value)
            maximum = dotted(node.value.func).rpartition(".")[2] == "maximum"
            if maximum and node.targets[0].id in inside & carried:
                return "max"
    return ""


PATTERN = AnchorPattern(
    title="Reduction in two passes",
    names={
        "x": "the pointer that is read twice",
        "C": "the length of the row",
        "first": "what the first pass gathers: max or sum",
        "second": "what the second pass gathers",
    },
    find=in_entry(_find_cuda, _find_triton),
)
