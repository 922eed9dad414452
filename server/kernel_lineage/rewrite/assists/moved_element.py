"""One element that a thread moves: what is declared for it, where it is stored, and what is stored there."""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

from kernel_lineage.code.types import dtype_bytes
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import bare, contains, declarators, operator_of, text_of
from kernel_lineage.kernels.cuda_indexing import Access
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import descendants
from kernel_lineage.rewrite.assists.loop_changes import is_of_the_language
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.template_types import dtypes_meant, pointee_of


@dataclass(frozen=True, slots=True)
class Moved:
    """Declarations, then one store."""

    declared: list[Node]
    target: Node
    value: Node

    def needed(self, place: Node) -> list[Node]:
        """The declarations that a place is computed from."""
        wanted = identifiers_in(place)
        needed: list[Node] = []
        for declaration in reversed(self.declared):
            if contains(declaration, place):
                continue
            if {name for name, *_ in declarators(declaration)} & wanted:
                needed.insert(0, declaration)
                wanted |= identifiers_in(declaration)
        return needed


def moved_by(kernel: Kernel, inner: list[Node], *, in_steps: bool = False) -> Moved:
    """The element that statements move. Refused where they do anything else.

    `in_steps`: variables of their own may be changed on the way (`rest /= width;`), and count as declared.
    """
    *declared, store = inner
    assignment = bare(store.named_children[0]) if store.type == "expression_statement" else None
    if (
        assignment is None
        or assignment.type != "assignment_expression"
        or operator_of(assignment) != "="
        or any(
            d.type not in ("declaration", *(["expression_statement"] if in_steps else [])) for d in declared
        )
    ):
        raise Refusal(f"the work of {kernel.name} is not to declare values and to store one of them")
    target, value = assignment.child_by_field_name("left"), assignment.child_by_field_name("right")
    if target is None or value is None or target.type != "subscript_expression":
        raise Refusal(f"`{text_of(target)}` is not an element of a pointer")
    own = (
        {name for d in declared if d.type == "declaration" for name, *_ in declarators(d)}
        if in_steps
        else set()
    )
    for part in inner:
        for node in descendants(part):
            called = text_of(node.child_by_field_name("function")) if node.type == "call_expression" else ""
            if (called and not is_of_the_language(called)) or called.startswith("atomic"):
                raise Refusal(f"`{called}` is called, and may do more than to compute a value")
            changes = node.type == "update_expression" or (
                node.type == "assignment_expression" and node != assignment
            )
            changed = node.child_by_field_name("left") or node.child_by_field_name("argument")
            if changes and (part == store or text_of(changed) not in own):
                raise Refusal(f"`{text_of(node)}` changes something on the way")
    return Moved(declared, target, value)


def element_kind(kernel: Kernel, access: Access) -> str:
    """The type of what a parameter points to, as it is written; "" where it is not known what that is."""
    kind = pointee_of(kernel.parameter(access.root)) if access.node.type == "subscript_expression" else ""
    return kind if kind and dtypes_meant(kernel, kind) else ""


def padded_row(kernel: Kernel, kind: str, side: int) -> int:
    """The elements of a tile's row with what puts a column of it into different banks."""
    return side + max(1, 4 // min(map(dtype_bytes, dtypes_meant(kernel, kind))))


def on_one_line(node: Node, part: Node | None = None, text: str = "") -> str:
    """A statement or an expression on one line, with a part of it replaced by a text."""
    whole = text_of(node).encode()
    if part is not None and contains(node, part):
        begin = part.start_byte - node.start_byte
        whole = whole[:begin] + text.encode() + whole[begin + part.end_byte - part.start_byte :]
    return " ".join(whole.decode().split())
