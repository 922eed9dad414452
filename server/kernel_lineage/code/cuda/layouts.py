"""Structs with the arguments of their template: where members lie, and what a struct's constants are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from tree_sitter import Node

from kernel_gate.expr import terms
from kernel_gate.expr.terms import Num, Term, Var
from kernel_lineage.code.cuda.scope import Scope
from kernel_lineage.code.cuda.structs import Struct
from kernel_lineage.code.loads import Load
from kernel_lineage.code.types import dtype_bytes, vector_of
from kernel_lineage.code.values import (
    INT32,
    INTEGERS,
    Element,
    Group,
    Int,
    Opaque,
    Pointer,
    Record,
    Symbol,
    Value,
    unknown,
)
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_text import at_commas

_TEMPLATED = re.compile(r"((?:\w+::)*)(\w+)\s*(?:<(.*)>)?$", re.DOTALL)
_GROUPS = re.compile(r"\b(?:thread_block|grid_group|thread_block_tile\s*<\s*(?P<size>\w+))\b(?!\s*<)")
_MOST_ALIGNMENT = 16
_DEPTH = 6


class Integers(Protocol):
    """What evaluates the extents of arrays."""

    scope: Scope

    def integer(self, node: Node | None) -> Int:
        """An integer; unknown where it could not be modelled."""
        ...


@dataclass(frozen=True, slots=True)
class Layout:
    """A struct's members: offset in bytes, type, extents."""

    members: Mapping[str, tuple[int, Element, tuple[Term, ...]]]
    nbytes: int


def struct_of(scope: Scope, written: str) -> tuple[Struct, tuple[str, ...]] | None:
    """The struct that a type names, with its template's arguments as they are written."""
    match = _TEMPLATED.match(scope.names.base(written, scope.types))
    struct = scope.names.struct(match[2]) if match is not None else None
    if match is None or struct is None:
        return None
    return struct, tuple(at_commas(match[3] or ""))


@contextmanager
def within(at: Integers, struct: Struct, arguments: tuple[str, ...]) -> Iterator[None]:
    """Names mean meanwhile what they mean in a struct."""
    scope = at.scope
    types, variables = dict(scope.types), scope.variables
    bound: dict[str, Value] = {}
    for position, (kind, name, default) in enumerate(struct.parameters):
        argument = arguments[position] if position < len(arguments) else default
        if kind == "typename":
            scope.types[name] = scope.names.base(argument, types) if argument else name
        else:
            node = scope.names.snippets.expression(argument) if argument else None
            bound[name] = at.integer(node) if node is not None else Int(Var(name))
            if node is None:
                scope.model.constants.add(name)
    scope.types |= struct.aliases
    scope.variables = {**variables, **bound}
    try:
        yield
    finally:
        scope.types, scope.variables = types, variables


def constant_of(at: Integers, written: str, name: str) -> Value | None:
    """A constant of a struct: `Traits<T>::kRows`; None where the struct or the constant is not seen."""
    instance = struct_of(at.scope, written)
    if instance is None or at.scope.depth > _DEPTH:
        return None
    struct, arguments = instance
    node = struct.constants.get(name)
    if node is None:
        return None
    at.scope.depth += 1
    try:
        with within(at, struct, arguments):
            at.scope.variables = {
                k: v for k, v in at.scope.variables.items() if k not in struct.constants or k == name
            }
            others = {c for c in struct.constants if c != name}
            for other in sorted(others & identifiers_in(node)):
                at.scope.variables[other] = constant_of(at, written, other) or Opaque()
            return at.integer(node)
    finally:
        at.scope.depth -= 1


def layout_of(at: Integers, written: str) -> Layout | None:
    """Where a struct's members lie; None where a type within is not known."""
    instance = struct_of(at.scope, written)
    if instance is None or at.scope.depth > _DEPTH:
        return None
    struct, arguments = instance
    members: dict[str, tuple[int, Element, tuple[Term, ...]]] = {}
    position, widest = 0, max(struct.alignment, 1)
    at.scope.depth += 1
    try:
        with within(at, struct, arguments):
            for name in struct.constants:
                constant = constant_of(at, written, name)
                if constant is not None:
                    at.scope.variables[name] = constant
            for member in struct.members:
                element, alignment = _sized(at, member.type)
                extents = tuple(at.integer(size).term for size in member.sizes)
                count = 1
                for extent in extents:
                    count *= extent.value if isinstance(extent, Num) else 0
                if not element.nbytes or not count:
                    return None
                position += -position % alignment
                members[member.name] = (position, element, extents)
                position += element.nbytes * count
                widest = max(widest, alignment)
    finally:
        at.scope.depth -= 1
    return Layout(members, position + -position % widest)


def _sized(at: Integers, written: str) -> tuple[Element, int]:
    """A type with its size, and its alignment."""
    element = element_of(at, written)
    if (vector := vector_of(element.dtype)) is not None:
        whole = element.nbytes & (element.nbytes - 1) == 0
        return element, min(element.nbytes, _MOST_ALIGNMENT) if whole else dtype_bytes(vector[0])
    inner = layout_of(at, written) if not element.dtype and not element.name.endswith("*") else None
    if inner is not None:
        instance = struct_of(at.scope, written)
        alignments = [min(e.nbytes & -e.nbytes, _MOST_ALIGNMENT) for _, e, _ in inner.members.values()]
        return element, max([instance[0].alignment if instance else 1, 1, *alignments])
    return element, max(min(element.nbytes, _MOST_ALIGNMENT), 1)


def element_of(at: Integers, written: str) -> Element:
    """The type of that name, with the size of a struct whose definition is seen."""
    element = at.scope.element(written)
    if not element.nbytes and (layout := layout_of(at, written)) is not None:
        return replace(element, nbytes=layout.nbytes)
    return element


