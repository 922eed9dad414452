"""What the statements of host code do to the names around them.

A condition that is not known is read both ways: what both agree on is kept. A loop is read as often as its values are
known; a handler where what is tried raises.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from kernel_lineage.workloads.triton.elements import with_element
from kernel_lineage.workloads.triton.guards import keep, raises
from kernel_lineage.workloads.triton.host_modules import HostModule
from kernel_lineage.workloads.triton.objects import (
    Class,
    Function,
    Instance,
    LeftLoop,
    Names,
    Reached,
    Reads,
    Returned,
    Stopped,
)
from kernel_lineage.workloads.triton.operations import arithmetic, items_of, key_of, unpacked
from kernel_lineage.workloads.triton.values import Size, Tensor, Unknown, is_number, value_at

_MOST_ROUNDS = 24
"""Rounds of a loop that are read."""


def read_statement(reader: Reads, statement: ast.stmt, module: HostModule, names: Names) -> None:
    """One statement. Raises `Returned`, `LeftLoop`, `Stopped` and `Reached`."""
    match statement:
        case ast.Assign(targets=targets, value=value):
            found = reader.evaluate(value, module, names)
            for target in targets:
                assign(reader, target, found, names, module)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            assign(reader, target, reader.evaluate(value, module, names), names, module)
        case ast.AugAssign(target=target, op=op, value=value):
            _augmented(reader, target, op, value, module, names)
        case ast.Expr(value=ast.Yield(value=ast.expr() as value)):
            raise Returned(reader.evaluate(value, module, names))
        case ast.Expr(value=value):
            reader.evaluate(value, module, names)
        case ast.Assert(test=test):
            keep(reader, test, True, module, names)
            reader.evaluate(test, module, names)
        case ast.Return(value=value):
            raise Returned(reader.evaluate(value, module, names) if value is not None else None)
        case ast.Raise():
            raise Stopped("raises")
        case ast.If():
            _if(reader, statement, module, names)
        case ast.For():
            _for(reader, statement, module, names)
        case ast.While(test=test, body=body):
            _while(reader, test, body, module, names)
        case ast.Break() | ast.Continue():
            raise LeftLoop(isinstance(statement, ast.Continue))
        case ast.With(items=items, body=body):
            for item in items:
                given = reader.evaluate(item.context_expr, module, names)
                if item.optional_vars is not None:
                    assign(reader, item.optional_vars, given, names, module)
            reader.block(body, module, names)
        case ast.Try():
            _try(reader, statement, module, names)
        case ast.FunctionDef(name=name):
            names[name] = Function(statement, module, names)
        case ast.ClassDef(name=name):
            names[name] = Class(statement, module)
        case ast.Import() | ast.ImportFrom():
            for alias in statement.names:
                names.pop(alias.asname or alias.name.split(".")[0], None)
        case ast.Delete(targets=targets):
            for target in targets:
                if isinstance(target, ast.Name):
                    names.pop(target.id, None)


def _augmented(
    reader: Reads, target: ast.expr, op: ast.operator, value: ast.expr, module: HostModule, names: Names
) -> None:
    before = reader.evaluate(target, module, names)
    more = reader.evaluate(value, module, names)
    if isinstance(before, list) and isinstance(more, (list, tuple)) and isinstance(op, ast.Add):
        before.extend(more)
        return
    whole = ast.BinOp(target, op, value)
    found = arithmetic(whole, op, reader.opened(before, "shape"), reader.opened(more, "shape"))
    if isinstance(before, Tensor) and isinstance(found, Tensor):
        found = replace(before, values=found.values)
    assign(reader, target, found, names, module)


def _try(reader: Reads, statement: ast.Try, module: HostModule, names: Names) -> None:
    handlers = [h for h in statement.handlers if not reader.launches(h)] or statement.handlers
    try:
        reader.block([*statement.body, *statement.orelse], module, names)
    except Stopped:
        if not handlers:
            raise
        reader.block(handlers[0].body, module, names)
    except Returned as returned:
        found = returned.value
        number = _number_of(reader, handlers, module, names) if isinstance(found, Unknown) else None
        if number is None or not isinstance(found, Unknown):
            raise
        reader.said.append(f"{number} is taken, which stands where {found.why} cannot be told")
        raise Returned(number) from None
    finally:
        reader.block(statement.finalbody, module, names)


def _number_of(
    reader: Reads, handlers: list[ast.ExceptHandler], module: HostModule, names: Names
) -> object | None:
    """The number that a handler gives in the place of what was tried."""
    for handler in handlers:
        match handler.body:
            case [ast.Return(value=ast.expr() as value)]:
                found = reader.evaluate(value, module, names)
                if is_number(found) and not isinstance(found, bool):
                    return found
    return None


def _for(reader: Reads, statement: ast.For, module: HostModule, names: Names) -> None:
    through = reader.evaluate(statement.iter, module, names)
    over = through if isinstance(through, range) else items_of(through, reader.sizes)
    rounds: list[object] = [Unknown(f"`{ast.unparse(statement.iter)}`")]
    if over is not None:
        rounds = list(over[:_MOST_ROUNDS])
        # A sum over all rounds would be wrong when only some are read.
        if len(over) > _MOST_ROUNDS:
            rounds = rounds[:1]
    for item in rounds:
        assign(reader, statement.target, item, names, module)
        try:
            reader.block(statement.body, module, names)
        except LeftLoop as left:
            if not left.goes_on:
                return
    reader.block(statement.orelse, module, names)


def _while(reader: Reads, test: ast.expr, body: list[ast.stmt], module: HostModule, names: Names) -> None:
    for _ in range(_MOST_ROUNDS):
        holds = reader.truth(reader.evaluate(test, module, names))
        if holds is False:
            return
        try:
            reader.block(body, module, names)
        except LeftLoop as left:
            if not left.goes_on:
                return
        if holds is None:
            return


def _if(reader: Reads, statement: ast.If, module: HostModule, names: Names) -> None:
    if raises(statement.body):
        keep(reader, statement.test, False, module, names)
    holds = reader.truth(reader.evaluate(statement.test, module, names))
    branches = (statement.body, statement.orelse)
    at_launch = [any(reader.launches(s) for s in b) for b in branches]
    if any(at_launch) and (holds is None or (reader.forced and not at_launch[0 if holds else 1])):
        reader.decided.append(f"launched where `{ast.unparse(statement.test)}` is {at_launch[0]}")
        holds = at_launch[0]
    if holds is not None:
        reader.block(branches[0] if holds else branches[1], module, names)
        return
    ends: list[Names] = []
    left: LeftLoop | None = None
    for branch, taken in zip(branches, (True, False), strict=True):
        inner = dict(names)
        try:
            reader.block(branch, module, inner)
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
        if left is not None:
            raise left
        raise Stopped("every branch ends")
    why = Unknown(f"`{ast.unparse(statement.test)}`")
    merged = ends[0]
    for other in ends[1:]:
        for name in {*merged, *other}:
            merged[name] = agreed(merged.get(name, why), other.get(name, why), why)
    names.update(merged)


def agreed(left: object, right: object, why: Unknown) -> object:
    """What two values have in common; `why` where that is nothing."""
    if left is right or left == right:
        return left
    if isinstance(left, Tensor) and isinstance(right, Tensor) and left.shape == right.shape:
        same = left.dtype == right.dtype
        return replace(left, dtype=left.dtype if same else None)
    if isinstance(left, tuple) and isinstance(right, tuple) and len(left) == len(right):
        return tuple(agreed(a, b, why) for a, b in zip(left, right, strict=True))
    return why


def assign(reader: Reads, target: ast.expr, value: object, names: Names, module: HostModule) -> None:
    """Give a name, an attribute or an item its value."""
    match target:
        case ast.Name(id=name):
            if type(value) is int and name in reader.shaping:
                value = reader.named_example(name, value)
            names[name] = named(value, name)
            if isinstance(value, Size) and value_at(value, reader.sizes) is not None:
                reader.called_as.setdefault(value.text, name)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part, found in zip(parts, unpacked(value, parts), strict=True):
                inner = part.value if isinstance(part, ast.Starred) else part
                assign(reader, inner, found, names, module)
        case ast.Attribute(value=of, attr=attr):
            held = reader.evaluate(of, module, names)
            if isinstance(held, Instance):
                held.attributes[attr] = named(value, attr)
        case ast.Subscript(value=of, slice=key):
            held = reader.evaluate(of, module, names)
            if isinstance(held, (dict, list)) and not isinstance(key, ast.Slice):
                at = reader.evaluate(key, module, names)
                if isinstance(held, dict) and (found := key_of(at, reader.sizes)) is not None:
                    held[found] = value
                elif isinstance(held, list) and isinstance(at, int) and -len(held) <= at < len(held):
                    held[at] = value
            elif isinstance(held, Tensor) and isinstance(of, ast.Name):
                count = value_at(held.shape[0], reader.sizes) if held.shape else None
                at = None if isinstance(key, ast.Slice) else reader.evaluate(key, module, names)
                names[of.id] = with_element(held, count if isinstance(count, int) else None, at, value)


def named(value: object, name: str) -> object:
    """A tensor by the first name that it is given."""
    return replace(value, name=name) if isinstance(value, Tensor) and not value.name else value
