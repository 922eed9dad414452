"""Arrays whose elements a statement of the host may change."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import inside, text_of
from kernel_lineage.workloads.following.checks import arguments_of

_SETS = {"assignment_expression": "left", "update_expression": "argument"}
_ELEMENTS = ("subscript_expression", "pointer_expression")
_READS = re.compile(
    r"(?:std\s*::\s*)?(?:\w*printf|f?abs\w*|f?(?:min|max)f?|sqrt\w*|pow\w*|exp\w*|log\w*|isnan|isfinite)"
)
"""Functions that change nothing of what they are called with."""
_COUNTS = frozenset(
    {"push_back", "emplace_back", "pop_back", "resize", "assign", "clear", "insert", "emplace", "erase"}
)
"""Methods after which a list has another number of elements."""


def grown_lists(node: Node) -> Iterator[str]:
    """The names of lists of which a statement may change how many elements they have."""
    for inner in inside(node):
        callee = inner.child_by_field_name("function") if inner.type == "call_expression" else None
        if callee is not None and text_of(callee.child_by_field_name("field")) in _COUNTS:
            base = callee.child_by_field_name("argument")
            if base is not None and base.type == "identifier":
                yield text_of(base)


def changed_arrays(node: Node) -> Iterator[str]:
    """The names of arrays of which a statement sets elements, goes over references to them, or hands them on."""
    for inner in inside(node):
        if inner.type in _SETS:
            target = inner.child_by_field_name(_SETS[inner.type])
            if target is not None and any(n.type in _ELEMENTS for n in inside(target)):
                yield from _names(target)
        elif inner.type == "for_range_loop":
            declarator = inner.child_by_field_name("declarator")
            parts = inside(declarator) if declarator is not None else ()
            if any(n.type == "reference_declarator" for n in parts) and not _is_const(inner):
                yield from _names(inner.child_by_field_name("right"))
        elif inner.type == "call_expression":
            callee = text_of(inner.child_by_field_name("function"))
            if not _READS.fullmatch(callee):
                for argument in arguments_of(inner.child_by_field_name("arguments")):
                    yield from _names(argument)


def _is_const(loop: Node) -> bool:
    return any(text_of(child) == "const" for child in loop.children)


def _names(node: Node | None) -> Iterator[str]:
    return (text_of(n) for n in inside(node) if n.type == "identifier") if node is not None else iter(())
