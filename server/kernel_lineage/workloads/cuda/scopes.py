"""The way from a launch up to where its sizes are numbers: a chain of scopes.

A launch is written in the names of its launcher; the launcher's caller says what those are, and so on up to a function
that nobody calls. A launcher may be handed to the function that calls it, and its caller may stand in another file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from tree_sitter import Node

from kernel_lineage.kernels.source import Launch, SourceFile
from kernel_lineage.workloads.cuda.host import (
    HostFunction,
    assigned,
    bare_pointer,
    declared,
    functions_of,
)

_DEPTH = 8


@dataclass(frozen=True, slots=True)
class Scope:
    """A function on the way from a kernel's launch to where its sizes are numbers."""

    function: HostFunction
    given: Mapping[str, str]
    """Parameter → the argument as the caller writes it."""
    caller: Scope | None = None
    otherwise: tuple[Mapping[str, str], ...] = ()
    """The same of further calls in the caller: one for a check and one for a benchmark, say."""

    def origin(self, name: str) -> tuple[str, Scope]:
        """A name as it is called where it comes from, and that scope: parameters are followed to their arguments."""
        scope = self
        while scope.caller is not None and name in scope.given:
            given = bare_pointer(scope.given[name])
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
    """The function with its locals as they are set last before a launch, in the blocks around it."""
    body = function.node.child_by_field_name("body")
    again = dict(_set_before(body, launch.span.start)) if body is not None else {}
    return replace(function, locals={**function.locals, **again})


def _set_before(block: Node, position: int) -> Iterator[tuple[str, Node]]:
    """What statements before a byte set, in order: those of a block and of the blocks in it that the byte lies in."""
    for statement in block.named_children:
        if _holds(statement, position):
            yield from _set_before(statement, position)
        if statement.end_byte > position:
            return
        if statement.type == "declaration":
            for declarator in statement.children_by_field_name("declarator"):
                value = declarator.child_by_field_name("value")
                if declarator.type == "init_declarator" and value is not None:
                    yield declared(declarator), value
        elif (found := assigned(statement)) is not None:
            yield found


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
    above = _above(found, functions, depth - 1, elsewhere)
    further = tuple(given for given in _given_by(found.caller, function) if given != found.given)
    return Scope(function, found.given, above, () if found.handed_by is not None else further)


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
    callers = [f for f in functions if f is not function]
    for caller in callers:
        for direct in _given_directly(caller, function):
            return _Call(caller, direct)
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
    return next((_Call(c, handed) for c in callers for handed in _given_by(c, function)), None)


def _given_by(caller: HostFunction, function: HostFunction) -> Iterator[Mapping[str, str]]:
    """What a function gives another one: itself, and through a function that is handed it with all its arguments."""
    yield from _given_directly(caller, function)
    for _, given, _ in caller.calls:
        after = given[given.index(function.name) + 1 :] if function.name in given else ()
        if len(after) == len(function.parameters) > 0:
            yield dict(zip(function.parameters, after, strict=True))


def _given_directly(caller: HostFunction, function: HostFunction) -> Iterator[Mapping[str, str]]:
    for name, given, _ in caller.calls:
        if name == function.name and len(given) >= len(function.parameters):
            yield dict(zip(function.parameters, given, strict=False))


def _holds(node: Node, offset: int) -> bool:
    return node.start_byte <= offset < node.end_byte
