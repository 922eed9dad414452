"""The host side of a CUDA C++ file: its functions, who calls whom with what, and what they allocate and copy.

A launch is written in the names of its launcher; the launcher's caller says what those are, and so on up to a function
that nobody calls, where they are numbers. The way up is a chain of scopes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from tree_sitter import Node

from kernel_lineage.kernels.cuda_syntax import bare, text_of
from kernel_lineage.kernels.source import Launch, SourceFile

_ALLOCATORS = frozenset({"cudaMalloc", "cudaMallocManaged", "cudaMallocAsync"})
_COPIES = frozenset({"cudaMemcpy", "cudaMemcpyAsync", "memcpy_convert"})
_DEPTH = 8
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
            if name in _ALLOCATORS and len(given) >= 2 and _bare_pointer(given[0]) == pointer:
                return given[1]
        return ""

    def copied_from(self, pointer: str) -> str:
        """The host array that is copied to a pointer, as written; "" when none is."""
        for name, given, _ in self.calls:
            if name in _COPIES and len(given) >= 2 and _bare_pointer(given[0]) == pointer:
                return _bare_pointer(given[1])
        return ""


@dataclass(frozen=True, slots=True)
class Scope:
    """A function on the way from a kernel's launch to where its sizes are numbers."""

    function: HostFunction
    given: Mapping[str, str]
    """Parameter → the argument as the caller writes it."""
    caller: Scope | None = None

    def origin(self, name: str) -> tuple[str, Scope]:
        """A name as it is called where it comes from, and that scope: parameters are followed to their arguments."""
        scope = self
        while scope.caller is not None and name in scope.given:
            given = _bare_pointer(scope.given[name])
            if not given.isidentifier():
                break
            name, scope = given, scope.caller
        return name, scope


Callers = Callable[[str], Iterable[SourceFile]]
"""The other files in which a host function may be called, by its name."""


def _nowhere(_name: str) -> tuple[SourceFile, ...]:
    return ()


def scope_of(source: SourceFile, launch: Launch, elsewhere: Callers = _nowhere) -> Scope | None:
    """The chain of scopes of a launch, by the first caller of each function, in its own file or `elsewhere`.

    None for a launch outside of functions.
    """
    functions = functions_of(source)
    place = next(
        (f for f in functions if f.name == launch.launcher and _holds(f.node, launch.span.start)), None
    )
    return _scope(_as_at(place, launch), functions, _DEPTH, elsewhere) if place is not None else None


def _as_at(function: HostFunction, launch: Launch) -> HostFunction:
    """The function with its locals as they are set, in no branch or loop, last before a launch."""
    body = function.node.child_by_field_name("body")
    again = dict(_set_again(body, before=launch.span.start))
    return replace(function, locals={**function.locals, **again})


def scope_of_function(source: SourceFile, name: str) -> Scope | None:
    """The chain of scopes above a function; None where the file has none of that name."""
    functions = functions_of(source)
    place = next((f for f in functions if f.name == name), None)
    return _scope(place, functions, _DEPTH) if place is not None else None


def _scope(
    function: HostFunction, functions: tuple[HostFunction, ...], depth: int, elsewhere: Callers = _nowhere
) -> Scope:
    found = _called(function, functions) if depth else None
    for source in elsewhere(function.name) if depth and found is None and function.name != "main" else ():
        there = functions_of(source)
        if all(f.name != function.name for f in there) and (found := _called(function, there)) is not None:
            functions = there
            break
    if found is None:
        return Scope(function, {})
    return Scope(function, found.given, _above(found, functions, depth - 1, elsewhere))


@dataclass(frozen=True, slots=True)
class _Call:
    """A call of a function, and what its caller was given where the function itself was given to it."""

    caller: HostFunction
    given: Mapping[str, str]
    handed_by: _Call | None = None


def _above(call: _Call, functions: tuple[HostFunction, ...], depth: int, elsewhere: Callers) -> Scope:
    if call.handed_by is None:
        return _scope(call.caller, functions, depth, elsewhere)
    return Scope(call.caller, call.handed_by.given, _above(call.handed_by, functions, depth - 1, elsewhere))


