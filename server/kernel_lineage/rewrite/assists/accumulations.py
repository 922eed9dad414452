"""Whether a variable is a sum or a choice over all elements, so that it matters not who adds which of them."""

from __future__ import annotations

from tree_sitter import Node

from kernel_gate.reaching import reachable
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import field_of, operator_of, text_of
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.rewrite.assists.layout import descendants
from kernel_lineage.rewrite.assists.loop_changes import is_of_the_language


def accumulates(nodes: list[Node], syntax: CudaSyntax, name: str, declared: set[str]) -> bool:
    """Whether each assignment of a variable goes on from its own value: `sum += …`, `m = fmaxf(m, …)`.

    What is rescaled on the way (`s = s * expf(m - new) + …`) is no sum over the elements: parts of it are combined by
    another rule, which may not take a thread that has no element. A function of the file's own may do the same.
    """
    initial = {v.name: v.value for v in syntax.entry.variables if v.name in declared and v.value is not None}
    for node in nodes:
        if node.type == "pointer_expression" and text_of(node).replace(" ", "") == f"&{name}":
            return False
        if node.type != "assignment_expression" or text_of(field_of(node, "left")) != name:
            continue
        if operator_of(node) in ("*=", "/="):
            return False
        if operator_of(node) != "=":
            continue
        right = node.child_by_field_name("right")
        if right is not None and (_is_scaled(right, name) or _is_combined(right, name)):
            return False
        used = identifiers_in(right) if right is not None else ()
        if name not in reachable(used, lambda n: identifiers_in(initial[n]) if n in initial else ()):
            return False
    return True


def _is_scaled(value: Node, name: str) -> bool:
    return any(
        n.type == "binary_expression" and operator_of(n) in ("*", "/") and name in identifiers_in(n)
        for n in descendants(value)
    )


def _is_combined(value: Node, name: str) -> bool:
    return any(
        n.type == "call_expression"
        and name in identifiers_in(n)
        and not is_of_the_language(text_of(n.child_by_field_name("function")))
        for n in descendants(value)
    )
