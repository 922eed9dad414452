"""The heads of loops, as the rewrites that take loops apart want them."""

from __future__ import annotations

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import Loop, bare, field_of, operator_of, text_of
from kernel_lineage.rewrite.assists.model import Refusal


def counted_header(loop: Loop) -> Node:
    """The declaration in `for (int i = start; i < bound; i += step)`. Refused for a loop of any other form."""
    line, condition = loop.node.start_point.row + 1, bare(loop.condition)
    header = loop.node.child_by_field_name("initializer")
    if loop.start is None or loop.body is None or condition is None or header is None:
        raise Refusal(f"the loop in line {line} does not count from a start to a bound")
    below = operator_of(condition) == "<" and text_of(field_of(condition, "left")) == loop.counter
    single = header.type == "declaration" and len(header.children_by_field_name("declarator")) == 1
    if not below or not single or not loop.step:
        raise Refusal(f"the loop in line {line} does not count `{loop.counter} < bound` upwards")
    return header
