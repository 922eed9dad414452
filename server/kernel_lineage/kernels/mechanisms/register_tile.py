"""A small tile of results per thread, kept in registers while operands are reused."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import bare, field_of, operator_of, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.mechanisms.definitions import extents, factors
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import seen
from kernel_lineage.kernels.units import in_units


def _detect_in(unit: Unit) -> Iterator[Site]:
    arrays = {v.name: v for v in unit.variables if v.sizes and not v.shared}
    roots: set[str] = set()
    for node in unit.of("assignment_expression"):
        left, right = field_of(node, "left"), field_of(node, "right")
        if left is None or right is None or left.type != "subscript_expression":
            continue
        root = indexing(unit).place(left).root
        gathers = operator_of(node) == "+=" or text_of(left) in text_of(right)
        local = root in arrays or (not unit.entry and indexing(unit).space_of(root) == "local")
        if not local or root in roots or not gathers or not _is_product(right):
            continue
        # What is handed over is an array of one dimension.
        axes = len(arrays[root].sizes) if root in arrays else 1
        if len(unit.loops_around(node)) >= 2 or axes >= 2:
            roots.add(root)
            sizes = arrays[root].sizes if root in arrays else ()
            size = extents(unit, sizes)
            terms = factors(sizes) if sizes and not size else None
            yield seen(
                node, f"{root} gathers {axes}-D results in registers", root, extents=size, factors=terms
            )


def _is_product(value: Node) -> bool:
    """Whether a value is a product, or a sum with one, or a fused one; a product in an index does not count."""
    expression = bare(value)
    if expression is None:
        return False
    if expression.type == "call_expression":
        return text_of(expression.child_by_field_name("function")) in (
            "fmaf",
            "__fmaf_rn",
            "fma",
            "__hfma",
            "__hfma2",
        )
    if expression.type == "cast_expression":
        inner = expression.child_by_field_name("value")
        return inner is not None and _is_product(inner)
    if expression.type != "binary_expression" or operator_of(expression) not in ("*", "+"):
        return False
    sides = (expression.child_by_field_name("left"), expression.child_by_field_name("right"))
    return operator_of(expression) == "*" or any(_is_product(side) for side in sides if side is not None)


MECHANISM = Mechanism(
    title="Register tile",
    direction=Direction.DATA_REUSE,
    summary="Lets each thread compute several results, so that each operand it loads is used several times.",
    looks_for="Local arrays that gather sums of products within nested loops, in a device function that is handed one "
    "too.",
    detect=in_units(_detect_in),
    conditions=(
        profit("kernel.spills == 0", "pipeline", "A tile that spills is slower than none."),
        validity("M % 4 == 0", "shape", "Each thread owns whole tiles; the rest needs guards."),
        profit('profile.bound == "compute"', "pipeline", "It saves loads from shared memory."),
    ),
)
