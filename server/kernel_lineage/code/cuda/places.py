"""Lvalues of CUDA C++ → where they lie in memory, what is read there and what is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from tree_sitter import Node

from kernel_gate.expr import terms
from kernel_gate.expr.terms import Num, Term, Var
from kernel_lineage.code.cuda.conversions import converted
from kernel_lineage.code.cuda.layouts import element_of, loaded_record, member_at
from kernel_lineage.code.cuda.scope import Scope, shown
from kernel_lineage.code.loads import Load
from kernel_lineage.code.values import (
    INTEGERS,
    Int,
    Opaque,
    Pointer,
    Record,
    Reference,
    Symbol,
    Value,
    fresh,
    why,
)
from kernel_lineage.kernels.cuda_expressions import indices_of
from kernel_lineage.kernels.cuda_forms import bare, field_of, operator_of, text_of

NAMES = ("identifier", "qualified_identifier")
_MOST_LINKS = 12
"""Members and elements of one another in one expression. Each is asked for its place and its value, which doubles."""


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

    def called(self, node: Node) -> Value:
        """What a call gives, a reference as such."""
        ...

    def in_macro(self, node: Node, use: Callable[[Node], Value]) -> Value | None:
        """What is made of the expression that a macro stands for; None where a node is no macro."""
        ...

    def operator_call(self, node: Node, receiver: Value, name: str, arguments: list[Node]) -> Value | None:
        """What a struct's own operator gives; None where it has none."""
        ...


def links_too_long(node: Node) -> bool:
    """Whether a chain of members and elements (`a.b[i].c`) is longer than any code's."""
    inner: Node | None = node
    for _ in range(_MOST_LINKS):
        if inner is None or inner.type not in (
            "field_expression",
            "subscript_expression",
            "pointer_expression",
        ):
            return False
        inner = field_of(inner, "argument")
    return True


def place(at: Evaluates, node: Node | None) -> Value:
    """Where an lvalue lies: a pointer, or something opaque for a variable."""
    node = bare(node)
    if node is None or links_too_long(node):
        return Opaque()
    location = _place(at, node)
    at.scope.reached(node, location)
    return location


def _place(at: Evaluates, node: Node) -> Value:
    match node.type:
        case "subscript_expression":
            return _subscript(at, node)
        case "pointer_expression" if operator_of(node) == "*":
            base = at.value(node.named_children[-1])
            return base if isinstance(base, Pointer) else Opaque(why(base))
        case "field_expression":
            return _member(at, node)
        case "call_expression" if (inner := at.in_macro(node, lambda n: place(at, n))) is not None:
            return inner
        case "cast_expression" | "call_expression":
            value = at.called(node) if node.type == "call_expression" else at.value(node)
            return value.to if isinstance(value, Reference) else value
        case "identifier":
            value = at.scope.variables.get(text_of(node)) or at.value(node)
            if isinstance(value, Reference):
                return value.to
            # An array stands for its first element; a pointer variable lies in a register.
            return value if isinstance(value, Pointer) and value.extents else Opaque()
        case _:
            return Opaque()


def _subscript(at: Evaluates, node: Node) -> Value:
    base = _array(at, node.child_by_field_name("argument"))
    indices = indices_of(node)
    if isinstance(base, Record):
        value = at.operator_call(node, base, "operator[]", indices)
        return value.to if isinstance(value, Reference) else Opaque(why(value) if value else "")
    index = at.integer(next(iter(indices), None))
    if isinstance(base, Symbol):
        return Opaque(f"the type of `{base.path}` is not seen")
    if not isinstance(base, Pointer):
        return Opaque(why(base) or at.scope.site(node).named)
    return moved(base, index)


def _member(at: Evaluates, node: Node) -> Value:
    argument, name = node.child_by_field_name("argument"), text_of(node.child_by_field_name("field"))
    if argument is None:
        return Opaque()
    base = at.value(argument) if operator_of(node) == "->" else place(at, argument)
    if isinstance(base, Pointer) and not base.extents:
        return member_at(at, base, name)
    if isinstance(base, Record) and isinstance(held := base.members.get(name), Pointer) and held.extents:
        return held
    value = at.value(argument) if operator_of(node) != "->" and isinstance(base, Opaque) else base
    if isinstance(value, Record) and isinstance(held := value.members.get(name), Pointer | Reference):
        return held.to if isinstance(held, Reference) else held if held.extents else Opaque()
    return Opaque(why(base))


def moved(pointer: Pointer, index: Int) -> Pointer:
    """A pointer, so many elements further; an array's element or row for an array."""
    stride = pointer.element.size
    for extent in pointer.extents[1:]:
        stride = terms.mul(stride, extent)
    offset = terms.add(pointer.offset, terms.mul(index.term, stride))
    through = pointer.arithmetic | index.arithmetic
    return replace(pointer, offset=offset, extents=pointer.extents[1:], arithmetic=through)


def _array(at: Evaluates, node: Node | None) -> Value:
    """What a subscript indexes."""
    node = bare(node)
    if node is None:
        return Opaque()
    row = node.type == "subscript_expression" and _is_row(at, node)
    return place(at, node) if row else at.value(node)


