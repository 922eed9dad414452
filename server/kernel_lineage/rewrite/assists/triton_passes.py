"""Passes of a Triton program over its row, each with a loop of one round, as one straight text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from kernel_lineage.kernels.edits import differing_lines, edited
from kernel_lineage.kernels.python_text import names_in
from kernel_lineage.kernels.source import Kernel, Span
from kernel_lineage.rewrite.assists.layout import (
    begins_line,
    data_of,
    indent_at,
    insert_before,
    replace_between,
    start_of_line,
    taken_name,
)
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.triton_block_choices import kernel_after
from kernel_lineage.rewrite.assists.triton_places import (
    called,
    calls_of,
    function_of,
    holds_text_of_lines,
    resolved,
    span_of,
)
from kernel_lineage.rewrite.candidate import Edit

_GONE = "\0"
"""Stands on a line that is left out."""


@dataclass(frozen=True, slots=True)
class _Held:
    """A block that a pass loaded, under the name that holds it."""

    name: str
    other: str | None
    """What stands beyond the mask; None when that is not said."""
    depends: frozenset[str]
    """The names that its address and its mask are made of."""


@dataclass(slots=True)
class _Memory:
    """What is known after a statement of the straight text."""

    values: dict[str, str] = field(default_factory=dict)
    """The pass's own names → what they are, in names from before the passes."""
    held: dict[str, _Held] = field(default_factory=dict)
    """Address, mask and conversion → where that is held."""

    def forget(self, statement: ast.AST) -> None:
        """What a statement gives another value, and all that it may write over in memory."""
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self.values.pop(node.id, None)
                self.held = {
                    k: h for k, h in self.held.items() if h.name != node.id and node.id not in h.depends
                }
        if any(_writes(node) for node in ast.walk(statement)):
            self.held.clear()


def with_loads_named(kernel: Kernel, loops: list[ast.For]) -> Kernel:
    """The kernel with a name for each load that stands within an expression of a pass and is made in several places."""
    statements = [s for loop in loops for s in loop.body if isinstance(s, ast.Assign | ast.AugAssign)]
    loads = [(s, c) for s in statements for c in calls_of(s, "load") if c.args]
    places = [ast.unparse(c.args[0]) for _, c in loads]
    taken = names_in(function_of(kernel)) | {p.name for p in kernel.parameters}
    data, edits = data_of(kernel), list[Edit]()
    for statement, call in loads:
        whole, here = span_of(kernel, statement), span_of(kernel, call)
        within = _loaded(statement) is None and places.count(ast.unparse(call.args[0])) > 1
        if not within or not begins_line(data, whole.start):
            continue
        name = taken_name("loaded", taken)
        margin = indent_at(data, whole.start)
        edits += [
            insert_before(kernel, whole.start, f"{name} = {ast.unparse(call)}\n{margin}"),
            Edit(here, name),
        ]
    return kernel_after(kernel, edits) if edits else kernel


def of_original(kernel: Kernel, made: Kernel, edits: list[Edit]) -> list[Edit]:
    """Edits of a kernel that was made of another one, as edits of that one."""
    if made is kernel:
        return edits
    after = edited(data_of(made), edits).decode()
    return list(differing_lines(after, data_of(kernel).decode()))


def joined(kernel: Kernel, function: ast.FunctionDef, loops: list[ast.For], length: str) -> Edit:
    """All from the first pass to the last, without the loops and without loads of what is held already."""
    data = data_of(kernel)
    shifts: list[tuple[Span, str]] = []
    replaced: list[tuple[Span, str]] = []
    memory = _Memory()
    for statement in function.body:
        if statement not in loops:
            memory.forget(statement)
            continue
        assert isinstance(statement, ast.For) and isinstance(statement.target, ast.Name)
        if reason := _unmovable(kernel, function, statement):
            raise Refusal(reason)
        shifts += _without_loop(data, kernel, statement)
        memory.values = {statement.target.id: "0"}
        for inner in statement.body:
            if line := _open_access(inner, memory.values, length):
                raise Refusal(f"the mask in line {line} does not say where the row ends")
            repeat = _again(inner, memory)
            if repeat is None:
                _note(inner, memory)
                continue
            name, holder = repeat
            replaced.append((span_of(kernel, inner), f"{name} = {holder}" if name != holder else _GONE))
            if name != holder:
                memory.forget(inner)
        memory.values = {}
    if not replaced:
        raise Refusal(f"{kernel.name} loads nothing again that it could hold")
    start = start_of_line(data, span_of(kernel, loops[0]).start)
    end = span_of(kernel, loops[-1]).end
    # Lines within a statement that is replaced go with it.
    kept = [(s, t) for s, t in shifts if not any(r.start < s.start < r.end for r, _ in replaced)]
    text = data[start:end]
    for span, new in sorted([*kept, *replaced], key=lambda c: c[0].start, reverse=True):
        text = text[: span.start - start] + new.encode() + text[span.end - start :]
    lines = [line for line in text.decode().split("\n") if line.strip(" \t") != _GONE]
    return replace_between(kernel, start, end, "\n".join(lines).replace(_GONE, ""))


