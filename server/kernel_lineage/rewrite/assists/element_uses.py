"""What is done to an element of a buffer at one place: `p[i] += x`, `&p[i]`, `Pair& own = p[i];`."""

from __future__ import annotations

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import above, field_of, operator_of, text_of
from kernel_lineage.kernels.source import Kernel


def outer(node: Node) -> Node | None:
    """What stands around an element, beside brackets."""
    return next((n for n in above(node) if n.type != "parenthesized_expression"), None)


def is_written(node: Node) -> bool:
    """Whether an element, or a member of it, is written, or may be through its address."""
    whole, parent = _whole_use(node)
    if parent is None:
        return False
    if parent.type == "assignment_expression":
        left = parent.child_by_field_name("left")
        return left is not None and left.start_byte <= whole.start_byte < left.end_byte
    called = parent.type == "call_expression" and field_of(parent, "function") == whole
    return called or parent.type == "update_expression" or address_taken(whole)


def _whole_use(node: Node) -> tuple[Node, Node | None]:
    """An element or the member of it that is used, and what uses that."""
    whole, parent = node, outer(node)
    while parent is not None and parent.type == "field_expression":
        whole, parent = parent, outer(parent)
    return whole, parent


def is_bound(kernel: Kernel, node: Node, pointer: str) -> bool:
    """Whether a reference through which may be written is made of an element: `Pair& own = pairs[i];`."""
    whole, parent = _whole_use(node)
    declares = parent.parent if parent is not None and parent.type == "init_declarator" else None
    if parent is None or declares is None or parent.child_by_field_name("value") != whole:
        return False
    refers = any(c.type == "reference_declarator" for c in parent.children)
    parameter = kernel.parameter(pointer)
    constant = any(text_of(c) == "const" for c in declares.children)
    return refers and not constant and not (parameter is not None and parameter.const)


def is_for_an_atomic(node: Node) -> bool:
    """Whether an element's address is what an atomic function is pointed to."""
    listed = outer(node)
    listed = outer(listed) if listed is not None and listed.type == "pointer_expression" else None
    call = listed.parent if listed is not None and listed.type == "argument_list" else None
    return call is not None and text_of(call.child_by_field_name("function")).startswith("atomic")


def reads_too(node: Node) -> bool:
    """Whether an element that is written must be read as well: one of which only a member is written must."""
    parent = outer(node)
    return parent is None or parent.type != "assignment_expression" or operator_of(parent) != "="


def address_taken(node: Node) -> bool:
    """Whether an element's address is taken."""
    parent = outer(node)
    return parent is not None and parent.type == "pointer_expression" and text_of(parent).startswith("&")
