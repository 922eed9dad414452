"""Which places of a piece of code are come by on every way through it, and which under a condition only."""

from __future__ import annotations

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import contains, operator_of

_WHOLE = {"expression_statement", "declaration", "init_declarator", "parenthesized_expression"}
_CHOICES = {"if_statement", "switch_statement", "conditional_expression"}


def always(statements: list[Node], nodes: list[Node]) -> bool:
    """Whether one of the nodes is come by on every way through the statements."""
    return any(_comes_by(s, nodes) for s in statements)


def _comes_by(statement: Node, nodes: list[Node]) -> bool:
    inside = [n for n in nodes if contains(statement, n)]
    if any(not is_under_a_condition(statement, n) for n in inside):
        return True
    if statement.type == "compound_statement":
        return always(list(statement.named_children), inside)
    if statement.type in ("if_statement", "conditional_expression"):
        then, other = (statement.child_by_field_name(f) for f in ("consequence", "alternative"))
        if other is not None and other.type == "else_clause":
            other = next(iter(other.named_children), None)
        return then is not None and other is not None and _comes_by(then, inside) and _comes_by(other, inside)
    parts = statement.named_children if statement.type in _WHOLE else ()
    return any(_comes_by(part, inside) for part in parts)


def is_under_a_condition(statement: Node, node: Node) -> bool:
    """Whether a node, which lies in a statement, runs only under a condition inside of it."""
    current, parent = node, node.parent
    while parent is not None and current != statement:
        if parent.type in _CHOICES and parent.child_by_field_name("condition") != current:
            return True
        shortcut = parent.type == "binary_expression" and operator_of(parent) in ("&&", "||")
        if shortcut and parent.child_by_field_name("right") == current:
            return True
        current, parent = parent, parent.parent
    return False
