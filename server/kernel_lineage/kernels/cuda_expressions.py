"""What single expressions of CUDA C++ say: names, numbers, indices, pointer types."""

from __future__ import annotations

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import bare, operator_of, text_of


def identifiers_in(node: Node) -> set[str]:
    """The plain names within an expression; members and types aside."""
    names, waiting = set(), [node]
    while waiting:
        here = waiting.pop()
        if here.type == "identifier":
            names.add(text_of(here))
        waiting += here.named_children
    return names


def integer_of(node: Node | None) -> int | None:
    """The value of an integer literal, or of a product, quotient, sum or difference of them; None for anything else."""
    node = bare(node)
    if node is None:
        return None
    if node.type == "number_literal":
        digits = text_of(node).rstrip("uUlL").replace("'", "")
        try:
            return int(digits, 0)
        except ValueError:
            return None
    if node.type == "binary_expression":
        left = integer_of(node.child_by_field_name("left"))
        right = integer_of(node.child_by_field_name("right"))
        if left is None or right is None:
            return None
        match operator_of(node):
            case "*":
                return left * right
            case "+":
                return left + right
            case "-":
                return left - right
            case "/":
                return left // right if right else None
    return None


def indices_of(node: Node) -> list[Node]:
    """The index expressions of one pair of brackets."""
    listed = node.child_by_field_name("indices")
    return [c for c in listed.named_children if c.type != "comment"] if listed is not None else []


def is_nested(node: Node) -> bool:
    """Whether a subscript's operand is a subscript itself: the second brackets of `tile[row][col]`."""
    argument = node.child_by_field_name("argument")
    return argument is not None and argument.type == "subscript_expression"


def all_indices(node: Node) -> tuple[Node, ...]:
    """The index expressions of all brackets, outermost dimension first."""
    argument = node.child_by_field_name("argument")
    before = all_indices(argument) if argument is not None and argument.type == "subscript_expression" else ()
    return (*before, *indices_of(node))


def pointee(described: Node | None) -> str:
    """`float4` for the type `float4*`; "" for a type that is no pointer."""
    if described is None or described.child_by_field_name("declarator") is None:
        return ""
    return text_of(described.child_by_field_name("type"))
