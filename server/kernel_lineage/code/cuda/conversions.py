"""Values as another type: literals, casts, and what a variable of a declared type keeps."""

from __future__ import annotations

import re
from dataclasses import replace

from tree_sitter import Node

from kernel_gate.expr.terms import Num
from kernel_lineage.code.cuda.scope import Scope
from kernel_lineage.code.integers import fitted
from kernel_lineage.code.values import (
    INT32,
    INT64,
    INTEGERS,
    UINT32,
    UINT64,
    Group,
    Int,
    Opaque,
    Pointer,
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


def cast(scope: Scope, node: Node, written: str, value: Value) -> Value:
    """A value as the type that is written."""
    element = scope.names.element(written)
    if "*" in written:
        if isinstance(value, Pointer):
            return replace(value, element=element, extents=())
        return Opaque(why(value))
    type_ = INTEGERS.get(element.dtype)
    if type_ is None:
        return Opaque(why(value))
    if isinstance(value, Int):
        return fitted(scope.site(node), value, type_)
    return unknown(scope.model, "cast", type_, why(value) or f"{scope.site(node).named} is data")


def converted(scope: Scope, node: Node, value: Value, held: Value | None) -> Value:
    """A value as it is kept in a variable that held another one."""
    if isinstance(value, Int) and isinstance(held, Int) and held.type != value.type:
        return fitted(scope.site(node), value, held.type)
    return value


def declared(scope: Scope, node: Node, written: str, pointer: bool, value: Value | None) -> Value:
    """A value as the initial one of a declared variable."""
    if pointer or "auto" in written:
        if isinstance(value, Pointer) and "auto" not in written:
            element = scope.names.element(written)
            return replace(value, element=element if element.nbytes else value.element, extents=())
        if value is None:
            return Opaque(f"a pointer that is not set on line {scope.line(node)}")
        return value
    type_ = INTEGERS.get(scope.names.element(written).dtype)
    if type_ is None:
        return value if isinstance(value, Group) else Opaque(why(value) if value is not None else "")
    if isinstance(value, Int):
        return fitted(scope.site(node), value, type_)
    reason = why(value) if value is not None else ""
    return unknown(scope.model, "variable", type_, reason or f"{scope.site(node).named} is data")
