"""An element of memory that a loop works on in each of its rounds, kept in a variable.

`y[row] = 0; for (…) { y[row] += x[k]; }` is `float element = 0; for (…) { element += x[k]; } y[row] = element;` where
nothing else in the loop can touch the element. The variable has the element's type, so that each step is rounded as
before. This is no rewrite by itself, but what other rewrites start from, which read sums in variables.
"""

from __future__ import annotations

import re

from tree_sitter import Node

from kernel_lineage.code.types import dtype_bytes
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import Loop, contains, field_of, operator_of, text_of
from kernel_lineage.kernels.cuda_indexing import Access, indexing
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.edits import replace_node
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.element_work import check_alone
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    descendants,
    indent_at,
    insert_before,
    newline_of,
    syntax_of,
    taken_name,
)
from kernel_lineage.rewrite.assists.loop_changes import changed_in, promised_apart, written_by_calls
from kernel_lineage.rewrite.assists.written import dense
from kernel_lineage.rewrite.candidate import Edit

_LEAVES = frozenset({"return_statement", "goto_statement", "lambda_expression"})


def elements_in_variables(kernel: Kernel) -> list[Edit]:
    """The edits that keep in variables the elements that are given a first value right before a loop; none where no
    loop works on one, or where something else in it may touch the element. Raises `Refusal` where threads work
    together.
    """
    syntax = syntax_of(kernel)
    loops = [one for one in syntax.entry.loops if _first_value(one) is not None]
    if not loops:
        return []
    check_alone(kernel, syntax)
    taken = identifiers_in(syntax.entry.node)
    for loop in loops:
        edits = _kept(kernel, syntax, loop, taken)
        if edits:
            return edits
    return []


def _first_value(loop: Loop) -> Node | None:
    """The assignment to an element that stands right before a loop."""
    if loop.node.parent is None or loop.node.parent.type != "compound_statement":
        return None
    before = loop.node.prev_named_sibling
    while before is not None and before.type == "comment":
        before = before.prev_named_sibling
    inner = before.named_children[0] if before is not None and before.named_children else None
    if before is None or before.type != "expression_statement" or inner is None:
        return None
    assigned = inner.type == "assignment_expression" and operator_of(inner) == "="
    place = field_of(inner, "left")
    return inner if assigned and place is not None and place.type == "subscript_expression" else None


def _kept(kernel: Kernel, syntax: CudaSyntax, loop: Loop, taken: set[str]) -> list[Edit]:
    assignment = _first_value(loop)
    place, value = (field_of(assignment, side) for side in ("left", "right"))
    if assignment is None or place is None or value is None or assignment.parent is None:
        return []
    accesses = [a for a in indexing(syntax.entry).accesses if contains(loop.node, a.node)]
    first = next((a for a in indexing(syntax.entry).accesses if a.node == place), None)
    kind = _type_of(kernel, first) if first is not None else ""
    own = [a for a in accesses if first is not None and a.root == first.root]
    if first is None or not kind or not any(a.writes for a in own):
        return []
    if not all(dense(a.node) == dense(place) for a in own) or not _is_steady(syntax, loop, place):
        return []
    apart = all(
        a.space in ("local", "shared") or promised_apart(syntax, a.root, first.root)
        for a in accesses
        if a not in own
    )
    if (
        not apart
        or _is_handed_on(syntax, loop, first)
        or any(n.type in _LEAVES for n in descendants(loop.node))
    ):
        return []
    name = taken_name("element", taken)
    gap = newline_of(data_of(kernel)) + indent_at(data_of(kernel), assignment.start_byte)
    return [
        replace_node(assignment, f"{kind} {name} = {text_of(value)}"),
        *(replace_node(a.node, name) for a in own),
        insert_before(kernel, loop.node.end_byte, f"{gap}{text_of(place)} = {name};"),
    ]


def _type_of(kernel: Kernel, access: Access) -> str:
    """The type of an element as the kernel's parameter has it; "" where that is another one, or not plain."""
    parameter, address = kernel.parameter(access.root), access.address
    if parameter is None or parameter.dtype is None or address is None:
        return ""
    if dtype_bytes(parameter.dtype) != address.nbytes or access.cast or "volatile" in parameter.type:
        return ""
    kind = " ".join(re.sub(r"\b(?:const|__restrict__|__restrict)\b|\*", " ", parameter.type).split())
    return kind if re.fullmatch(r"[\w ]+", kind) else ""


def _is_steady(syntax: CudaSyntax, loop: Loop, place: Node) -> bool:
    """Whether a place is the same in every round: nothing that it is made of changes in the loop or is read there."""
    made = [n.type for n in descendants(place) if n != place]
    plain = not {
        "call_expression",
        "subscript_expression",
        "pointer_expression",
        "assignment_expression",
    } & set(made)
    plain = plain and "->" not in text_of(place)
    return plain and not identifiers_in(place) & changed_in(syntax, loop.node)


def _is_handed_on(syntax: CudaSyntax, loop: Loop, first: Access) -> bool:
    """Whether a call in a loop may touch an element: an atomic, or a function of the file's own that has a pointer."""
    start, end = loop.node.start_byte, loop.node.end_byte
    reach, own = indexing(syntax.entry), {unit.name for unit in syntax.units[1:]}
    handed = [
        reach.place(a).root
        for call in syntax.entry.calls
        if call.name in own and contains(loop.node, call.node)
        for a in call.arguments
        if a.type != "subscript_expression"
    ]
    touched = {*filter(None, handed), *written_by_calls(syntax, start, end)}
    addressed = any(
        operator_of(n) == "&" and first.root in identifiers_in(n)
        for n in descendants(loop.node)
        if n.type == "pointer_expression"
    )
    return addressed or not all(
        root != first.root and promised_apart(syntax, root, first.root) for root in touched
    )
