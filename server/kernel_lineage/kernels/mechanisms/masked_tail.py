"""Guards and masks that let a fixed block shape work on any size."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import bare, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit
from kernel_lineage.kernels.mechanisms.seeing import seen, seen_in
from kernel_lineage.kernels.triton_forms import children
from kernel_lineage.kernels.triton_syntax import TritonUnit, pointer_of
from kernel_lineage.kernels.units import in_units

_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_DEPTH = 6


_INDEX_AXES = frozenset({"x", "y", "lane", "warp", "block", "slow"})


def _sizes_of(unit: Unit, bound: Node) -> set[str]:
    """The names that a bound is made of, also through one variable: `int total = B * T;`."""
    names = identifiers_in(bound)
    values = [unit.value_of(name, bound.start_byte) for name in names]
    return names.union(*(identifiers_in(value) for value in values if value is not None))


def _heads(unit: Unit) -> set[int]:
    """The comparisons that only say how long a loop runs."""
    return {c.id for loop in unit.loops if (c := bare(loop.condition)) is not None}


def _tests(unit: Unit) -> Iterator[tuple[Node, Node, Node]]:
    """Each comparison of something that moves with the thread with a bound: the comparison, the index, the bound."""
    reach, heads = indexing(unit), _heads(unit)
    for operator in ("<", "<=", ">", ">="):
        for node in unit.operations.get(operator, ()):
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            if left is None or right is None or node.id in heads:
                continue
            for index, bound in ((left, right), (right, left)):
                if _INDEX_AXES & reach.form(index).keys() and not reach.form(bound):
                    yield node, index, bound


def _written(unit: Unit, bound: Node, sizes: set[str]) -> str:
    """A bound by the kernel's own names, which a renamed local variable leaves alone."""
    fields = {text_of(n) for n in unit.of("field_expression")} if "." in text_of(bound) else set()
    own = text_of(bound) if text_of(bound) in fields else ""
    return own or " ".join(sorted(_sizes_of(unit, bound) & sizes))


def _detect_cuda(unit: Unit) -> Iterator[Site]:
    # A bound that is a parameter is a size; one that is a constant chooses threads.
    sizes = {p.name for p in unit.kernel.parameters if not p.pointer}
    for node, index, bound in _tests(unit):
        if _sizes_of(unit, bound) & sizes:
            note = f"{text_of(index)} is guarded by {text_of(bound)}"
            yield seen(node, note, bound=_written(unit, bound, sizes))


def _masks(unit: TritonUnit) -> Iterator[Site]:
    names = {p.name for p in unit.kernel.parameters}
    for call in unit.called("load", "store"):
        root = pointer_of(unit.form(call.node.args[0])) if call.node.args else ""
        method = isinstance(call.node.func, ast.Attribute) and not call.of_language
        if method and call.keyword("boundary_check") is None:
            continue
        position = 1 if call.name == "load" else 2
        mask = call.keyword("mask") or (call.node.args[position] if len(call.node.args) > position else None)
        for bound in _bounds(unit, mask, names) if mask is not None else ():
            yield seen_in(unit, call.node, f"{call.qualified} has a mask", root, bound=bound)
        if call.keyword("boundary_check") is not None:
            yield seen_in(unit, call.node, f"{call.qualified} has a boundary_check", root, bound="block")
    stored = {value for call in unit.stores() for value in call.node.args[1:2]}
    for call in unit.called("where"):
        # What is stored as it is was chosen, not left out of a sum.
        if call.of_language and call.node.args and call.node not in stored:
            for bound in _bounds(unit, call.node.args[0], names, only_sizes=True):
                yield seen_in(
                    unit, call.node, f"{call.qualified} leaves out what lies past the end", bound=bound
                )


def _bounds(unit: TritonUnit, mask: ast.expr, names: set[str], *, only_sizes: bool = False) -> list[str]:
    """What the comparisons of a mask compare with, by the kernel's own names; `mask` for one without comparisons."""
    bounds: set[str] = set()
    waiting: list[tuple[ast.expr, int]] = [(mask, 0)]
    while waiting:
        node, depth = waiting.pop()
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], _ORDERS):
            sides = (node.left, node.comparators[0])
            moving = [any(a.startswith("arange") for a in unit.form(side)) for side in sides]
            if moving[0] != moving[1] or not only_sizes:
                still = sides[1] if moving[0] or not moving[1] else sides[0]
                bounds.add(" ".join(sorted(_origins(unit, still, names))) or "value")
        elif isinstance(node, ast.Name) and depth < _DEPTH:
            definition = unit.value_of(node.id, node.lineno)
            if definition is not None:
                waiting.append((definition[1], depth + 1))
        else:
            waiting += [(part, depth) for part in children(node) if isinstance(part, ast.expr)]
    if only_sizes:
        bounds.discard("value")
    return sorted(bounds) or ([] if only_sizes else ["mask"])


def _origins(unit: TritonUnit, node: ast.expr, names: set[str], depth: int = 0) -> set[str]:
    """The kernel's parameters that a value is made of, through the variables in between."""
    origins: set[str] = set()
    for name in sorted(unit.names_in(node)):
        definition = unit.value_of(name, getattr(node, "lineno", 0)) if depth < _DEPTH else None
        if name in names:
            origins.add(name)
        elif definition is not None:
            origins |= _origins(unit, definition[1], names, depth + 1)
    return origins


MECHANISM = Mechanism(
    title="Masked tail",
    direction=Direction.PARALLEL_MAPPING,
    summary="Switches off the threads or elements past the end, so that any size works with a fixed block.",
    looks_for="Comparisons of a thread's index with a size, `mask=` and `boundary_check=` of Triton.",
    detect=in_units(_detect_cuda, _masks),
    conditions=(profit("N % launch.block.x != 0", "shape", "Sizes that fit need no guard."),),
)
