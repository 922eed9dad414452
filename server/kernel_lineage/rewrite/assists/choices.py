"""`if (v > best) { best = v; }`: a maximum or a minimum, whatever order its elements come in.

A place that is remembered beside it is none: of equal elements it would be another one's.
"""

from __future__ import annotations

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import contains, field_of, operator_of, test_of, text_of
from kernel_lineage.rewrite.assists.layout import statements_of
from kernel_lineage.rewrite.assists.written import dense


def chosen_in_any_order(nodes: list[Node]) -> set[str]:
    """The variables that hold the best of all elements, and that nothing else in the nodes uses."""
    chosen: set[str] = set()
    for node in nodes:
        name = _chosen(node) if node.type == "if_statement" else ""
        if name and all(contains(node, n) for n in nodes if n.type == "identifier" and text_of(n) == name):
            chosen.add(name)
    return chosen


def _chosen(statement: Node) -> str:
    """The variable that an `if` gives the value that it is compared with; "" where it does something else."""
    test, steps = test_of(statement), statements_of(statement.child_by_field_name("consequence"))
    if test is None or statement.child_by_field_name("alternative") is not None or len(steps) != 1:
        return ""
    if test.type != "binary_expression" or operator_of(test) not in ("<", ">", "<=", ">="):
        return ""
    step = steps[0].named_children[0] if steps[0].type == "expression_statement" else None
    left = field_of(step, "left")
    if step is None or step.type != "assignment_expression" or operator_of(step) != "=":
        return ""
    if left is None or left.type != "identifier":
        return ""
    sides = sorted((dense(field_of(test, "left")), dense(field_of(test, "right"))))
    return text_of(left) if sides == sorted((text_of(left), dense(field_of(step, "right")))) else ""
