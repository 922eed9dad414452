"""Two or more buffers in turn: one is filled while the other is used."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import bare, field_of, operator_of, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.mechanisms.definitions import extents
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import seen, seen_in
from kernel_lineage.kernels.triton_syntax import TritonUnit
from kernel_lineage.kernels.units import in_units


def _toggled(unit: Unit) -> set[str]:
    """The variables that are switched between buffers: `b ^= 1`, `b = 1 - b`, `b = (b + 1) % STAGES`."""
    names = set()
    for node in unit.of("assignment_expression"):
        left, right = node.child_by_field_name("left"), field_of(node, "right")
        if left is None or right is None or not unit.loops_around(node):
            continue
        if operator_of(node) == "^=" or (operator_of(node) == "=" and _switches(right, text_of(left))):
            names.add(text_of(left))
    return names


def _switches(value: Node, name: str) -> bool:
    if value.type != "binary_expression":
        return value.type == "unary_expression" and operator_of(value) == "!" and name in text_of(value)
    left, right = field_of(value, "left"), field_of(value, "right")
    if operator_of(value) == "-":
        return text_of(right) == name and text_of(left) != name
    if operator_of(value) == "^":
        return name in (text_of(left), text_of(right))
    if operator_of(value) in ("%", "&") and left is not None and left.type == "binary_expression":
        return text_of(left.child_by_field_name("left")) == name
    return False


def _takes_turns(index: Node, unit: Unit, toggled: set[str]) -> bool:
    expression = bare(index)
    if expression is None:
        return False
    if expression.type == "identifier" and text_of(expression) not in toggled:
        value = bare(unit.value_of(text_of(expression), expression.start_byte))
        expression = value if value is not None else expression
    if expression.type == "identifier":
        return text_of(expression) in toggled
    if expression.type != "binary_expression":
        return False
    form = indexing(unit).form(expression)
    turning = operator_of(expression) in ("%", "&", "^", "-") and any(
        axis.startswith("loop@") for axis in form
    )
    own = any(text_of(bare(expression.child_by_field_name(side))) in toggled for side in ("left", "right"))
    return (turning or own) and not any(axis in form for axis in ("x", "lane", "warp"))


def _alternating_offset(unit: Unit, index: Node, toggled: set[str]) -> bool:
    """Whether a flat index is moved by a whole buffer in turn: `stage * SIZE + i` with a stage that switches."""
    for product in (*unit.operations_in(index, "*"), *unit.operations_in(index, "<<")):
        for side in ("left", "right"):
            factor = bare(product.child_by_field_name(side))
            if factor is not None and _takes_turns(factor, unit, toggled):
                return True
    return False


def _swapped(unit: Unit) -> set[str]:
    """Pointers that change places in a loop, or that an offset which switches its sign or size moves on."""
    names: set[str] = set()
    for call in unit.calls:
        if call.name in ("swap", "exchange") and len(call.arguments) == 2 and unit.loops_around(call.node):
            names |= {text_of(a) for a in call.arguments}
    assigned: dict[str, str] = {}
    for node in unit.of("assignment_expression"):
        left, right = text_of(node.child_by_field_name("left")), field_of(node, "right")
        if right is None or not unit.loops_around(node) or operator_of(node) != "=":
            continue
        if assigned.get(text_of(right), "") and left != text_of(right):
            names |= {left, text_of(right)}
        assigned[left] = text_of(right)
    return names


def _detect_cuda(unit: Unit) -> Iterator[Site]:
    shared = {v.name: v for v in unit.shared_variables if v.sizes}
    if not shared:
        return
    toggled = _toggled(unit)
    swapped = _swapped(unit)
    reach = indexing(unit)
    roots: set[str] = set()
    for node in unit.of("subscript_expression"):
        base, listed = node.child_by_field_name("argument"), node.child_by_field_name("indices")
        first = next(iter(listed.named_children), None) if listed is not None else None
        root = reach.place(base).root if base is not None else ""
        if first is None or root not in shared or root in roots:
            continue
        outer = (
            text_of(base) in shared and len(shared[root].sizes) >= 2 and _takes_turns(first, unit, toggled)
        )
        flat = (
            text_of(base) in swapped
            or _alternating_offset(unit, first, toggled)
            or _moved(unit, first, toggled)
        )
        if outer or flat:
            roots.add(root)
            yield seen(
                node,
                f"the halves of {root} take turns",
                root,
                buffers=(extents(unit, shared[root].sizes[:1]) if outer else ""),
            )


def _moved(unit: Unit, index: Node, toggled: set[str]) -> bool:
    """Whether a term of a flat index is an offset that switches: `offset + i` with `offset ^= SIZE`."""
    return any(
        expression.type == "identifier" and text_of(expression) in toggled
        for side in ("left", "right")
        for sum_ in (index, *unit.operations_in(index, "+"))
        if (expression := bare(sum_.child_by_field_name(side))) is not None
    )


def _detect_triton(unit: TritonUnit) -> Iterator[Site]:
    loads = list(unit.loads())
    for loop in unit.loops:
        assigned: dict[str, ast.Assign] = {}
        for node in loop.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                handed_on = isinstance(node.value, ast.Name) and node.value.id in assigned
                if (
                    isinstance(node.value, ast.Name)
                    and handed_on
                    and _read_before(unit, loop, node.targets[0].id, node)
                ):
                    loaded = assigned[node.value.id]
                    yield seen_in(unit, loaded, f"{node.value.id} is loaded one round ahead")
                    return
                if any(call.node in unit.inside(node.value) for call in loads):
                    assigned[node.targets[0].id] = node


def _read_before(unit: TritonUnit, loop: ast.For | ast.While, name: str, end: ast.Assign) -> bool:
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) and n.lineno < end.lineno
        for statement in loop.body
        for n in unit.inside(statement)
    )


MECHANISM = Mechanism(
    title="Double buffer",
    direction=Direction.LATENCY_HIDING,
    summary="Fills one buffer while the other is used, so that loading and computing overlap.",
    looks_for="Shared arrays whose first index switches each round, and Triton loads made one round ahead.",
    detect=in_units(_detect_cuda, _detect_triton),
    conditions=(
        validity(
            "launch.shared_bytes <= device.shared_bytes_per_block",
            "hardware",
            "Two buffers take twice the room.",
        ),
        profit("K >= 128", "shape", "With one or two rounds there is nothing to overlap."),
    ),
)
