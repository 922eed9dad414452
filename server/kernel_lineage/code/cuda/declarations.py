"""Declarations of CUDA C++: variables with what they start with, arrays of threads and of blocks."""

from __future__ import annotations

import re

from tree_sitter import Node

from kernel_gate.expr.terms import Num
from kernel_lineage.code.cuda.conversions import declared
from kernel_lineage.code.cuda.expressions import Expressions
from kernel_lineage.code.cuda.scope import shown
from kernel_lineage.code.model import SharedArray
from kernel_lineage.code.values import Group, Opaque, Pointer
from kernel_lineage.kernels.cuda_forms import operator_of, text_of


def declare(at: Expressions, node: Node) -> None:
    """Read a declaration."""
    written = text_of(node)
    kind = text_of(node.child_by_field_name("type"))
    shared = "__shared__" in written.split("=")[0]
    for declarator in node.children_by_field_name("declarator"):
        _declarator(at, declarator, kind, shared, dynamic=shared and written.startswith("extern"))


def _declarator(at: Expressions, declarator: Node, kind: str, shared: bool, *, dynamic: bool) -> None:
    value_node = declarator.child_by_field_name("value") if declarator.type == "init_declarator" else None
    node: Node | None = declarator
    sizes: list[Node | None] = []
    pointer = False
    while node is not None and node.type != "identifier":
        if node.type == "array_declarator":
            sizes.insert(0, node.child_by_field_name("size"))
        pointer = pointer or node.type == "pointer_declarator"
        if node.type == "function_declarator":
            return
        node = node.child_by_field_name("declarator") or next(
            (c for c in node.named_children if c.type.endswith(("declarator", "identifier"))), None
        )
    if node is None:
        return
    name = text_of(node)
    if sizes or shared:
        _array(at, name, kind, sizes, declarator, shared, dynamic=dynamic)
        if value_node is not None:
            at.value(value_node)
        return
    value = at.value(value_node) if value_node is not None else None
    at.scope.variables[name] = declared(at.scope, declarator, kind, pointer, value)


def _array(
    at: Expressions,
    name: str,
    kind: str,
    sizes: list[Node | None],
    node: Node,
    shared: bool,
    *,
    dynamic: bool,
) -> None:
    element = at.scope.names.element(kind)
    extents: list[int] = []
    for size in sizes or [None]:
        value = at.integer(size).term if size is not None else Num(0 if dynamic else 1)
        if not isinstance(value, Num):
            at.scope.variables[name] = Opaque(f"the extent of `{shown(node)}` is no number")
            return
        extents.append(value.value)
    if not shared:
        at.scope.variables[name] = Pointer(name, "local", Num(0), element, tuple(extents))
        return
    nbytes = element.nbytes
    for extent in extents:
        nbytes *= extent
    known = at.scope.setting.launch.shared_bytes if dynamic else Num(nbytes)
    at.scope.model.shared[name] = SharedArray(name, known, dynamic)
    if sizes:
        at.scope.variables[name] = Pointer(name, "shared", Num(0), element, tuple(extents))
    else:
        at.scope.shared_scalars.add(name)
        at.scope.variables[name] = Opaque(f"`{name}` is shared by the threads of a block")


def declare_misread(at: Expressions, node: Node) -> bool:
    """`cg::thread_block_tile<32> warp = …;`, which the grammar takes for comparisons, with its value declared."""
    if node.type != "binary_expression" or operator_of(node) != ">":
        return False
    assignment = node.child_by_field_name("right")
    if assignment is None or assignment.type != "assignment_expression" or operator_of(assignment) != "=":
        return False
    left, right = assignment.child_by_field_name("left"), assignment.child_by_field_name("right")
    if (
        left is None
        or right is None
        or left.type != "identifier"
        or not re.match(r"[\w:]+\s*<", text_of(node))
    ):
        return False
    value = at.value(right)
    at.scope.variables[text_of(left)] = value if isinstance(value, Group) else Opaque()
    return True


def declared_names(node: Node) -> list[str]:
    """The names that a declaration or parameter declares."""
    found = []
    for declarator in node.children_by_field_name("declarator"):
        here: Node | None = declarator
        while here is not None and here.type != "identifier":
            here = here.child_by_field_name("declarator") or next(
                (c for c in here.named_children if c.type.endswith(("declarator", "identifier"))), None
            )
        if here is not None:
            found.append(text_of(here))
    return found
