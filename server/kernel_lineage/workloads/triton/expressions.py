"""What the expressions of host code stand for."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from kernel_lineage.workloads.device_size import multiprocessors
from kernel_lineage.workloads.triton.attributes import attribute_of
from kernel_lineage.workloads.triton.calls import read_call
from kernel_lineage.workloads.triton.device_facts import near_memory
from kernel_lineage.workloads.triton.guards import keep
from kernel_lineage.workloads.triton.objects import Frame, Function, Instance
from kernel_lineage.workloads.triton.operations import arithmetic, compare, key_of
from kernel_lineage.workloads.triton.parts import within
from kernel_lineage.workloads.triton.statements import agreed, assign
from kernel_lineage.workloads.triton.tensor_shapes import indexed
from kernel_lineage.workloads.triton.torch_formulas import OPERATORS
from kernel_lineage.workloads.triton.values import (
    Open,
    Size,
    Tensor,
    Unknown,
    is_number,
    size_of,
    text_of,
    tree_of,
    value_at,
)

_LEAST_CUT = 16
"""Where a slice of a test ends, at least, for that to be a size; smaller numbers pick fields."""


def read_expression(frame: Frame, node: ast.expr) -> object:
    """What an expression stands for; `Unknown`, with the expression, for what is not understood."""
    reader, value_of = frame.reader, frame.evaluate
    match node:
        case ast.Constant(value=constant):
            return constant
        case ast.Name(id=name):
            return frame.names[name] if name in frame.names else reader.global_value(name, frame.module)
        case ast.Tuple(elts=parts):
            return tuple(e for part in parts for e in frame.spread(part))
        case ast.List(elts=parts):
            return [e for part in parts for e in frame.spread(part)]
        case ast.Set(elts=parts):
            return {key_of(e, reader.sizes) for part in parts for e in frame.spread(part)}
        case ast.Dict(keys=keys, values=items):
            return _dict(frame, keys, items)
        case ast.Attribute(value=value, attr=attr):
            return attribute_of(reader, value_of(value), attr)
        case ast.Subscript(value=value, slice=index):
            return _item(frame, reader.opened(value_of(value), "shape"), value_of(index), node)
        case ast.Call():
            return read_call(frame, node)
        case ast.BinOp(left=left, op=op, right=right):
            operands = [reader.opened(value_of(e), "shape") for e in (left, right)]
            return reader.of_torch(OPERATORS.get(type(op), ""), operands, {}, arithmetic(node, op, *operands))
        case ast.UnaryOp(op=op, operand=operand):
            return _unary(frame, op, value_of(operand), node)
        case ast.Compare():
            return _compared(frame, node)
        case ast.BoolOp(op=op, values=values):
            return _either(frame, isinstance(op, ast.Or), values)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _either_of(frame, test, body, orelse)
        case ast.Lambda():
            return Function(node, frame.module, frame.names)
        case ast.ListComp(elt=element, generators=loops) | ast.GeneratorExp(elt=element, generators=loops):
            return [value for (value,) in _comprehended(frame, [element], loops)]
        case ast.SetComp(elt=element, generators=loops):
            return {key_of(value, reader.sizes) for (value,) in _comprehended(frame, [element], loops)}
        case ast.DictComp(key=key, value=value, generators=loops):
            return {key_of(k, reader.sizes): v for k, v in _comprehended(frame, [key, value], loops)}
        case ast.NamedExpr(target=target, value=value):
            content = value_of(value)
            assign(frame, target, content)
            return content
        case ast.JoinedStr(values=values):
            texts = [value_of(v.value if isinstance(v, ast.FormattedValue) else v) for v in values]
            is_plain = all(isinstance(t, (str, int, float)) for t in texts)
            return "".join(map(str, texts)) if is_plain else Unknown("a text")
        case ast.Slice(lower=lower, upper=upper, step=step):
            return slice(*(value_of(e) if e is not None else None for e in (lower, upper, step)))
    return Unknown(f"`{ast.unparse(node)}`")


def _dict(frame: Frame, keys: list[ast.expr | None], items: list[ast.expr]) -> object:
    entries: dict[object, object] = {}
    for key, item in zip(keys, items, strict=True):
        value = frame.evaluate(item)
        if key is None:
            entries.update(value if isinstance(value, dict) else {})
        elif (at := key_of(frame.evaluate(key), frame.reader.sizes)) is not None:
            entries[at] = value
    return entries


def _unary(frame: Frame, op: ast.unaryop, value: object, node: ast.expr) -> object:
    if isinstance(op, ast.Not):
        if isinstance(value, Size):
            return size_of(ast.UnaryOp(ast.Not(), tree_of(value)))
        holds = frame.reader.truth(value)
        return Unknown(f"`{ast.unparse(node)}`") if holds is None else not holds
    value = frame.reader.opened(value, "shape")
    if is_number(value) and isinstance(op, ast.USub):
        return size_of(ast.UnaryOp(ast.USub(), tree_of(value)))
    if isinstance(value, Tensor):
        return frame.reader.of_torch(OPERATORS.get(type(op), ""), [value], {}, value)
    return value if is_number(value) or isinstance(value, Unknown) else Unknown(f"`{ast.unparse(node)}`")


def _compared(frame: Frame, node: ast.Compare) -> object:
    """A chain of comparisons; the first that fails decides it."""
    left = frame.evaluate(node.left)
    parts: list[Size] = []
    for op, operand in zip(node.ops, node.comparators, strict=True):
        right = frame.evaluate(operand)
        comparison = compare(node, op, left, right, frame.reader.sizes)
        if isinstance(comparison, Tensor):
            comparison = frame.reader.of_torch(OPERATORS.get(type(op), ""), [left, right], {}, comparison)
        if len(node.ops) == 1:
            return comparison
        if frame.reader.is_exact and isinstance(comparison, Size):
            parts.append(comparison)
            left = right
            continue
        holds = frame.reader.truth(comparison)
        if not holds:
            return Unknown(f"`{ast.unparse(node)}`") if holds is None else False
        left = right
    return _joined(ast.And(), parts) if parts else True


def _either_of(frame: Frame, test: ast.expr, body: ast.expr, orelse: ast.expr) -> object:
    """`body if test else orelse`: a condition over dims stays one, or is decided by their sizes and kept."""
    asked = frame.evaluate(test)
    holds = frame.reader.truth(asked)
    if isinstance(asked, Size):
        if holds is False:
            one, other = frame.reader.tried(body, frame), frame.evaluate(orelse)
        else:
            one, other = frame.evaluate(body), frame.reader.tried(orelse, frame)
        chosen = _chosen(asked, one, other)
        if chosen is not None:
            return chosen
        if holds is not None:
            keep(frame, test, holds)
            return one if holds else other
    if holds is None:
        one, other = frame.evaluate(body), frame.evaluate(orelse)
        if one != other and isinstance(one, Tensor):
            frame.reader.uncertain(test)
        return agreed(one, other, Unknown(f"`{ast.unparse(test)}`"))
    return frame.evaluate(body if holds else orelse)


def _chosen(asked: Size, one: object, other: object) -> object | None:
    """`one if asked else other` for numbers, and for tuples of them; None where they are anything else."""
    if one == other:
        return one
    if isinstance(one, (int, Size)) and isinstance(other, (int, Size)):
        return size_of(ast.IfExp(tree_of(asked), tree_of(one), tree_of(other)))
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        parts = tuple(_chosen(asked, a, b) for a, b in zip(one, other, strict=True))
        return parts if None not in parts else None
    return None


def _either(frame: Frame, disjunction: bool, values: list[ast.expr]) -> object:
    """`a or b`, `a and b`: the first that decides, else the last; what is not known decides nothing."""
    reader, parts = frame.reader, list[object]()
    for node in values:
        parts.append(frame.evaluate(node))
        is_size = reader.is_exact and isinstance(parts[-1], Size)
        if not is_size and reader.truth(parts[-1]) is disjunction:
            break
    last = parts[-1]
    sizes = [p for p in parts if isinstance(p, Size)] if reader.is_exact else []
    unknown = [n for p, n in zip(parts, values, strict=False) if p not in sizes and reader.truth(p) is None]
    decides = last not in sizes and reader.truth(last) is disjunction
    if unknown and not (decides and (isinstance(last, bool) or not reader.is_exact)):
        value = parts[values.index(unknown[0])]
        return value if isinstance(value, (Unknown, Open)) else Unknown(f"`{ast.unparse(unknown[0])}`")
    return _first_of(disjunction, sizes if last in sizes else [*sizes, last]) if sizes else last


def _first_of(disjunction: bool, parts: Sequence[object]) -> object:
    """`a or b` of sizes: a condition of conditions, or the number that it gives."""
    numbers = [p for p in parts if is_number(p)]
    if len(numbers) < len(parts):
        return Unknown("a number or something else")
    if all(map(_is_condition, numbers)):
        return _joined(ast.Or() if disjunction else ast.And(), numbers)
    *earlier, chosen = numbers
    for part in reversed(earlier):
        own, other = tree_of(part), tree_of(chosen)
        chosen = size_of(ast.IfExp(own, *((own, other) if disjunction else (other, own))))
    return chosen


def _is_condition(value: object) -> bool:
    tree = tree_of(value)
    is_not = isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not)
    return is_not or isinstance(value, bool) or isinstance(tree, (ast.Compare, ast.BoolOp))


def _joined(op: ast.boolop, parts: Sequence[object]) -> object:
    """A condition of several, each over sizes."""
    return size_of(ast.BoolOp(op, [tree_of(part) for part in parts])) if len(parts) > 1 else parts[0]


def _comprehended(
    frame: Frame, elements: list[ast.expr], loops: Sequence[ast.comprehension], inner: bool = False
) -> Iterator[list[object]]:
    frame = frame if inner else Frame(frame.reader, frame.module, dict(frame.names))
    if not loops:
        yield [frame.evaluate(e) for e in elements]
        return
    through = frame.evaluate(loops[0].iter)
    over = frame.reader.items_of(through)
    if over is None and isinstance(through, range):
        raise ValueError("more rounds than are read")
    for item in over or ():
        frame.reader.spend_round()
        assign(frame, loops[0].target, item)
        if all(_is_kept(frame, test) for test in loops[0].ifs):
            yield from _comprehended(frame, elements, loops[1:], inner=True)


def _is_kept(frame: Frame, test: ast.expr) -> bool:
    """Whether a comprehension takes an item, as far as that is known."""
    asked = frame.evaluate(test)
    holds = frame.reader.truth(asked)
    if holds is None:
        frame.reader.uncertain(test)
    elif isinstance(asked, Size):
        frame.reader.decides(frame, test, holds)
    return holds is not False


def _with_sized_parts(frame: Frame, tensor: Tensor, places: Sequence[object]) -> list[object]:
    """An index in which the end of a slice, `x[:, :333]` of a test, is a dim, within the extent that it cuts."""
    reader, result = frame.reader, list(places)
    for axis, (part, extent) in enumerate(zip(places, tensor.shape or (), strict=False)):
        if part is None or part is ...:
            break
        if isinstance(part, slice) and type(part.stop) is int and part.stop >= _LEAST_CUT:
            end = reader.example_extent(part.stop) if reader.makes_dims(frame.module) else part.stop
            result[axis] = slice(part.start, end, part.step)
            if isinstance(extent, Size):
                reader.promises.append(f"{text_of(end)} <= {extent.text}")
    return result


def _item(frame: Frame, value: object, at: object, node: ast.expr) -> object:
    reader = frame.reader
    if isinstance(value, Instance) and value.of == "values and indices":
        value = tuple(value.attributes.values())
    if isinstance(value, Instance) and value.of == "of each tensor":
        return value.attributes["state"]
    if isinstance(value, Tensor):
        if value.shape is None:
            return Unknown(f"the shape of {value.name}")
        places = at if isinstance(at, tuple) else (at,)
        reader.wants(value, [""] * sum(isinstance(p, (int, Size, slice)) for p in places))
        cut = within(reader, value, places) if reader.is_exact else _with_sized_parts(frame, value, places)
        item = indexed(value, cut)
        picks = any(isinstance(p, Tensor) for p in places)
        return reader.of_torch("getitem", [value, at], {}, item) if picks else item
    if isinstance(value, (tuple, list, range, str)):
        if isinstance(at, slice):
            ends: list[Any] = [
                value_at(e, reader.sizes) if isinstance(e, Size) else e for e in (at.start, at.stop, at.step)
            ]
            if all(e is None or isinstance(e, int) for e in ends):
                return value[slice(*ends)]
        number = value_at(at, reader.sizes)
        if isinstance(number, int) and -len(value) <= number < len(value):
            return value[number]
    if isinstance(value, dict):
        key = key_of(at, reader.sizes)
        if key in value:
            return value[key]
    if at == "multiprocessor_count" or (isinstance(at, str) and at.startswith("num_") and "core" in at):
        return reader.dim(at, multiprocessors(), "it depends on the device")
    memory = near_memory(reader, at) if isinstance(at, str) and not isinstance(value, dict) else None
    if memory is not None:
        return memory
    return value if isinstance(value, Unknown) else Unknown(f"`{ast.unparse(node)}`")