def _called(function: HostFunction, functions: tuple[HostFunction, ...]) -> _Call | None:
    """The first call of a function: by its name, or by that of the parameter of a function that it is handed to."""
    for caller in functions:
        for name, given, _ in caller.calls:
            if name == function.name and caller is not function and len(given) >= len(function.parameters):
                return _Call(caller, dict(zip(function.parameters, given, strict=False)))
    by_name = {f.name: f for f in functions}
    for caller in functions:
        for name, given, _ in caller.calls:
            to = by_name.get(name)
            if to is None or function.name not in given or len(given) != len(to.parameters):
                continue
            handed = dict(zip(to.parameters, given, strict=True))
            parameter = to.parameters[given.index(function.name)]
            for called, inner, _ in to.calls:
                if called == parameter and len(inner) == len(function.parameters):
                    return _Call(
                        to, dict(zip(function.parameters, inner, strict=True)), _Call(caller, handed)
                    )
    return None


def _holds(node: Node, offset: int) -> bool:
    return node.start_byte <= offset < node.end_byte


def functions_of(source: SourceFile) -> tuple[HostFunction, ...]:
    """The functions of a file, kernels and device functions among them."""
    if source.root is None:
        return ()
    return tuple(_function(node) for node in _of_type(source.root, "function_definition"))


def _of_type(node: Node, kind: str) -> Iterator[Node]:
    if node.type == kind:
        yield node
        return
    for child in node.named_children:
        yield from _of_type(child, kind)


def _inside(node: Node) -> Iterator[Node]:
    yield node
    for child in node.named_children:
        yield from _inside(child)


def _function(node: Node) -> HostFunction:
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator")
    name = text_of(declarator.child_by_field_name("declarator")) if declarator is not None else ""
    listed = declarator.child_by_field_name("parameters") if declarator is not None else None
    parameters = tuple(_declared(p) for p in listed.named_children if p.type != "comment") if listed else ()
    values: dict[str, Node] = {}
    types: dict[str, str] = {}
    calls: list[tuple[str, tuple[str, ...], Node]] = []
    body = node.child_by_field_name("body")
    for inner in _inside(body) if body is not None else ():
        if inner.type == "init_declarator":
            value = inner.child_by_field_name("value")
            if value is not None:
                values.setdefault(_declared(inner), value)
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
    values.update((name, value) for name, value in _set_again(body) if name in parameters)
    scalars, pointers = (dict(_typed(listed, pointer)) for pointer in (False, True))
    return HostFunction(name, parameters, scalars, pointers, values, types, tuple(calls), node)


def _set_again(body: Node | None, before: int | None = None) -> Iterator[tuple[str, Node]]:
    """Names that the body sets, in no branch or loop, to what does not depend on them: `block_size = 32;`.

    With `before`, only where the text has them before that byte.
    """
    for statement in body.named_children if body is not None else ():
        inner = next(iter(statement.named_children), None)
        if (
            inner is None
            or statement.type != "expression_statement"
            or inner.type != "assignment_expression"
            or (before is not None and statement.start_byte >= before)
        ):
            continue
        name, value = (text_of(inner.child_by_field_name(side)) for side in ("left", "right"))
        right = inner.child_by_field_name("right")
        operator = text_of(inner.child_by_field_name("operator"))
        if (
            name.isidentifier()
            and right is not None
            and operator == "="
            and name not in re.findall(r"\w+", value)
        ):
            yield name, right


def _typed(listed: Node | None, pointers: bool) -> Iterator[tuple[str, str]]:
    for parameter in listed.named_children if listed is not None else ():
        declarator = parameter.child_by_field_name("declarator")
        if declarator is not None and (declarator.type != "identifier") is pointers:
            yield _declared_as(declarator), text_of(parameter.child_by_field_name("type"))


def _declared(node: Node) -> str:
    """The name that a declaration or a parameter introduces."""
    return _declared_as(node.child_by_field_name("declarator"))


def _declared_as(inner: Node | None) -> str:
    while inner is not None and inner.type != "identifier":
        inner = inner.child_by_field_name("declarator") or next(
            (c for c in inner.named_children if c.type in ("identifier", "pointer_declarator")), None
        )
    return text_of(inner)


def _bare_pointer(written: str) -> str:
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
