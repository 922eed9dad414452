"""Statistics of a row in one pass: the online softmax, Welford's update, sums of values and of squares together."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import arguments_of, bare, contains, field_of, operator_of, text_of
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import seen, seen_in
from kernel_lineage.kernels.triton_forms import dotted
from kernel_lineage.kernels.triton_syntax import TritonUnit
from kernel_lineage.kernels.units import in_units

_EXPONENTIALS = ("expf", "exp", "__expf", "exp2f", "exp2")


def _accumulations(unit: Unit, loop: Node) -> list[tuple[str, Node, Node]]:
    """`s += v` and `s = s * a + v` within a loop: the name, what is assigned, the statement."""
    accumulations = []
    for node in unit.of("assignment_expression"):
        left, right = node.child_by_field_name("left"), field_of(node, "right")
        if left is not None and right is not None and contains(loop, node):
            accumulations.append((text_of(left), right, node))
    return accumulations


def _squares(value: Node) -> str:
    """The text of `v` in `v * v`, "" for anything else."""
    if value.type == "binary_expression" and operator_of(value) == "*":
        left = text_of(field_of(value, "left"))
        if left == text_of(field_of(value, "right")):
            return left
    return ""


def _detect_cuda(unit: Unit) -> Iterator[Site]:
    exponentials = [c.node for name in _EXPONENTIALS for c in unit.calls_by_name.get(name, ())]
    for loop in unit.loops:
        body = loop.body
        if body is None:
            continue
        updates = _accumulations(unit, body)
        summed = {text_of(value) for _, value, node in updates if operator_of(node) == "+="}
        for name, value, node in updates:
            square = _squares(value) if operator_of(node) == "+=" else ""
            if square and square in summed:
                yield seen(node, f"{name} sums squares in the pass that sums values")
                return
            rescales = operator_of(node) == "*=" or (operator_of(node) == "=" and _uses(value, name))
            if rescales and any(contains(value, e) and _is_difference(unit, e) for e in exponentials):
                yield seen(node, f"{name} is rescaled as the maximum moves")
                return
    if not unit.entry:
        yield from _combination(unit, [e for e in exponentials if _is_difference(unit, e)])


def _combination(unit: Unit, exponentials: list[Node]) -> Iterator[Site]:
    """`a.sum + b.sum * exp(b.max - a.max)` in a device function: two partial results become one."""
    for total in unit.operations.get("+", ()):
        for product in unit.operations_in(total, "*"):
            if any(contains(product, e) for e in exponentials):
                yield seen(total, "two partial sums are brought to one maximum")
                return


def _uses(value: Node, name: str) -> bool:
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if node.type in ("identifier", "field_expression", "subscript_expression") and text_of(node) == name:
            return True
        waiting += node.named_children
    return False


def _is_difference(unit: Unit, call: Node) -> bool:
    first = bare(next(iter(arguments_of(call)), None))
    return first is not None and any(True for _ in unit.operations_in(first, "-"))


def _detect_triton(unit: TritonUnit) -> Iterator[Site]:
    for loop in unit.loops:
        maxima = {
            target.id
            for node in unit.inside(loop)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
            for target in node.targets
            if isinstance(target, ast.Name)
            and dotted(node.value.func).rpartition(".")[2] in ("maximum", "max")
        }
        rescaling = {
            target.id
            for node in unit.inside(loop)
            if isinstance(node, ast.Assign) and _exponential_of_difference(node.value)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in unit.inside(loop):
            if maxima and isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
                factors = [
                    n
                    for n in unit.inside(node.value)
                    if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult)
                ]
                for product in factors:
                    sides = (product.left, product.right)
                    own = any(isinstance(s, ast.Name) and s.id == name for s in sides)
                    scaled = any(
                        _exponential_of_difference(s) or (isinstance(s, ast.Name) and s.id in rescaling)
                        for s in sides
                    )
                    if own and scaled:
                        yield seen_in(unit, node, f"{name} is rescaled as the maximum moves")
                        return
        yield from _sums_of_squares(unit, loop)


def _sums_of_squares(unit: TritonUnit, loop: ast.For | ast.While) -> Iterator[Site]:
    added = [
        (n, ast.dump(v))
        for n in unit.inside(loop)
        if isinstance(n, ast.AugAssign) and isinstance(n.op, ast.Add)
        for v in [_summed(n.value)]
    ]
    values = {dump for _, dump in added}
    for node, _ in added:
        value = _summed(node.value)
        if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Mult):
            continue
        if ast.dump(value.left) == ast.dump(value.right) and ast.dump(value.left) in values:
            yield seen_in(unit, node, "sums squares in the pass that sums values")
            return


def _summed(value: ast.expr) -> ast.expr:
    """`x` for `tl.sum(x, axis=0)`."""
    if isinstance(value, ast.Call) and value.args and dotted(value.func).rpartition(".")[2] == "sum":
        return value.args[0]
    return value


def _exponential_of_difference(value: ast.expr) -> bool:
    if (
        not isinstance(value, ast.Call)
        or dotted(value.func).rpartition(".")[2] not in ("exp", "exp2")
        or not value.args
    ):
        return False
    return any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub) for n in ast.walk(value.args[0]))


MECHANISM = Mechanism(
    title="Online single pass",
    direction=Direction.ALGORITHM,
    summary="Computes a row's statistics in one pass over it, where the textbook takes two or three.",
    looks_for="Sums rescaled by `exp(old - new)` in a loop, and sums of values and of their squares in one loop.",
    detect=in_units(_detect_cuda, _detect_triton),
    conditions=(
        validity(
            "dtype(x) in (float32, float16, bfloat16)",
            "data types",
            "E[x^2] - E[x]^2 cancels; accumulators must be wider than what they sum.",
        ),
        profit('profile.bound == "bandwidth"', "pipeline", "It saves passes over memory."),
        profit("C >= 256", "shape", "Short rows stay in cache for the second pass."),
    ),
)
