"""What the expressions of host code stand for."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_lineage.workloads.device_size import multiprocessors
from kernel_lineage.workloads.triton.calls import read_call
from kernel_lineage.workloads.triton.device_facts import near_memory
from kernel_lineage.workloads.triton.host_modules import HostModule
from kernel_lineage.workloads.triton.objects import Function, Instance, Names, Reads
from kernel_lineage.workloads.triton.operations import arithmetic, compare, items_of, key_of
from kernel_lineage.workloads.triton.statements import agreed, assign
from kernel_lineage.workloads.triton.tensor_shapes import indexed
from kernel_lineage.workloads.triton.values import (
    Open,
    Size,
    Tensor,
    Unknown,
    is_number,
    size_of,
    tree_of,
    value_at,
)


def read_expression(reader: Reads, node: ast.expr, module: HostModule, names: Names) -> object:
    """What an expression stands for; `Unknown`, with the expression, for what is not understood."""
    match node:
        case ast.Constant(value=constant):
            return constant
        case ast.Name(id=name):
            return names[name] if name in names else reader.global_value(name, module)
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            found = [e for part in parts for e in spread(reader, part, module, names)]
            if isinstance(node, ast.Set):
                return {key_of(e, reader.sizes) for e in found}
            return tuple(found) if isinstance(node, ast.Tuple) else found
        case ast.Dict(keys=keys, values=items):
            return _dict(reader, keys, items, module, names)
        case ast.Attribute(value=value, attr=attr):
            return reader.attribute_of(reader.evaluate(value, module, names), attr)
        case ast.Subscript(value=value, slice=index):
            return _item(reader, reader.evaluate(value, module, names), index, module, names, node)
        case ast.Call():
            return read_call(reader, node, module, names)
        case ast.BinOp(left=left, op=op, right=right):
            operands = (reader.opened(reader.evaluate(e, module, names), "shape") for e in (left, right))
            return arithmetic(node, op, *operands)
        case ast.UnaryOp(op=op, operand=operand):
            return _unary(reader, op, reader.evaluate(operand, module, names), node)
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            return _compared(reader, node, [left, *comparators], ops, module, names)
        case ast.BoolOp(op=op, values=values):
            return _either(reader, isinstance(op, ast.Or), values, module, names)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            holds = reader.truth(reader.evaluate(test, module, names))
            if holds is None:
                both = [reader.evaluate(b, module, names) for b in (body, orelse)]
                return agreed(both[0], both[1], Unknown(f"`{ast.unparse(test)}`"))
            return reader.evaluate(body if holds else orelse, module, names)
        case ast.Lambda():
            return Function(node, module, names)
        case ast.ListComp(elt=element, generators=loops) | ast.GeneratorExp(elt=element, generators=loops):
            return [value for (value,) in _comprehended(reader, [element], loops, module, dict(names))]
        case ast.SetComp(elt=element, generators=loops):
            rows = _comprehended(reader, [element], loops, module, dict(names))
            return {key_of(value, reader.sizes) for (value,) in rows}
        case ast.DictComp(key=key, value=value, generators=loops):
            pairs = _comprehended(reader, [key, value], loops, module, dict(names))
            return {key_of(k, reader.sizes): v for k, v in pairs}
        case ast.NamedExpr(target=target, value=value):
            given = reader.evaluate(value, module, names)
            assign(reader, target, given, names, module)
            return given
        case ast.JoinedStr(values=values):
            return _text(reader, values, module, names)
        case ast.Slice(lower=lower, upper=upper, step=step):
            ends = [
                reader.evaluate(e, module, names) if e is not None else None for e in (lower, upper, step)
            ]
            return slice(*ends)
    return Unknown(f"`{ast.unparse(node)}`")


def spread(reader: Reads, part: ast.expr, module: HostModule, names: Names) -> Iterator[object]:
    """An element of a list, or what `*values` stands for."""
    if not isinstance(part, ast.Starred):
        yield reader.evaluate(part, module, names)
        return
    value = reader.evaluate(part.value, module, names)
    items = items_of(value, reader.sizes)
    yield from items if items is not None else (Unknown(f"`{ast.unparse(part)}`"),)


def _dict(
    reader: Reads, keys: list[ast.expr | None], items: list[ast.expr], module: HostModule, names: Names
) -> object:
    found: dict[object, object] = {}
    for key, item in zip(keys, items, strict=True):
        value = reader.evaluate(item, module, names)
        if key is None:
            found.update(value if isinstance(value, dict) else {})
        elif (at := key_of(reader.evaluate(key, module, names), reader.sizes)) is not None:
            found[at] = value
    return found


def _text(reader: Reads, values: list[ast.expr], module: HostModule, names: Names) -> object:
    parts = []
    for value in values:
        inner = value.value if isinstance(value, ast.FormattedValue) else value
        found = reader.evaluate(inner, module, names)
        if not isinstance(found, (str, int, float)):
            return Unknown("a text")
        parts.append(str(found))
    return "".join(parts)


def _unary(reader: Reads, op: ast.unaryop, value: object, node: ast.expr) -> object:
    if isinstance(op, ast.Not):
        if isinstance(value, Size):
            return size_of(ast.UnaryOp(ast.Not(), tree_of(value)))
        holds = reader.truth(value)
        return Unknown(f"`{ast.unparse(node)}`") if holds is None else not holds
    value = reader.opened(value, "shape")
    if isinstance(value, Tensor):
        return value
    if is_number(value):
        if isinstance(op, ast.USub):
            return size_of(ast.UnaryOp(ast.USub(), tree_of(value)))
        return value
    return value if isinstance(value, Unknown) else Unknown(f"`{ast.unparse(node)}`")


def _compared(
    reader: Reads,
    node: ast.Compare,
    operands: list[ast.expr],
    ops: list[ast.cmpop],
    module: HostModule,
    names: Names,
) -> object:
    """A chain of comparisons; the first that fails decides it."""
    left, result = reader.evaluate(operands[0], module, names), True
    for op, operand in zip(ops, operands[1:], strict=True):
        right = reader.evaluate(operand, module, names)
        found = compare(node, op, left, right, reader.sizes)
        if len(ops) == 1:
            return found
        holds = reader.truth(found)
        if not holds:
            return Unknown(f"`{ast.unparse(node)}`") if holds is None else False
        left = right
    return result


def _either(
    reader: Reads, disjunction: bool, values: list[ast.expr], module: HostModule, names: Names
) -> object:
    unknown: object = None
    last: object = not disjunction
    for node in values:
        last = reader.evaluate(node, module, names)
        holds = reader.truth(last)
        if holds is disjunction:
            return last
        if holds is None and unknown is None:
            unknown = last if isinstance(last, (Unknown, Open)) else Unknown(f"`{ast.unparse(node)}`")
    return unknown if unknown is not None else last


def _comprehended(
    reader: Reads, elements: list[ast.expr], loops: list[ast.comprehension], module: HostModule, names: Names
) -> Iterator[list[object]]:
    if not loops:
        yield [reader.evaluate(e, module, names) for e in elements]
        return
    through = reader.evaluate(loops[0].iter, module, names)
    over = items_of(through, reader.sizes)
    if over is None and isinstance(through, range):
        raise ValueError("more rounds than are read")
    for item in over or ():
        reader.spend_round()
        assign(reader, loops[0].target, item, names, module)
        tests = [reader.truth(reader.evaluate(t, module, names)) for t in loops[0].ifs]
        if all(t is not False for t in tests):
            yield from _comprehended(reader, elements, loops[1:], module, names)


def _item(
    reader: Reads, value: object, index: ast.expr, module: HostModule, names: Names, node: ast.expr
) -> object:
    value = reader.opened(value, "shape")
    if isinstance(value, Instance) and value.of == "values and indices":
        value = tuple(value.attributes.values())
    at = reader.evaluate(index, module, names)
    if isinstance(value, Tensor):
        if value.shape is None:
            return Unknown(f"the shape of {value.name}")
        return indexed(value, at if isinstance(at, tuple) else (at,))
    if isinstance(value, (tuple, list, range, str)):
        if isinstance(at, slice):
            ends = [
                value_at(e, reader.sizes) if isinstance(e, Size) else e for e in (at.start, at.stop, at.step)
            ]
            whole = [e for e in ends if e is None or isinstance(e, int)]
            if len(whole) == len(ends):
                return value[whole[0] : whole[1] : whole[2]]
        number = value_at(at, reader.sizes) if isinstance(at, (int, Size)) else None
        if isinstance(number, int) and -len(value) <= number < len(value):
            return value[number]
    if isinstance(value, dict):
        key = key_of(at, reader.sizes)
        if key in value:
            return value[key]
    if at == "multiprocessor_count" or (isinstance(at, str) and at.startswith("num_") and "core" in at):
        return reader.dim(at, multiprocessors(), "it depends on the device")
    if (
        isinstance(at, str)
        and not isinstance(value, dict)
        and (memory := near_memory(reader, at)) is not None
    ):
        return memory
    return value if isinstance(value, Unknown) else Unknown(f"`{ast.unparse(node)}`")
