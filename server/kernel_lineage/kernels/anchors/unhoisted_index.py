"""An index with a product that is worked out in every round of a loop, though the loop does not change it."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.anchors.matching import matched
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.cuda_expressions import identifiers_in, integer_of
from kernel_lineage.kernels.cuda_forms import bare, contains, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_mapping import innermost_loop
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.units import in_entry

ID = "unhoisted_index"


def _fixed_product(unit: Unit, index: Node, counter: str, loop: Node) -> Node | None:
    """`row * C` in `row * C + i`: a product that holds for the whole loop."""
    reach = indexing(unit)
    for node in unit.operations_in(index, "*"):
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        numbers = integer_of(left) is not None and integer_of(right) is not None
        changed = any(axis.startswith("loop@") for axis in reach.form(node)) or counter in identifiers_in(
            node
        )
        local = any(v.name in identifiers_in(node) and contains(loop, v.node) for v in unit.variables)
        if not numbers and not changed and not local:
            return node
    return None


def _find(unit: Unit) -> Iterator[Anchor]:
    products = set[str]()
    for access in indexing(unit).accesses:
        loop = innermost_loop(unit, access) if access.space == "global" and access.indices else None
        index = bare(access.indices[-1]) if loop is not None else None
        if loop is None or index is None or index.type != "binary_expression":
            continue
        product = _fixed_product(unit, index, loop.counter, loop.node)
        if product is not None and text_of(product) not in products:
            products.add(text_of(product))
            names = {"x": access.root, "offset": text_of(product), "index": loop.counter}
            yield matched(
                ID, access.node, f"{text_of(product)} is the same in every round over {loop.counter}", names
            )


PATTERN = AnchorPattern(
    id=ID,
    title="Index arithmetic in the loop",
    names={
        "x": "the pointer that is accessed",
        "offset": "the product that does not change",
        "index": "the loop's counter",
    },
    find=in_entry(_find),
)
