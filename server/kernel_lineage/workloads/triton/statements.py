"""What the statements of host code do to the names around them.

A condition that is not known is read both ways: what both agree on is kept. A loop is read as often as its values are
known; a handler where what is tried raises.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from kernel_lineage.kernels.triton_guards import raises
from kernel_lineage.workloads.triton.elements import with_element
from kernel_lineage.workloads.triton.guards import keep
from kernel_lineage.workloads.triton.objects import (
    Class,
    Frame,
    Function,
    Instance,
    Kept,
    LeftLoop,
    Names,
    Reached,
    Returned,
    Stopped,
)
from kernel_lineage.workloads.triton.operations import arithmetic, key_of, unpacked
from kernel_lineage.workloads.triton.torch_formulas import OPERATORS
from kernel_lineage.workloads.triton.values import (
    Size,
    Tensor,
    Unknown,
    anything,
    is_number,
    size_of_all,
    value_at,
)

_MOST_ROUNDS = 24
"""Rounds of a loop that are read."""
_GATHERS = frozenset({"append", "extend", "add", "insert", "update"})
"""Methods by which rounds of a loop add to what others made."""


def read_statement(frame: Frame, statement: ast.stmt) -> None:
    """One statement. Raises `Returned`, `LeftLoop`, `Stopped` and `Reached`."""
    reader, names = frame.reader, frame.names
    match statement:
        case ast.Assign(targets=targets, value=value):
            content = frame.evaluate(value)
            for target in targets:
                _want_axes(frame, target, value)
                assign(frame, target, content)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            assign(frame, target, frame.evaluate(value))
        case ast.AugAssign(target=target, op=op, value=value):
            _augmented(frame, target, op, value)
        case ast.Expr(value=ast.Yield(value=value)):
            reader.give(frame.evaluate(value) if value is not None else None)
        case ast.Expr(value=ast.YieldFrom(value=value)):
            through = frame.evaluate(value)
            for item in reader.items_of(through) or [Unknown(f"`{ast.unparse(value)}`")]:
                reader.give(item)
        case ast.Expr(value=value):
            before = list(reader.promises)
            frame.evaluate(value)
            if reader.makes_dims(frame.module) and not _may_keep(frame, value):
                reader.promises[:] = before
        case ast.Assert(test=test):
            keep(frame, test, True)
            frame.evaluate(test)
        case ast.Return(value=value):
            raise Returned(frame.evaluate(value) if value is not None else None)
        case ast.Raise():
            raise Stopped("raises")
        case ast.If():
            _if(frame, statement)
        case ast.For():
            _for(frame, statement)
        case ast.While():
            _while(frame, statement)
        case ast.Break() | ast.Continue():
            raise LeftLoop(isinstance(statement, ast.Continue))
        case ast.With(items=items, body=body):
            for item in items:
                manager = reader.entered(frame.evaluate(item.context_expr))
                if item.optional_vars is not None:
                    assign(frame, item.optional_vars, manager)
            reader.block(frame, body)
        case ast.Try():
            _try(frame, statement)
        case ast.FunctionDef(name=name):
            names[name] = Function(statement, frame.module, names)
        case ast.ClassDef(name=name):
            names[name] = Class(statement, frame.module)
        case ast.Import() | ast.ImportFrom():
            for alias in statement.names:
                names.pop(alias.asname or alias.name.split(".")[0], None)
        case ast.Delete(targets=targets):
            for target in targets:
                names.pop(getattr(target, "id", ""), None)


def _may_keep(frame: Frame, value: ast.expr) -> bool:
    """Whether something that a test looks at and leaves behind may hold what comes of it."""
    names = (frame.names.get(n.id) for n in ast.walk(value) if isinstance(n, ast.Name))
    return any(isinstance(held, (Instance, list, dict, set)) for held in names)


def _want_axes(frame: Frame, target: ast.expr, value: ast.expr) -> None:
    """`B, T, D = x.shape` asks for as many axes of x."""
    match target, value:
        case (
            ast.Tuple(elts=parts),
            ast.Attribute(value=of, attr="shape")
            | ast.Call(func=ast.Attribute(value=of, attr="size"), args=[]),
        ) if frame.reader.chooses and not any(isinstance(p, ast.Starred) for p in parts):
            tensor = frame.reader.opened(frame.evaluate(of), "shape")
            frame.reader.wants(tensor, [p.id if isinstance(p, ast.Name) else "" for p in parts])
        case ast.Tuple(elts=parts), ast.Tuple(elts=values) if len(parts) == len(values):
            for part, inner in zip(parts, values, strict=True):
                _want_axes(frame, part, inner)


def _augmented(frame: Frame, target: ast.expr, op: ast.operator, value: ast.expr) -> None:
    before, more = frame.evaluate(target), frame.evaluate(value)
    if isinstance(before, list) and isinstance(more, (list, tuple)) and isinstance(op, ast.Add):
        before.extend(more)
        return
    opened = (frame.reader.opened(v, "shape") for v in (before, more))
    outcome = arithmetic(ast.BinOp(target, op, value), op, *opened)
    if isinstance(before, Tensor):
        if isinstance(outcome, Tensor):
            outcome = replace(before, values=outcome.values)
        outcome = frame.reader.of_torch(f"{OPERATORS.get(type(op), '')}_", [before, more], {}, outcome)
    assign(frame, target, outcome)


def _try(frame: Frame, statement: ast.Try) -> None:
    handlers = [
        h for h in statement.handlers if not frame.reader.launches(h, frame.names)
    ] or statement.handlers
    try:
        frame.reader.block(frame, [*statement.body, *statement.orelse])
    except Stopped:
        if not handlers:
            raise
        frame.reader.block(frame, handlers[0].body)
    except Returned as returned:
        value = returned.value
        number = _number_of(frame, handlers) if isinstance(value, Unknown) else None
        if number is None or not isinstance(value, Unknown):
            raise
        frame.reader.say(f"{number} is taken, which stands where {value.why} cannot be told")
        raise Returned(number) from None
    finally:
        frame.reader.block(frame, statement.finalbody)


def _number_of(frame: Frame, handlers: list[ast.ExceptHandler]) -> object | None:
    """The number that a handler gives in the place of what was tried."""
    for handler in handlers:
        match handler.body:
            case [ast.Return(value=ast.expr() as value)]:
                number = frame.evaluate(value)
                if is_number(number) and not isinstance(number, bool):
                    return number
    return None


def _for(frame: Frame, statement: ast.For) -> None:
    through = frame.evaluate(statement.iter)
    over: Sequence[object] | None = through if isinstance(through, range) else frame.reader.items_of(through)
    rounds: list[object] = [Unknown(f"`{ast.unparse(statement.iter)}`")]
    if over is not None:
        # A sum over all rounds would be wrong when only some are read.
        over = _largest_first(frame, statement, over)
        rounds = list(over[:_MOST_ROUNDS] if len(over) <= _MOST_ROUNDS else over[:1])
    if over is None or len(rounds) < len(over):
        frame.reader.uncertain(statement.iter)
    cases = _cases(statement, over or ())
    at = frame.reader.where.picked.get(tuple(cases[0])) if cases else None
    rounds = rounds if at is None or over is None else [*over[at : at + 1]]
    frame.reader.loops.append(cases)
    for item in rounds:
        assign(frame, statement.target, item)
        try:
            frame.reader.block(frame, statement.body)
        except LeftLoop as left:
            if not left.goes_on:
                frame.reader.loops.pop()
                return
    frame.reader.loops.pop()
    frame.reader.block(frame, statement.orelse)


def _largest_first(frame: Frame, statement: ast.For, over: Sequence[object]) -> Sequence[object]:
    """The rounds of a loop; where a test goes through shapes and gathers nothing on the way, the largest is first."""
    reader = frame.reader
    is_test = reader.dims_down_to and reader.depth <= reader.dims_down_to
    if not is_test or statement.orelse or isinstance(over, range) or len(over) > _MOST_ROUNDS:
        return over
    items = [item if isinstance(item, (tuple, list)) else (item,) for item in over]
    are_shapes = all(item and all(type(v) is int and v >= 0 for v in item) for item in items)
    gathers = any(
        isinstance(n, (ast.AugAssign, ast.Yield, ast.Break))
        or (isinstance(n, ast.Attribute) and n.attr in _GATHERS)
        for part in statement.body
        for n in ast.walk(part)
    )
    if not are_shapes or gathers:
        return over
    return sorted(over, key=lambda item: size_of_all((item,), reader.sizes), reverse=True)


def _cases(loop: ast.For, rounds: Sequence[object]) -> list[Names]:
    """What the names of a loop are in each round, where all rounds give all of them; nothing for one that repeats."""
    target = loop.target
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    names = [part.id for part in parts if isinstance(part, ast.Name)]
    rows = [item if isinstance(target, ast.Tuple) else (item,) for item in rounds[:_MOST_ROUNDS]]
    used = {n.id for s in loop.body for n in ast.walk(s) if isinstance(n, ast.Name)}
    if len(names) < len(parts) or used.isdisjoint(names):
        return []
    return [
        dict(zip(names, row, strict=True))
        for row in rows
        if isinstance(row, (tuple, list)) and len(row) == len(names)
    ]


def _while(frame: Frame, statement: ast.While) -> None:
    if frame.reader.unrolled(frame, statement):
        return
    for _ in range(_MOST_ROUNDS):
        holds = frame.reader.truth(frame.evaluate(statement.test))
        if holds is not None:
            frame.reader.decides(frame, statement.test, holds)
        if holds is False:
            return
        if holds is None:
            frame.reader.uncertain(statement.test)
        try:
            frame.reader.block(frame, statement.body)
        except LeftLoop as left:
            if not left.goes_on:
                return
        if holds is None:
            return
    frame.reader.uncertain(statement.test)


def _if(frame: Frame, statement: ast.If) -> None:
    reader = frame.reader
    passed_by = reader.forced and _returns_elsewhere(frame, statement)
    if raises(statement.body) or passed_by:
        keep(frame, statement.test, False)
    asked = frame.evaluate(statement.test)
    holds = reader.truth(asked)
    if passed_by and holds is not False:
        reader.decided.append(f"launched where `{ast.unparse(statement.test)}` is False")
        holds = False
    branches = (statement.body, statement.orelse)
    if isinstance(asked, Size) and holds is not None and any(map(_changes, (*branches[0], *branches[1]))):
        # The sizes of a checked case lead the same way: what was read is not what the other branch launches.
        keep(frame, statement.test, holds)
    at_launch = [any(reader.launches(s, frame.names) for s in b) for b in branches]
    if any(at_launch) and (holds is None or (reader.forced and not at_launch[0 if holds else 1])):
        reader.decided.append(f"launched where `{ast.unparse(statement.test)}` is {at_launch[0]}")
        holds = at_launch[0]
    if holds is not None:
        reader.block(frame, branches[0] if holds else branches[1])
        return
    if not (raises(statement.body) and not statement.orelse):
        reader.uncertain(statement.test)
    ends: list[Names] = []
    left: LeftLoop | None = None
    for branch, taken in zip(branches, (True, False), strict=True):
        inner = dict(frame.names)
        try:
            reader.block(replace(frame, names=inner), branch)
            ends.append(inner)
        except Stopped:
            continue
        except LeftLoop as loop:
            left = loop
        except Returned as returned:
            reader.perhaps[-1].append(returned.value)
        except Reached:
            reader.decided.append(f"launched where `{ast.unparse(statement.test)}` is {taken}")
            raise
    if not ends:
        raise left or Stopped("every branch ends")
    why = Unknown(f"`{ast.unparse(statement.test)}`")
    merged = ends[0]
    for other in ends[1:]:
        for name in {*merged, *other}:
            merged[name] = agreed(merged.get(name, why), other.get(name, why), why)
    frame.names.update(merged)


def _returns_elsewhere(frame: Frame, statement: ast.If) -> bool:
    """Whether an `if` returns what something else works out, so that the launch is only reached past it."""
    launches = (frame.reader.launches(part, frame.names) for part in statement.body)
    return isinstance(statement.body[-1], ast.Return) and not statement.orelse and not any(launches)


def _changes(statement: ast.stmt) -> bool:
    """Whether a statement may change what is launched: it gives a name a value, returns, or calls something."""
    return any(
        isinstance(node, (ast.Return, ast.Call, ast.Break, ast.Continue))
        or (isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store))
        for node in ast.walk(statement)
    )


def agreed(left: object, right: object, why: Unknown) -> object:
    """What two values have in common; `why` where that is nothing."""
    if left is right or left == right:
        return left
    if isinstance(left, Tensor) and isinstance(right, Tensor) and left.shape == right.shape:
        return replace(left, dtype=left.dtype if left.dtype == right.dtype else None)
    if isinstance(left, tuple) and isinstance(right, tuple) and len(left) == len(right):
        return tuple(agreed(a, b, why) for a, b in zip(left, right, strict=True))
    return why


def assign(frame: Frame, target: ast.expr, value: object) -> None:
    """Give a name, an attribute or an item its value."""
    reader, names = frame.reader, frame.names
    match target:
        case ast.Name(id=name):
            if type(value) is int and name in reader.shaping:
                value = reader.named_example(name, value)
            value = reader.assumed.get(name, value) if isinstance(value, Unknown) else value
            names[name] = named(value, name)
            if isinstance(value, Size) and value_at(value, reader.sizes) is not None:
                reader.called_as.setdefault(value.text, name)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part, entry in zip(parts, unpacked(value, parts), strict=True):
                assign(frame, part.value if isinstance(part, ast.Starred) else part, entry)
        case ast.Attribute(value=of, attr=attr):
            held = frame.evaluate(of)
            if isinstance(held, Instance):
                held.attributes[attr] = named(value, attr)
        case ast.Subscript(value=of, slice=key):
            held = frame.evaluate(of)
            at = None if isinstance(key, ast.Slice) else frame.evaluate(key)
            if isinstance(held, dict) and (entry := key_of(at, reader.sizes)) is not None:
                held[entry] = anything(value) if isinstance(held, Kept) and not reader.is_exact else value
            elif isinstance(held, list) and isinstance(at, int) and -len(held) <= at < len(held):
                held[at] = value
            elif isinstance(held, Tensor):
                reader.stores(held, frame.evaluate(key), value)
            if isinstance(held, Tensor) and isinstance(of, ast.Name):
                count = value_at(held.shape[0], reader.sizes) if held.shape else None
                names[of.id] = with_element(held, count if isinstance(count, int) else None, at, value)


def named(value: object, name: str) -> object:
    """A tensor by the first name that it is given."""
    return replace(value, name=name) if isinstance(value, Tensor) and not value.name else value