def _unmovable(kernel: Kernel, function: ast.FunctionDef, loop: ast.For) -> str:
    """Why a loop's body cannot stand by itself; "" when it can."""
    assert isinstance(loop.target, ast.Name)
    inner, counter = loop.body, loop.target.id
    if inner[0].lineno == loop.lineno or len({s.lineno for s in inner}) < len(inner):
        return f"{kernel.name} has several statements on one line"
    if holds_text_of_lines(inner):
        return "a text of several lines cannot be moved out of a loop"
    own = {id(n) for other in function.body if isinstance(other, ast.For) for n in ast.walk(other)}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id == counter and id(node) not in own:
            return f"{counter} is used outside of its loop"
    within = [n for s in inner for n in ast.walk(s) if isinstance(n, ast.Name) and n.id == counter]
    if any(isinstance(n.ctx, ast.Store) for n in within):
        return f"{counter} is given another value within its loop"
    return ""


def _without_loop(data: bytes, kernel: Kernel, loop: ast.For) -> Iterator[tuple[Span, str]]:
    """`start = 0` in the place of the loop's head, and each line of its body one step further out."""
    assert isinstance(loop.target, ast.Name)
    head, body = span_of(kernel, loop), span_of(kernel, loop.body[0])
    outer, inner = indent_at(data, head.start), indent_at(data, body.start)
    colon = data.find(b"\n", span_of(kernel, loop.iter).end)
    yield Span(head.start, colon, head.first_line, head.first_line), f"{loop.target.id} = 0"
    at, line = colon + 1, data.count(b"\n", 0, colon) + 2
    while 0 < at < head.end:
        if data[at : at + len(inner)] == inner.encode():
            yield Span(at, at + len(inner), line, line), outer
        at, line = data.find(b"\n", at) + 1, line + 1


def _open_access(statement: ast.stmt, values: dict[str, str], length: str) -> int:
    """The line of a load or store whose mask does not compare with the row's length; 0 when there is none."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and called(node) in ("load", "store"):
            mask = next((k.value for k in node.keywords if k.arg == "mask"), None)
            if mask is None or length not in _names(resolved(ast.unparse(mask), values)):
                return node.lineno
    return 0


def _again(statement: ast.stmt, memory: _Memory) -> tuple[str, str] | None:
    """The name that a statement loads a block into, and the one that holds the same; None where none does."""
    load = _loaded(statement)
    if load is None:
        return None
    key, other = _key(load, memory.values)
    held = memory.held.get(key)
    # Without a word on what stands beyond the mask, anything may.
    return (load[0], held.name) if held is not None and other in (None, held.other) else None


def _note(statement: ast.stmt, memory: _Memory) -> None:
    """Take in what a statement makes known."""
    load = _loaded(statement)
    key, other = _key(load, memory.values) if load is not None else ("", None)
    value = None
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        value = resolved(ast.unparse(statement.value), memory.values)
    memory.forget(statement)
    if load is not None:
        memory.held[key] = _Held(load[0], other, frozenset(_names(key)))
    elif (
        value is not None and isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    ):
        memory.values[statement.targets[0].id] = value


def _loaded(statement: ast.stmt) -> tuple[str, ast.Call, ast.Call] | None:
    """Name, value and load of `name = tl.load(…)` and `name = tl.load(…).to(…)`."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=function) as value):
            converted = isinstance(function, ast.Attribute) and function.attr == "to"
            inner = function.value if converted and isinstance(function, ast.Attribute) else value
            if isinstance(inner, ast.Call) and called(inner) == "load" and len(inner.args) == 1:
                return name, value, inner
    return None


def _key(load: tuple[str, ast.Call, ast.Call], values: dict[str, str]) -> tuple[str, str | None]:
    """What is loaded (address, mask, conversion) in names from before the passes, and what `other` is."""
    _, value, call = load
    options = {k.arg: resolved(ast.unparse(k.value), values) for k in call.keywords}
    conversion = "" if value is call else ", ".join(ast.unparse(a) for a in value.args)
    address = resolved(ast.unparse(call.args[0]), values)
    return f"({address}, {options.get('mask')}, ({conversion}))", options.get("other")


def _names(text: str) -> set[str]:
    return names_in(ast.parse(text, mode="eval"))


def _writes(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and (called(node) == "store" or called(node).startswith("atomic_"))