def _is_row(at: Evaluates, node: Node) -> bool:
    """Whether `tile[i]` is itself an array."""
    depth, root = 0, bare(node)
    while root is not None and root.type == "subscript_expression":
        depth, root = depth + 1, field_of(root, "argument")
    value = at.scope.variables.get(text_of(root)) if root is not None and root.type in NAMES else None
    if value is None and root is not None and root.type in NAMES:
        value = at.value(root)
    return isinstance(value, Pointer) and len(value.extents) > depth


def load(at: Evaluates, node: Node) -> Value:
    """What stands at an lvalue in memory."""
    location = place(at, node)
    if not isinstance(location, Pointer):
        unmodelled(at.scope, node, location)
        return Opaque(why(location))
    return location if location.extents else loaded(at, node, location)


def loaded(at: Evaluates, node: Node, pointer: Pointer, via: str = "") -> Value:
    """Read an element."""
    scope = at.scope
    scope.access(node, pointer, reads=True, via=via)
    depends = (pointer.offset,) if pointer.space != "local" else None
    type_ = INTEGERS.get(pointer.element.dtype)
    if pointer.element.name.endswith("*"):
        base = fresh(scope.model, f"{pointer.root}[…]")
        scope.model.depends[base.name] = depends
        scope.model.data.add(base.name)
        scope.model.unknowns[base.name] = f"the pointer `{shown(node)}` is data"
        inner = element_of(at, pointer.element.name[:-1])
        return Pointer(f"{pointer.root}[…]", "global", base, inner)
    load = Load(scope.site(node), scope.setting)
    if type_ is None:
        return loaded_record(at, load, pointer, depends)
    if pointer.space == "local" and not pointer.element.nbytes:
        return Opaque(load.reason)
    return load.integer(pointer, type_, depends)


def store(at: Evaluates, node: Node | None, value: Value, *, also_reads: bool = False) -> None:
    """Assign to an lvalue."""
    node = bare(node)
    if node is None:
        return
    scope = at.scope

    def stored(inner: Node) -> Value:
        store(at, inner, value, also_reads=also_reads)
        return value

    if at.in_macro(node, stored) is not None:
        return
    if node.type in NAMES:
        name = text_of(node)
        held = scope.variables.get(name)
        if isinstance(held, Reference):
            scope.access(node, held.to, reads=also_reads, writes=True)
        elif name in scope.shared_scalars:
            pass
        elif held is None and name in scope.names.variables:
            location = at.value(node)
            if isinstance(location, Pointer):
                scope.access(node, location, reads=also_reads, writes=True)
        else:
            scope.variables[name] = converted(at, node, value, held)
        return
    if node.type == "field_expression" and _store_member(at, node, value):
        return
    location = place(at, node)
    if isinstance(location, Pointer):
        scope.access(node, location, reads=also_reads, writes=True)
    elif node.type != "field_expression":
        unmodelled(scope, node, location)


def _store_member(at: Evaluates, node: Node, value: Value) -> bool:
    """Set a member of a struct in registers; False when it is in memory."""
    argument = field_of(node, "argument")
    if argument is None or argument.type != "identifier" or operator_of(node) == "->":
        return False
    held = at.scope.variables.get(text_of(argument))
    if not isinstance(held, Record):
        return False
    name = text_of(node.child_by_field_name("field"))
    members = {**held.members, name: converted(at, node, value, held.members.get(name))}
    at.scope.variables[text_of(argument)] = replace(held, members=members)
    return True


def unmodelled(scope: Scope, node: Node, location: Value) -> None:
    """Note an access whose address could not be modelled."""
    if reason := why(location):
        scope.problem(node, f"`{shown(node)}`: {reason}")


def variable_of(at: Evaluates, name: str, node: Node) -> Value:
    """A variable in the device's memory that is declared at file level."""
    declaration = at.scope.names.variables[name]
    kind = text_of(declaration.child_by_field_name("type"))
    space = "constant" if "__constant__" in text_of(declaration).split("=")[0] else "global"
    for declarator in declaration.children_by_field_name("declarator"):
        here: Node | None = declarator
        sizes: list[Node] = []
        pointer = False
        while here is not None and here.type != "identifier":
            if here.type == "array_declarator" and (size := here.child_by_field_name("size")) is not None:
                sizes.insert(0, size)
            pointer = pointer or here.type == "pointer_declarator"
            here = here.child_by_field_name("declarator")
        if here is None or text_of(here) != name:
            continue
        element = element_of(at, kind + "*" * pointer)
        extents = tuple(at.integer(size).term for size in sizes)
        storage = Pointer(name, space, Num(0), element, extents)
        return storage if extents else Reference(storage)
    return Opaque(f"`{name}` on line {at.scope.line(node)} is not understood")


def uniform(scope: Scope, name: str, reason: str) -> Int:
    """A number of the launch or of the file that is not known: the same for all threads."""
    scope.model.unknowns.setdefault(name, reason)
    scope.model.depends[name] = ()
    scope.model.constants.add(name)
    return Int(Var(name))
