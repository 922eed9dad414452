"""What a Triton program does for its row, as the body of a loop over rows."""

from __future__ import annotations

import ast

from kernel_lineage.kernels.python_text import names_in
from kernel_lineage.kernels.source import Kernel, Span
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    fresh_name,
    indent_at,
    replace_between,
    start_of_line,
    taken_name,
)
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.triton_places import calls_of, holds_text_of_lines, span_of, stored_names
from kernel_lineage.rewrite.candidate import Edit

_INDENT = "    "
_PURE = ("arange", "cdiv", "full", "zeros", "next_power_of_2", "minimum", "maximum")
"""Functions whose value is the same for every row when their arguments are."""


def in_loop(kernel: Kernel, function: ast.FunctionDef, bound: str) -> Edit:
    """The body with a loop over rows, up to `bound`, around all that follows what no row changes."""
    statements = function.body[1:] if ast.get_docstring(function) is not None else list(function.body)
    around = [n for n, s in enumerate(statements) if not _same_for_all_rows(s, function)]
    if not around:
        raise Refusal(f"{kernel.name} does the same in every program")
    inner = statements[around[0] :]
    if inner[0].lineno == function.lineno or len({s.lineno for s in statements}) < len(statements):
        raise Refusal(f"{kernel.name} has several statements on one line")
    if holds_text_of_lines(inner):
        raise Refusal("a text of several lines cannot be moved into a loop")
    constants = {p.name for p in kernel.parameters if p.constexpr}
    stored = stored_names(function)
    moved = sorted(set(stored) & {p.name for p in kernel.parameters})
    if set(moved) & {*constants, bound}:
        raise Refusal(f"{min(set(moved) & {*constants, bound})} is given another value by the kernel")
    taken = names_in(function)
    row = _row_name(inner[0])
    if row is not None and stored.count(row) == 1:
        kept = inner[1:]
    else:
        row, kept = taken_name("row", taken), inner
    if not kept:
        raise Refusal(f"{kernel.name} does nothing with its row")
    names = {name: fresh_name(f"{name}_of_row", taken) for name in moved}
    text = _renamed(kernel, inner, kept, row, names)
    data = data_of(kernel)
    start = _with_comments(data, start_of_line(data, span_of(kernel, inner[0]).start))
    end = span_of(kernel, inner[-1]).end
    indent = indent_at(data, span_of(kernel, inner[0]).start)
    head = f"{indent}for {row} in range(tl.program_id(0), {bound}, tl.num_programs(0)):\n"
    fresh = "".join(f"{indent}{_INDENT}{new} = {old}\n" for old, new in names.items())
    return replace_between(kernel, start, end, head + fresh + text)


def _renamed(
    kernel: Kernel, inner: list[ast.stmt], kept: list[ast.stmt], row: str, names: dict[str, str]
) -> str:
    """The text of the statements, one step further in, with the row's number and fresh pointers for its own."""
    data = data_of(kernel)
    changes: list[tuple[Span, str]] = []
    for statement in kept:
        changes += [(span_of(kernel, c), row) for c in calls_of(statement, "program_id")]
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and node.id in names:
                changes.append((span_of(kernel, node), names[node.id]))
    start = _with_comments(data, start_of_line(data, span_of(kernel, inner[0]).start))
    skipped = None if kept is inner else span_of(kernel, inner[0])
    end = span_of(kernel, kept[-1]).end
    text = data[start:end]
    for span, new in sorted(changes, key=lambda c: c[0].start, reverse=True):
        text = text[: span.start - start] + new.encode() + text[span.end - start :]
    if skipped is not None:
        line_end = data.find(b"\n", skipped.end) + 1
        text = text[: start_of_line(data, skipped.start) - start] + text[line_end - start :]
    lines = text.decode().split("\n")
    return "\n".join(_INDENT + line if line.strip() else line for line in lines)


def _with_comments(data: bytes, start: int) -> int:
    """Where the comment above a line begins, which goes with it; else the line."""
    while start:
        above = start_of_line(data, start - 1)
        if not data[above:start].strip().startswith(b"#"):
            return start
        start = above
    return start


def _same_for_all_rows(statement: ast.stmt, function: ast.FunctionDef) -> bool:
    """Whether a statement only names a value that no row changes, and nothing else gives the name another."""
    if not isinstance(statement, ast.Assign) or not all(isinstance(t, ast.Name) for t in statement.targets):
        return False
    stored = stored_names(function)
    if any(stored.count(t.id) > 1 for t in statement.targets if isinstance(t, ast.Name)):
        return False
    parameters = {a.arg for a in function.args.args}
    if {t.id for t in statement.targets if isinstance(t, ast.Name)} & parameters:
        return False
    calls = [n for n in ast.walk(statement.value) if isinstance(n, ast.Call)]
    used = names_in(statement.value)
    pure = all(ast.unparse(c.func).rpartition(".")[2] in _PURE for c in calls)
    return pure and not used & set(stored) & parameters


def _row_name(statement: ast.stmt) -> str | None:
    """`row` of the statement `row = tl.program_id(0)`."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call) if call in set(
            calls_of(call, "program_id")
        ):
            return name
    return None
