"""Branches of a Triton kernel that only choose the value of a name, written as `tl.where`.

`if flip != 0: at = n - 1 - at` is `at = tl.where(flip != 0, n - 1 - at, at)`. Nothing else changes: this is no rewrite
by itself, but what other rewrites start from, which follow no branches.

Both values are worked out then, so that only arithmetic may stand in a branch: nothing that reads memory, and no
division by what may be zero.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from kernel_lineage.kernels.python_text import names_in
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import (
    begins_line,
    data_of,
    indent_at,
    newline_of,
    replace_between,
)
from kernel_lineage.rewrite.assists.model import Refusal, attempt
from kernel_lineage.rewrite.assists.triton_places import called, function_of, span_of, stored_names
from kernel_lineage.rewrite.assists.triton_values import OF_LANES
from kernel_lineage.rewrite.candidate import Edit

_ANYWHERE = {*OF_LANES, "where"} - {"cdiv"}
"""Triton's functions that can be worked out whatever they are handed."""
_COMPARED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_ARITHMETIC = (
    ast.Name, ast.Constant, ast.UnaryOp, ast.USub, ast.Invert, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div,
    ast.BitAnd, ast.BitOr, ast.BitXor, ast.FloorDiv, ast.Mod, ast.Compare, *_COMPARED, ast.Call, ast.Attribute,
    ast.expr_context,
)  # fmt: skip


def branches_as_choices(kernel: Kernel) -> list[Edit]:
    """The edits that write branches as choices of values; none where there is none."""
    function = function_of(kernel)
    language = next(
        (ast.unparse(c.func.value) for c in _calls(function) if isinstance(c.func, ast.Attribute)), ""
    )
    if not language:
        return []
    before = {p.name for p in kernel.parameters}
    edits = [
        attempt(partial(_choice, kernel, branch, names, language))
        for branch, names in _branches(function.body, before)
    ]
    return [e for e in edits if not isinstance(e, Refusal)]


def _calls(function: ast.FunctionDef) -> Iterator[ast.Call]:
    """The calls of what Triton's language has."""
    yield from (c for c in ast.walk(function) if isinstance(c, ast.Call) and called(c))


def _branches(body: list[ast.stmt], before: set[str]) -> Iterator[tuple[ast.If, frozenset[str]]]:
    """Branches in the order of the text, each with the names that have a value whenever it is come to."""
    names = set(before)
    for statement in body:
        match statement:
            case ast.If():
                yield statement, frozenset(names)
                for part in (statement.body, statement.orelse):
                    yield from _branches(part, names)
                both = set(map(_name, statement.body)) & set(map(_name, statement.orelse))
                names |= both - {""}
            case ast.For() | ast.While():
                counter = set(stored_names(statement.target)) if isinstance(statement, ast.For) else set()
                yield from _branches(statement.body, names | counter)
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                names |= set(stored_names(statement))


def _name(statement: ast.stmt) -> str:
    """The one name that a statement gives a value; "" where it does something else."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return ""


def _choice(kernel: Kernel, branch: ast.If, names: frozenset[str], language: str) -> Edit:
    """The statements that stand in the place of a branch. Refused where it does more than to choose values."""
    test, own = branch.test, stored_names(function_of(kernel))
    if not isinstance(test, ast.Compare) or not all(isinstance(op, _COMPARED) for op in test.ops):
        raise Refusal(f"line {branch.lineno} compares no numbers")
    if len(test.ops) != 1 or not _is_arithmetic(test) or not names_in(test) & set(own):
        raise Refusal(f"what line {branch.lineno} tests may be told when the kernel is built")
    then, other = ([(_name(s), s) for s in part] for part in (branch.body, branch.orelse))
    assigned = [name for name, _ in then]
    if "" in assigned or (other and [name for name, _ in other] != assigned):
        raise Refusal(f"line {branch.lineno} does more than to choose values")
    if len(set(assigned)) < len(assigned) or (
        len(assigned) > 1 and (other or names_in(test) & set(assigned))
    ):
        raise Refusal(f"what line {branch.lineno} chooses depends on each other")
    if not other and not set(assigned) <= names:
        raise Refusal(f"`{assigned[0]}` has no value before line {branch.lineno}")
    lines: list[str] = []
    for position, (name, statement) in enumerate(then):
        sides = [_value(statement), _value(other[position][1]) if other else name]
        lines.append(f"{name} = {language}.where({ast.unparse(test)}, {', '.join(sides)})")
    data, span = data_of(kernel), span_of(kernel, branch)
    if not begins_line(data, span.start) or data[span.start : span.start + 2] != b"if":
        raise Refusal(f"line {branch.lineno} is part of another branch")
    gap = newline_of(data) + indent_at(data, span.start)
    return replace_between(kernel, span.start, span.end, gap.join(lines))


def _value(statement: ast.stmt) -> str:
    """What an assignment gives, which can be worked out in any case. Refused where that is not so."""
    assert isinstance(statement, ast.Assign)
    if not _is_arithmetic(statement.value):
        raise Refusal(f"what line {statement.lineno} gives is not worked out in any case")
    return ast.unparse(statement.value)


def _is_arithmetic(value: ast.expr) -> bool:
    """Whether an expression reads no memory and divides by no whole number that may be zero."""
    for node in ast.walk(value):
        match node:
            case ast.BinOp(op=ast.FloorDiv() | ast.Mod(), right=by):
                if not (isinstance(by, ast.Constant) and by.value):
                    return False
            case ast.Call(func=ast.Attribute(attr="to")):
                continue
            case ast.Call() if called(node) not in _ANYWHERE:
                return False
            case _ if not isinstance(node, _ARITHMETIC):
                return False
    return True
