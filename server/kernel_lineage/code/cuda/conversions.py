"""Values as another type: literals, casts, and what a variable of a declared type keeps."""

from __future__ import annotations

import re
from dataclasses import replace

from tree_sitter import Node

from kernel_gate.expr.terms import Num, Term, add
from kernel_lineage.code.cuda.layouts import Integers, as_integer, element_of, struct_of
from kernel_lineage.code.cuda.scope import Scope
from kernel_lineage.code.integers import fitted
from kernel_lineage.code.types import vector_of
from kernel_lineage.code.values import (
    INT32,
    INT64,
    INTEGERS,
    UINT32,
    UINT64,
    Group,
    Int,
    Lambda,
    Opaque,
    Pointer,
    Record,
    Symbol,
    Value,
    unknown,
    why,
)


def literal(text: str) -> Value:
    """A number as it is written; opaque for one that is no integer."""
    text = text.replace("'", "")
    suffix = re.search(r"[uUlLzZ]*$", text)
    letters = suffix.group().lower() if suffix is not None else ""
    try:
        number = int(text[: len(text) - len(letters)], 0)
    except ValueError:
        digits = text.rstrip("uUlL")
        if re.fullmatch(r"0[0-7]+", digits):
            return Int(Num(int(digits, 8)))
        return Opaque()
    wide = "l" in letters or number >= 2**32
    return Int(Num(number), (UINT64 if wide else UINT32) if "u" in letters else INT64 if wide else INT32)


def cast(at: Integers, node: Node, written: str, value: Value) -> Value:
    """A value as the type that is written."""
    scope = at.scope
    if "*" in written or "[" in written:
        pointee = re.sub(r"\*(?=[^*]*$)", "", written, count=1)
        if isinstance(value, Pointer):
            return replace(value, element=element_of(at, pointee), extents=())
        if isinstance(value, Symbol):
            return Pointer(value.path, "global", Num(0), element_of(at, pointee))
        return Opaque(why(value))
    if written.rstrip().endswith("&"):
        return value
    element = scope.element(written)
    if element.name.endswith("*") and isinstance(value, Pointer):
        return replace(value, element=element_of(at, element.name.rstrip(" const")[:-1]), extents=())
    type_ = INTEGERS.get(element.dtype)
    if type_ is None:
        return value if not element.dtype and isinstance(value, Int | Record) else Opaque(why(value))
    if (number := as_integer(at, value)) is not None:
        return fitted(scope.site(node), number, type_)
    if isinstance(value, Pointer) and type_.bits == 64 and (place := _address(scope, value)) is not None:
        return Int(place, type_, value.arithmetic)
    return unknown(scope.model, "cast", type_, why(value) or f"{scope.site(node).named} is data")


def _address(scope: Scope, pointer: Pointer) -> Term | None:
    """Where a pointer points in the device's memory; None where that is not known."""
    buffer = scope.setting.buffers.get(pointer.root) if pointer.space == "global" else None
    return add(buffer.address, pointer.offset) if buffer is not None and buffer.address is not None else None


def converted(at: Integers, node: Node, value: Value, held: Value | None) -> Value:
    """A value as it is kept in a variable that held another one."""
    if isinstance(held, Int) and (number := as_integer(at, value)) is not None:
        return fitted(at.scope.site(node), number, held.type) if held.type != number.type else number
    if isinstance(held, Int) and isinstance(value, Opaque):
        reason = why(value) or f"{at.scope.site(node).named} is data"
        return unknown(at.scope.model, "variable", held.type, reason)
    if isinstance(held, Pointer) and isinstance(value, Pointer) and held.element.name:
        return replace(value, element=held.element, extents=())
    return value


def declared(at: Integers, node: Node, written: str, pointer: bool, value: Value | None) -> Value:
    """A value as the initial one of a declared variable."""
    scope = at.scope
    if pointer or "auto" in written:
        if isinstance(value, Symbol) and pointer:
            return Pointer(value.path, "global", Num(0), element_of(at, written))
        if isinstance(value, Pointer) and "auto" not in written:
            element = element_of(at, written)
            return replace(value, element=element if element.nbytes else value.element, extents=())
        if isinstance(value, Pointer):
            return replace(value, extents=())
        if value is None:
            return Opaque(f"a pointer that is not set on line {scope.line(node)}")
        return value
    element = scope.element(written)
    if element.name.endswith("*"):
        return declared(at, node, element.name.rstrip(" const")[:-1], True, value)
    type_ = INTEGERS.get(element.dtype)
    if type_ is None:
        return _other(at, element.dtype, written, value)
    if value is not None and (number := as_integer(at, value)) is not None:
        return fitted(scope.site(node), number, type_)
    reason = why(value) if value is not None else ""
    return unknown(scope.model, "variable", type_, reason or f"{scope.site(node).named} is data")


def _other(at: Integers, dtype: str, written: str, value: Value | None) -> Value:
    """A value of a type that is no integer's."""
    if isinstance(value, Group | Lambda | Symbol):
        return value
    if not dtype and (instance := struct_of(at.scope, written)) is not None:
        type_ = at.scope.names.base(written, at.scope.types)
        if isinstance(value, Record):
            return replace(value, type=type_)
        return Record(
            type_, dict.fromkeys((m.name for m in instance[0].members), Opaque(why(value) if value else ""))
        )
    if isinstance(value, Record):
        return value
    if (vector := vector_of(dtype)) is not None and vector[0] in INTEGERS:
        return Record(dtype, dict.fromkeys("xyzw"[: vector[1]], Opaque(why(value) if value else "")))
    if not dtype and isinstance(value, Int | Pointer):
        return value  # a type that is not seen keeps what it is given
    return Opaque(why(value) if value is not None else "")
