"""The rounds of a Triton loop that counts one by one, taken several at a time."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from kernel_lineage.kernels.python_text import names_in
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_loops import range_arguments
from kernel_lineage.rewrite.assists.layout import data_of, indent_at, insert_before, start_of_line
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.triton_places import called, span_of, stored_names
from kernel_lineage.rewrite.candidate import Edit

MASKS = {"load": 1, "store": 2}
"""Where the mask of an access stands, if it is not named."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """The rounds of a loop, and what goes from one to the next."""

    loop: ast.For
    row: str
    """The name that counts them."""
    start: str
    stop: str
    moved: Mapping[str, ast.expr]
    """The pointers that each round moves on by the same, with what it moves them by."""
    changed: frozenset[str]
    """The other names that the loop gives values."""
    behind: frozenset[str]
    """The names that are read when it has ended."""
    depends: frozenset[str]
    """The names that a round's number is in, directly or not."""
    is_live: bool
    """The name that counts the rounds has a value before the loop, from another loop: Triton then takes it through."""

    def together(self, kernel: Kernel, row: str, first: str, size: str, spread: str = "") -> list[Edit]:
        """Edits by which the loop counts `size` rounds at a time, and `row` is the block of their numbers."""
        data, whole, body = data_of(kernel), span_of(kernel, self.loop), span_of(kernel, self.loop.body[0])
        block = f"tl.arange(0, {size}){spread}"
        rows = f"{indent_at(data, body.start)}{row} = {first} + {block}\n"
        # What goes through a loop is of one type all along.
        before = f"{row} = {block}\n{indent_at(data, whole.start)}"
        return [
            *([insert_before(kernel, whole.start, before)] if self.is_live and row == self.row else []),
            Edit(span_of(kernel, self.loop.target), first),
            Edit(span_of(kernel, self.loop.iter), f"range({self.start}, {self.stop}, {size})"),
            insert_before(kernel, start_of_line(data, body.start), rows),
        ]


def rounds_of(function: ast.FunctionDef, loop: ast.For) -> Rounds:
    """The rounds of a loop. Refused where it does not count them one by one up to a bound that stays, or where a name
    that it counts or moves by is used behind it.
    """
    start, stop, step = range_arguments(loop)
    assert isinstance(loop.iter, ast.Call)
    if (
        not isinstance(loop.target, ast.Name)
        or stop is None
        or step is not None
        or loop.iter.keywords
        or loop.orelse
    ):
        raise Refusal(f"the loop in line {loop.lineno} does not count rows one by one")
    row, changed = loop.target.id, set(stored_names(loop))
    if not isinstance(stop, ast.Name | ast.Constant) or names_in(stop) & changed:
        raise Refusal(f"the bound of the loop in line {loop.lineno} is no name or number that stays")
    moved, behind = _moved(loop, changed), _names_behind(function, loop)
    if outside := moved.keys() & behind:
        raise Refusal(f"`{min(outside)}` is used outside of the loop in line {loop.lineno} that moves it on")
    if row in behind:
        raise Refusal(f"the counter of the loop in line {loop.lineno} is used outside of it")
    return Rounds(
        loop,
        row,
        ast.unparse(start) if start is not None else "0",
        ast.unparse(stop),
        moved,
        frozenset(changed - {row} - moved.keys()),
        frozenset(behind),
        frozenset(_depending(loop, {row, *moved})),
        row in _live_before(function, loop),
    )


def factor(node: ast.expr) -> str:
    """An expression as a factor of a product."""
    written = ast.unparse(node)
    return written if isinstance(node, ast.Name | ast.Constant) else f"({written})"


def _moved(loop: ast.For, changed: set[str]) -> dict[str, ast.expr]:
    """The names that are only read from, and that each round then moves on by the same; with what it moves them by."""
    steps: dict[str, ast.expr] = {}
    read = {
        id(n)
        for call in ast.walk(loop)
        if isinstance(call, ast.Call) and called(call) in MASKS and call.args
        for n in ast.walk(call.args[0])
    }
    for position, statement in enumerate(loop.body):
        match statement:
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=step):
                inside = [n for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id == name]
                uses = [n for n in inside if n is not statement.target]
                later = {n for s in loop.body[position + 1 :] for n in names_in(s)}
                same = not names_in(step) & changed and not any(
                    isinstance(n, ast.Call) for n in ast.walk(step)
                )
                if uses and same and name not in later and all(id(n) in read for n in uses):
                    steps[name] = step
    return steps


def _depending(loop: ast.For, rows: set[str]) -> set[str]:
    """The names that a row's number is in, directly or not."""
    names = set(rows)
    for statement in loop.body:
        value = statement.value if isinstance(statement, ast.Assign | ast.AugAssign) else None
        if value is not None and names_in(value) & names:
            names |= set(stored_names(statement))
    return names


def _live_before(function: ast.FunctionDef, loop: ast.For) -> set[str]:
    """The names that have a value when a loop begins. What a loop stores first ends with it, its counter does not."""
    before = function.body[: function.body.index(loop)]
    return {n for s in before for n in stored_names(s.target if isinstance(s, ast.For) else s)}


def _names_behind(function: ast.FunctionDef, loop: ast.For) -> set[str]:
    """The names whose value of a loop is read behind it."""
    return _read_first(function.body[function.body.index(loop) + 1 :])


def _read_first(statements: list[ast.stmt]) -> set[str]:
    """The names that statements read before they give them a value, as far as that is told by their order."""
    read, anew = set[str](), set[str]()
    for statement in statements:
        match statement:
            case ast.For(target=target, iter=counts, body=body, orelse=[]):
                here = names_in(counts) | (_read_first(body) - {*stored_names(target)})
            case ast.AugAssign():
                here = names_in(statement)
            case _:
                here = {
                    n.id
                    for n in ast.walk(statement)
                    if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
                }
        read |= here - anew
        if isinstance(statement, ast.Assign):
            anew |= {*stored_names(statement)}
    return read