def member_at(at: Integers, pointer: Pointer, name: str) -> Pointer:
    """A member of the struct or vector that a pointer points at."""
    part = at.scope.names.part(pointer.element)
    if part is not None and name in "xyzw":
        offset = terms.add(pointer.offset, Num("xyzw".index(name) * part.nbytes))
        return replace(pointer, offset=offset, element=part)
    type_ = pointer.element.name
    layout = layout_of(at, type_)
    if layout is not None and name in layout.members:
        place, element, extents = layout.members[name]
        offset = terms.add(pointer.offset, Num(place))
        return replace(pointer, offset=offset, element=element, extents=extents)
    instance = struct_of(at.scope, type_)
    member = next((m for m in instance[0].members if m.name == name), None) if instance is not None else None
    element = at.scope.element(member.type) if member is not None else Element("", 0, f"{type_}::{name}")
    offset = terms.add(pointer.offset, Var(f"offsetof({type_}, {name})"))
    return replace(pointer, offset=offset, element=element, extents=())


def argument_of(at: Integers, path: str, written: str, depth: int = 0) -> Value:
    """A value that the launch gives: a struct by its members, a pointer into memory of its own, a number."""
    if written.rstrip().endswith(("*", "* const")) or at.scope.element(written).name.endswith("*"):
        pointee = at.scope.element(written).name.rstrip(" const").removesuffix("*")
        return Pointer(path, "global", Num(0), element_of(at, pointee))
    element = at.scope.element(written)
    if (type_ := INTEGERS.get(element.dtype)) is not None:
        at.scope.model.depends.setdefault(path, ())
        if not type_.signed:
            at.scope.model.naturals.add(path)
        return Int(Var(path), type_)
    if (vector := vector_of(element.dtype)) is not None:
        kind = INTEGERS.get(vector[0])
        members = {m: Int(Var(f"{path}.{m}"), kind) if kind else Opaque() for m in "xyzw"[: vector[1]]}
        return Record(element.dtype, members, path)
    if element.dtype:
        return Opaque()
    if (group := _GROUPS.search(written)) is not None:
        size = at.integer(at.scope.names.snippets.expression(group["size"])) if group["size"] else None
        return Group(size.term if size is not None else None, grid="grid_group" in written)
    instance = struct_of(at.scope, written)
    if instance is None or depth > _DEPTH or at.scope.depth > _DEPTH:
        return Symbol(path)
    struct, arguments = instance
    members_: dict[str, Value] = {}
    at.scope.depth += 1
    try:
        with within(at, struct, arguments):
            for member in struct.members:
                if member.sizes:
                    extents = tuple(at.integer(size).term for size in member.sizes)
                    inner = element_of(at, member.type)
                    members_[member.name] = Pointer(f"{path}.{member.name}", "local", Num(0), inner, extents)
                else:
                    members_[member.name] = argument_of(at, f"{path}.{member.name}", member.type, depth + 1)
    finally:
        at.scope.depth -= 1
    return Record(at.scope.names.base(written, at.scope.types), members_, path)


def aggregate(at: Integers, kind: str, values: list[Value]) -> Value:
    """A struct or vector of that type from the values of its members, in order."""
    scope = at.scope
    type_ = scope.element(kind)
    if type_.dtype in INTEGERS:
        return (values or [Int(Num(0))])[0]
    if kind.strip() == "dim3":
        return Record("dim3", dict(zip("xyz", [*values, *[Int(Num(1))] * 3], strict=False)))
    if (vector := vector_of(type_.dtype)) is not None:
        return Record(kind.strip(), dict(zip("xyzw"[: vector[1]], values, strict=False)))
    layout, instance = layout_of(at, kind), struct_of(scope, kind)
    names = list(layout.members) if layout is not None else []
    if not names and instance is not None and not instance[0].methods.get(instance[0].name):
        names = [member.name for member in instance[0].members]
    if not names and (values or instance is None):
        return values[0] if len(values) == 1 and not type_.dtype else Opaque()
    members = dict(zip(names, values, strict=False))
    return Record(scope.names.base(kind, scope.types), {n: members.get(n, Opaque()) for n in names})


def loaded_record(at: Integers, load: Load, pointer: Pointer, depends: tuple[Term, ...] | None) -> Value:
    """A vector or struct of integers as it stands in memory: of a struct each member is unknown, but for its type."""
    element = pointer.element
    if (vector := vector_of(element.dtype)) is not None:
        type_ = INTEGERS.get(vector[0])
        if type_ is None:
            return Opaque()
        members: dict[str, Value] = {}
        for number, name in enumerate("xyzw"[: vector[1]]):
            place = replace(pointer, offset=terms.add(pointer.offset, Num(number * type_.bits // 8)))
            members[name] = load.integer(place, type_, depends, f".{name}")
        return Record(element.dtype, members)
    instance = struct_of(at.scope, element.name)
    if instance is None:
        return Opaque()
    values: dict[str, Value] = {}
    for member in instance[0].members:
        kind = INTEGERS.get(at.scope.element(member.type).dtype)
        values[member.name] = (
            unknown(at.scope.model, member.name, kind, load.reason, depends)
            if kind is not None and not member.sizes
            else Opaque(load.reason)
        )
    return Record(element.name, values)


def as_integer(at: Integers, value: Value) -> Int | None:
    """A value that stands for a number, as one; None for others."""
    if isinstance(value, Int):
        return value
    if isinstance(value, Symbol):
        at.scope.model.depends.setdefault(value.path, ())
        return Int(Var(value.path), INT32)
    return None
