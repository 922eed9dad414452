"""Declarations of CUDA C++: variables with what they start with, arrays of threads and of blocks."""

from __future__ import annotations

import re

from tree_sitter import Node

from kernel_gate.expr.terms import Num, Term, mul
from kernel_lineage.code.cuda.conversions import declared
from kernel_lineage.code.cuda.expressions import Expressions
from kernel_lineage.code.cuda.layouts import aggregate, element_of, struct_of
from kernel_lineage.code.cuda.places import place
from kernel_lineage.code.cuda.scope import shown
from kernel_lineage.code.cuda.structs import CONVERSION
from kernel_lineage.code.model import SharedArray
from kernel_lineage.code.values import INTEGERS, Group, Int, Opaque, Pointer, Record, Reference, Value
from kernel_lineage.kernels.cuda_forms import operator_of, text_of, within_declarator


def declare(at: Expressions, node: Node) -> None:
    """Read a declaration."""
    written = text_of(node)
    kind = text_of(node.child_by_field_name("type"))
    shared = "__shared__" in written.split("=")[0]
    if node.type == "alias_declaration":
        described = text_of(node.child_by_field_name("type"))
        at.scope.types[text_of(node.child_by_field_name("name"))] = at.scope.names.base(
            described, at.scope.types
        )
        return
    if node.type == "type_definition":
        for declarator in node.children_by_field_name("declarator"):
            at.scope.types[text_of(declarator)] = at.scope.names.base(kind, at.scope.types)
        return
    for declarator in node.children_by_field_name("declarator"):
        _declarator(at, declarator, kind, shared, dynamic=shared and written.startswith("extern"))


def _declarator(at: Expressions, declarator: Node, kind: str, shared: bool, *, dynamic: bool) -> None:
    value_node = declarator.child_by_field_name("value") if declarator.type == "init_declarator" else None
    node: Node | None = declarator
    sizes: list[Node | None] = []
    stars = 0
    reference = False
    while node is not None and node.type != "identifier":
        if node.type == "array_declarator":
            sizes.insert(0, node.child_by_field_name("size"))
        stars += node.type == "pointer_declarator"
        reference = reference or node.type == "reference_declarator"
        if node.type == "structured_binding_declarator":
            _bind(at, node, value_node)
            return
        if node.type == "function_declarator":
            _declared_by_call(at, node, kind)
            return
        node = within_declarator(node)
    if node is None:
        return
    name, pointer = text_of(node), stars > 0
    kind += "*" * (stars - 1)
    if sizes or shared:
        _array(at, name, kind + "*" * pointer, sizes, declarator, shared, dynamic=dynamic)
        if value_node is not None:
            at.value(value_node)
        return
    if reference and value_node is not None and isinstance(to := place(at, value_node), Pointer):
        at.scope.variables[name] = to if to.extents else Reference(to)
        return
    value: Value | None = None
    if value_node is not None and value_node.type in ("initializer_list", "argument_list"):
        parts = [at.value(c) for c in value_node.named_children if c.type != "comment"]
        scalar = pointer or (len(parts) == 1 and "auto" in kind) or at.scope.element(kind).dtype in INTEGERS
        value = (parts[0] if parts else Int(Num(0))) if scalar else aggregate(at, kind, parts)
    elif value_node is not None:
        value = at.value(value_node)
    if pointer and isinstance(value, Record):
        value = at.operator_call(declarator, value, CONVERSION, []) or value
    at.scope.variables[name] = declared(at, declarator, kind, pointer, value)


def _declared_by_call(at: Expressions, node: Node, kind: str) -> None:
    """`int i(threadIdx);`, which the grammar takes for the declaration of a function."""
    name, listed = node.child_by_field_name("declarator"), node.child_by_field_name("parameters")
    if name is None or name.type != "identifier" or listed is None or not kind:
        return
    value = at.scope.names.snippets.expression(text_of(listed))
    variables = [c for c in listed.named_children if text_of(c) in at.scope.variables]
    if value is not None and len(variables) == len(listed.named_children) == 1:
        at.scope.variables[text_of(name)] = declared(at, node, kind, False, at.value(value))
    else:
        at.scope.variables[text_of(name)] = declared(at, node, kind, False, None)


def _bind(at: Expressions, node: Node, value_node: Node | None) -> None:
    """`auto [a, b] = pair;`."""
    value = at.value(value_node) if value_node is not None else Opaque()
    parts = list(value.members.values()) if isinstance(value, Record) else []
    for position, part in enumerate(c for c in node.named_children if c.type == "identifier"):
        at.scope.variables[text_of(part)] = parts[position] if position < len(parts) else Opaque()


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
    element = element_of(at, kind)
    unsized = Num(0 if dynamic else 1)
    extents = [at.integer(size).term if size is not None else unsized for size in sizes or [None]]
    if not at.scope.setting.is_open and not all(isinstance(extent, Num) for extent in extents):
        at.scope.variables[name] = Opaque(f"the extent of `{shown(node)}` is no number")
        return
    if not shared:
        at.scope.variables[name] = Pointer(name, "local", Num(0), element, tuple(extents))
        return
    nbytes: Term = element.size
    for extent in extents:
        nbytes = mul(nbytes, extent)
    at.scope.model.shared[name] = SharedArray(
        name, at.scope.setting.launch.shared_bytes if dynamic else nbytes, dynamic
    )
    if sizes:
        at.scope.variables[name] = Pointer(name, "shared", Num(0), element, tuple(extents))
    elif at.scope.setting.is_open or struct_of(at.scope, kind) is not None:
        at.scope.variables[name] = Reference(Pointer(name, "shared", Num(0), element))
    else:
        at.scope.shared_scalars.add(name)
        at.scope.variables[name] = Opaque(f"`{name}` is shared by the threads of a block")


def declare_misread(at: Expressions, node: Node) -> bool:
    """`cg::thread_block_tile<32> warp = …;`, which the grammar takes for comparisons, with its value declared."""
    if node.type != "binary_expression" or operator_of(node) != ">":
        return False
    plain = node.child_by_field_name("right")
    if plain is not None and plain.type == "identifier" and re.match(r"[\w:]+\s*<", text_of(node)):
        at.scope.variables[text_of(plain)] = Opaque()
        return True
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
    names = []
    for declarator in node.children_by_field_name("declarator"):
        here: Node | None = declarator
        while here is not None and here.type != "identifier":
            if here.type == "structured_binding_declarator":
                names += [text_of(c) for c in here.named_children if c.type == "identifier"]
                here = None
                break
            here = within_declarator(here)
        if here is not None:
            names.append(text_of(here))
    return names
