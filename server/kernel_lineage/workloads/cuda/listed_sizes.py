"""Sizes that a caller goes through: `for (int size : sizes) { m = n = size; run(m, n); }` of a list of numbers."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import bare, inside, text_of
from kernel_lineage.workloads.cuda.host import HostFunction

_DEPTH = 4


def sizes_gone_through(name: str, function: HostFunction) -> tuple[int, ...]:
    """The numbers that a name of a function has one after the other, ascending; none where no list tells them."""
    return tuple(sorted(set(_values(name, function, _DEPTH))))


def _values(name: str, function: HostFunction, depth: int) -> Iterator[int]:
    if depth == 0:
        return
    for node in inside(function.node):
        if node.type == "for_range_loop" and text_of(node.child_by_field_name("declarator")) == name:
            yield from _listed(node.child_by_field_name("right"), function)
        elif node.type == "assignment_expression" and text_of(node.child_by_field_name("left")) == name:
            given = _last(node.child_by_field_name("right"))
            if given is not None and given.type == "identifier":
                yield from _values(text_of(given), function, depth - 1)


def _last(node: Node | None) -> Node | None:
    """What a chain of assignments gives: `size` of `n = k = size`."""
    node = bare(node)
    while node is not None and node.type == "assignment_expression":
        node = bare(node.child_by_field_name("right"))
    return node


def _listed(node: Node | None, function: HostFunction) -> Iterator[int]:
    """The whole numbers of a list, or of a local that is one."""
    if node is not None and node.type == "identifier":
        node = function.locals.get(text_of(node))
    if node is None or node.type != "initializer_list":
        return
    for child in node.named_children:
        if child.type == "number_literal" and text_of(child).isdigit():
            yield int(text_of(child))
