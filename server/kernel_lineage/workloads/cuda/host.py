"""The host side of a CUDA C++ file: its functions, what they call with what, and what they allocate and copy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import bare, inside, text_of
from kernel_lineage.kernels.source import SourceFile

ALLOCATORS = frozenset({"cudaMalloc", "cudaMallocManaged", "cudaMallocAsync"})
"""Functions that make a buffer, their first argument."""
CLEARS = frozenset({"cudaMemset", "cudaMemsetAsync"})
"""Functions that set a buffer's bytes."""
_COPIES = frozenset({"cudaMemcpy", "cudaMemcpyAsync", "memcpy_convert"})
_TILE = 16


@dataclass(frozen=True, slots=True)
class HostFunction:
    """One function of the host, by what a draft asks of it."""

    name: str
    parameters: tuple[str, ...]
    parameter_types: Mapping[str, str]
    """Parameter that is no pointer → its type, as written, without qualifiers."""
    pointer_types: Mapping[str, str]
    """Parameter that is a pointer → the type of its elements."""
    locals: Mapping[str, Node]
    """Local name → its first value; a parameter → what the body sets it to, whatever the caller gave."""
    types: Mapping[str, str]
    """Local pointer → the type of its elements, as written."""
    calls: tuple[tuple[str, tuple[str, ...], Node], ...]
    """What it calls with which arguments, as written, in the order of the text."""
    node: Node

    def allocated(self, pointer: str) -> str:
        """The bytes that a pointer is given, as written; "" when it is not allocated here."""
        for name, given, _ in self.calls:
            if name in ALLOCATORS and len(given) >= 2 and bare_pointer(given[0]) == pointer:
                return given[1]
        return ""

    def clears(self, pointer: str, before: int) -> bool:
        """Whether it sets a buffer to zeros before a byte of the text."""
        return any(
            name in CLEARS and len(given) >= 2 and given[1] == "0" and node.start_byte < before
            for name, given, node in self.calls
            if given and bare_pointer(given[0]) == pointer
        )

    def copied_from(self, pointer: str) -> str:
        """The host array that is copied to a pointer, as written; "" when none is."""
        for name, given, _ in self.calls:
            if name in _COPIES and len(given) >= 2 and bare_pointer(given[0]) == pointer:
                return bare_pointer(given[1])
        return ""


def functions_of(source: SourceFile) -> tuple[HostFunction, ...]:
    """The functions of a file, kernels and device functions among them."""
    if source.root is None:
        return ()
    return tuple(_function(node) for node in _of_type(source.root, "function_definition"))


def _of_type(node: Node, kind: str) -> Iterator[Node]:
    """The outermost nodes of a kind, in the order of the text."""
    waiting = [node]
    while waiting:
        inner = waiting.pop()
        if inner.type == kind:
            yield inner
        else:
            waiting += reversed(inner.named_children)


def _function(node: Node) -> HostFunction:
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator")
    name = text_of(declarator.child_by_field_name("declarator")) if declarator is not None else ""
    listed = declarator.child_by_field_name("parameters") if declarator is not None else None
    parameters = tuple(declared(p) for p in listed.named_children if p.type != "comment") if listed else ()
    values: dict[str, Node] = {}
    types: dict[str, str] = {}
    calls: list[tuple[str, tuple[str, ...], Node]] = []
    body = node.child_by_field_name("body")
    for inner in inside(body) if body is not None else ():
        if inner.type == "init_declarator":
            value = inner.child_by_field_name("value")
            if value is not None:
                values.setdefault(declared(inner), value)
        elif inner.type == "declaration":
            kind = text_of(inner.child_by_field_name("type"))
            types.update((_declared_as(d), kind) for d in inner.children_by_field_name("declarator"))
        elif inner.type == "call_expression":
            given = inner.child_by_field_name("arguments")
            called = text_of(inner.child_by_field_name("function")).split("<")[0].strip()
            arguments = (
                tuple(text_of(a) for a in given.named_children if a.type != "comment") if given else ()
            )
            calls.append((called, arguments, inner))
    statements = body.named_children if body is not None else ()
    again = (found for statement in statements if (found := assigned(statement)) is not None)
    values.update((name, value) for name, value in again if name in parameters)
    scalars, pointers = (dict(_typed(listed, pointer)) for pointer in (False, True))
    return HostFunction(name, parameters, scalars, pointers, values, types, tuple(calls), node)


def assigned(statement: Node) -> tuple[str, Node] | None:
    """The name that a statement sets to what does not depend on it, and that: `block_size = 32;`."""
    inner = next(iter(statement.named_children), None)
    if statement.type != "expression_statement" or inner is None or inner.type != "assignment_expression":
        return None
    name, value = (text_of(inner.child_by_field_name(side)) for side in ("left", "right"))
    right = inner.child_by_field_name("right")
    plain = right is not None and text_of(inner.child_by_field_name("operator")) == "="
    if right is None or not plain or not name.isidentifier() or name in re.findall(r"\w+", value):
        return None
    return name, right


def _typed(listed: Node | None, pointers: bool) -> Iterator[tuple[str, str]]:
    for parameter in listed.named_children if listed is not None else ():
        declarator = parameter.child_by_field_name("declarator")
        if declarator is not None and (declarator.type != "identifier") is pointers:
            yield _declared_as(declarator), text_of(parameter.child_by_field_name("type"))


def declared(node: Node) -> str:
    """The name that a declaration or a parameter introduces."""
    return _declared_as(node.child_by_field_name("declarator"))


def _declared_as(inner: Node | None) -> str:
    while inner is not None and inner.type != "identifier":
        inner = inner.child_by_field_name("declarator") or next(
            (c for c in inner.named_children if c.type in ("identifier", "pointer_declarator")), None
        )
    return text_of(inner)


def bare_pointer(written: str) -> str:
    """`&d_out`, `(void**)&d_out` and `d_out` → `d_out`."""
    return re.sub(r"^\(\s*[\w\s]+\*+\s*\)", "", written.strip()).lstrip("&* ").strip()


def numbers_of(node: Node | None) -> list[int]:
    """The whole numbers of a list that is written out; none of anything else."""
    node = bare(node)
    if node is None or node.type != "initializer_list":
        return []
    return [n for c in node.named_children if isinstance(n := literal(c), int)]


def literal(node: Node | None) -> int | float | None:
    """The number that a value is written as.

    Of a list of whole numbers, the one nearest to 128 from above; where all are smaller, 16, as of a square's edge.
    """
    node = bare(node)
    if node is None:
        return None
    if node.type == "number_literal":
        text = text_of(node).rstrip("uUlLfF") if not text_of(node).startswith("0x") else text_of(node)
        try:
            return int(text, 0)
        except ValueError:
            try:
                return float(text)
            except ValueError:
                return None
    if node.type == "initializer_list":
        numbers = numbers_of(node)
        if _TILE in numbers and max(numbers) < 128:  # edges of square blocks
            return _TILE
        return min((n for n in numbers if n >= 128), default=max(numbers, default=None))
    return None
