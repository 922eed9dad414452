"""Lvalues of CUDA C++ → where they lie in memory, what is read there and what is written."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from tree_sitter import Node

from kernel_gate.expr import terms
from kernel_gate.expr.terms import Num, Term
from kernel_lineage.code.cuda.conversions import converted
from kernel_lineage.code.cuda.names import Names
from kernel_lineage.code.cuda.scope import Scope, shown
from kernel_lineage.code.values import INTEGERS, Int, Opaque, Pointer, Value, between, unknown, why
from kernel_lineage.kernels.cuda_expressions import indices_of
from kernel_lineage.kernels.cuda_forms import bare, operator_of, text_of

_MEMBERS = {name: i for i, name in enumerate("xyzw")}
NAMES = ("identifier", "qualified_identifier")


class Evaluates(Protocol):
    """What evaluates the expressions within an lvalue."""

    scope: Scope

    def value(self, node: Node) -> Value:
        """The value of an expression."""
        ...

    def integer(self, node: Node | None) -> Int:
        """An integer; unknown where it could not be modelled."""
        ...

    def truth(self, node: Node | None) -> Term:
        """A condition; unknown where it could not be modelled."""
        ...


def place(at: Evaluates, node: Node | None) -> Value:
    """Where an lvalue lies: a pointer, or something opaque for a variable."""
    node = bare(node)
    if node is None:
        return Opaque()
    match node.type:
        case "subscript_expression":
            base = _array(at, node.child_by_field_name("argument"))
            index = at.integer(next(iter(indices_of(node)), None))
            if not isinstance(base, Pointer):
                return Opaque(why(base) or at.scope.site(node).named)
            return moved(base, index)
        case "pointer_expression" if operator_of(node) == "*":
            base = at.value(node.named_children[-1])
            return base if isinstance(base, Pointer) else Opaque(why(base))
        case "field_expression":
            base = place(at, node.child_by_field_name("argument"))
            member = _MEMBERS.get(text_of(node.child_by_field_name("field")))
            part = Names.part(base.element) if isinstance(base, Pointer) else None
            if isinstance(base, Pointer) and member is not None and part is not None:
                offset = terms.add(base.offset, Num(member * part.nbytes))
                return replace(base, offset=offset, element=part)
            return Opaque(why(base))
        case "cast_expression" | "call_expression":
            return at.value(node)
        case "identifier":
            value = at.scope.variables.get(text_of(node))
            # An array stands for its first element; a pointer variable lies in a register.
            return value if isinstance(value, Pointer) and value.extents else Opaque()
        case _:
            return Opaque()


def moved(pointer: Pointer, index: Int) -> Pointer:
    """A pointer, so many elements further; an array's element or row for an array."""
    stride = pointer.element.nbytes
    for extent in pointer.extents[1:]:
        stride *= extent
    offset = terms.add(pointer.offset, terms.mul(index.term, Num(stride)))
    through = pointer.arithmetic | index.arithmetic
    return replace(pointer, offset=offset, extents=pointer.extents[1:], arithmetic=through)


def _array(at: Evaluates, node: Node | None) -> Value:
    """What a subscript indexes."""
    node = bare(node)
    if node is None:
        return Opaque()
    row = node.type == "subscript_expression" and _is_row(at.scope, node)
    return place(at, node) if row else at.value(node)


def _is_row(scope: Scope, node: Node) -> bool:
    """Whether `tile[i]` is itself an array."""
    depth, root = 0, bare(node)
    while root is not None and root.type == "subscript_expression":
        depth, root = depth + 1, bare(root.child_by_field_name("argument"))
    value = scope.variables.get(text_of(root)) if root is not None else None
    return isinstance(value, Pointer) and len(value.extents) > depth


def load(at: Evaluates, node: Node) -> Value:
    """What stands at an lvalue in memory."""
    found = place(at, node)
    if not isinstance(found, Pointer):
        _unmodelled(at.scope, node, found)
        return Opaque(why(found))
    return found if found.extents else loaded(at.scope, node, found)


def loaded(scope: Scope, node: Node, found: Pointer) -> Value:
    """Read an element."""
    scope.access(node, found, reads=True)
    type_ = INTEGERS.get(found.element.dtype)
    if type_ is None:
        return Opaque()
    buffer = scope.setting.buffers.get(found.root)
    if buffer is not None and buffer.values is not None and found.space == "global":
        return between(scope.model, f"{found.root}[…]", *buffer.values, type_)
    reason = f"the value of `{shown(node)}` (line {scope.line(node)}) is data"
    return unknown(scope.model, "loaded", type_, reason)


def store(at: Evaluates, node: Node | None, value: Value, *, also_reads: bool = False) -> None:
    """Assign to an lvalue."""
    node = bare(node)
    if node is None:
        return
    scope = at.scope
    if node.type in NAMES:
        if text_of(node) in scope.shared_scalars:
            return
        held = scope.variables.get(text_of(node))
        scope.variables[text_of(node)] = converted(scope, node, value, held)
        return
    found = place(at, node)
    if isinstance(found, Pointer):
        scope.access(node, found, reads=also_reads, writes=True)
    elif node.type != "field_expression":
        _unmodelled(scope, node, found)


def _unmodelled(scope: Scope, node: Node, found: Value) -> None:
    if why(found):
        scope.problem(node, f"`{shown(node)}`: {why(found)}")
