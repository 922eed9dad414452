"""Operators of Python on what the names of the host stand for."""

from __future__ import annotations

import ast
import operator
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kernel_gate.expressions import Number
from kernel_lineage.workloads.triton.elements import calculated_values, elements_of
from kernel_lineage.workloads.triton.objects import Class, Function, Instance, Module
from kernel_lineage.workloads.triton.tensor_shapes import broadcast, is_float, matrix_product, rows_of
from kernel_lineage.workloads.triton.values import (
    MOST_ITEMS,
    MOST_NUMBER,
    Dtype,
    External,
    Open,
    Size,
    Tensor,
    Unknown,
    called,
    is_number,
    size_of,
    tree_of,
    value_at,
)

_CONTAINERS = (list, tuple, str, dict)
_PLAIN = (str, Dtype, type(None), bool, int, float, tuple, list, dict, set, range)
_READ = (*_PLAIN, Size, Tensor, Class, Function, Instance, Module)
_OF_NUMBERS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
_OPERATORS: dict[type[ast.operator], Any] = {
    ast.Add: operator.add,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_ORDERED: dict[type[ast.cmpop], Any] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def arithmetic(node: ast.BinOp, op: ast.operator, left: object, right: object) -> object:
    """What an operator gives; `Unknown` where an operand is."""
    if is_number(left) and is_number(right):
        if isinstance(op, ast.Pow) and left == 2:
            return _power_of_2(right)
        if isinstance(op, _OF_NUMBERS):
            return size_of(ast.BinOp(tree_of(left), op, tree_of(right)))
        if isinstance(left, int) and isinstance(right, int) and type(op) in _OPERATORS:
            if isinstance(op, ast.LShift) and right > MOST_NUMBER.bit_length():
                return Unknown(f"`{ast.unparse(node)}`")
            return _OPERATORS[type(op)](left, right)
        return _of_bits(node, op, left, right)
    if isinstance(op, ast.Mult):
        for many, times in ((left, right), (right, left)):
            if isinstance(many, (list, tuple, str)) and type(times) is int:
                return many * times if 0 <= times * len(many) <= MOST_ITEMS else Unknown("many values")
    if type(left) is type(right) and isinstance(left, _CONTAINERS) and isinstance(op, (ast.Add, ast.BitOr)):
        return _OPERATORS[type(op)](left, right)
    if isinstance(left, str) and isinstance(op, ast.Mod):
        return Unknown("a text")
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        return _of_tensors(node, op, left, right)
    return _unknown_of(node, left, right)


def _of_bits(node: ast.expr, op: ast.operator, left: Any, right: Any) -> object:
    """Shifts of sizes as products and quotients, and the bits that two of them have."""
    match op:
        case ast.LShift():
            return left * _power_of_2(right)
        case ast.RShift():
            return left // _power_of_2(right)
        case ast.BitAnd():
            return called("bit_and", left, right)
        case ast.BitOr():
            return called("bit_or", left, right)
    return _unknown_of(node, left, right)


def _power_of_2(exponent: int | float | Size) -> Any:
    """A power of two: of as many bits as a number has, the one that is above it."""
    tree = tree_of(exponent)
    match tree:
        case ast.Call(func=ast.Name(id="bit_length"), args=[of]):
            return called("next_power_of_2", called("abs", size_of(of)) + 1)
    return size_of(ast.BinOp(ast.Constant(2), ast.Pow(), tree))


def _unknown_of(node: ast.expr, *operands: object) -> Unknown:
    """The operand that is not known, or else the expression."""
    return next((v for v in operands if isinstance(v, Unknown)), Unknown(f"`{ast.unparse(node)}`"))


def _of_tensors(node: ast.BinOp, op: ast.operator, left: object, right: object) -> object:
    tensors = [v for v in (left, right) if isinstance(v, Tensor)]
    unshaped = next((t.name for t in tensors if t.shape is None), None)
    if unshaped is not None:
        return Unknown(f"the shape of {unshaped}")
    if isinstance(op, ast.MatMult):
        return matrix_product(left, right)
    if not all(isinstance(v, Tensor) or is_number(v) for v in (left, right)):
        return _unknown_of(node, left, right)
    whole = broadcast(tensors)
    if isinstance(whole, Tensor):
        whole = replace(whole, values=calculated_values(op, left, right, whole))
    if isinstance(whole, Tensor) and isinstance(op, ast.Sub) and is_float(whole):
        whole = replace(whole, values="")  # `2 * torch.rand(n) - 1` is no longer between 0 and 1
    as_float = isinstance(op, ast.Div) or isinstance(left, float) or isinstance(right, float)
    if isinstance(whole, Tensor) and not is_float(whole) and as_float:
        return Tensor("", whole.shape, "float32")
    return whole


def compare(
    node: ast.Compare, op: ast.cmpop, left: object, right: object, sizes: Mapping[str, Number]
) -> object:
    """What an operator gives; `Unknown` where an operand is."""
    if isinstance(op, (ast.Is, ast.IsNot)) and right is None:
        return left if isinstance(left, Unknown) else (left is None) == isinstance(op, ast.Is)
    if isinstance(op, (ast.In, ast.NotIn)):
        return _held(node, left, right, isinstance(op, ast.In))
    tensors = [v for v in (left, right) if isinstance(v, Tensor)]
    if tensors and not isinstance(op, (ast.Is, ast.IsNot)) and all(t.shape is not None for t in tensors):
        whole = broadcast(tensors)
        return Tensor("", whole.shape, "bool", "integers(0, 2)") if isinstance(whole, Tensor) else whole
    if is_number(left) and is_number(right):
        if isinstance(op, (ast.Is, ast.IsNot)):
            return (left is right) == isinstance(op, ast.Is)
        return size_of(ast.Compare(tree_of(left), [op], [tree_of(right)]))
    rows = isinstance(left, (tuple, list)) and isinstance(right, (tuple, list))
    if rows and isinstance(op, (ast.Eq, ast.NotEq)):
        return _same_items(left, right, isinstance(op, ast.Eq), node)  # type: ignore[arg-type]
    if (
        isinstance(left, External)
        and left == right
        and isinstance(op, (ast.Eq, ast.Is, ast.NotEq, ast.IsNot))
    ):
        # One name of a package is one object; all tensors are on one device.
        return isinstance(op, (ast.Eq, ast.Is))
    if isinstance(left, _READ) and isinstance(right, _READ):
        if isinstance(op, (ast.Eq, ast.Is, ast.NotEq, ast.IsNot)):
            equal = left is right if isinstance(left, (Tensor, Instance)) else _equal(left, right)
            return equal == isinstance(op, (ast.Eq, ast.Is))
        if isinstance(left, tuple) and isinstance(right, tuple) and type(op) in _ORDERED:
            numbers = [[value_at(v, sizes) for v in group] for group in (left, right)]
            if None not in (*numbers[0], *numbers[1]):
                return bool(_ORDERED[type(op)](*numbers))
    return _unknown_of(node, left, right)


def _equal(left: object, right: object) -> bool:
    if isinstance(left, Function) and isinstance(right, Function):
        return left.node is right.node
    return bool(left == right)


def _same_items(left: Sequence[object], right: Sequence[object], wanted: bool, node: ast.Compare) -> object:
    """Whether two rows of numbers are the same, as a condition over dims."""
    if len(left) != len(right) or list(left) == list(right):
        return (len(left) == len(right)) == wanted
    if not all(is_number(v) for v in (*left, *right)):
        return Unknown(f"`{ast.unparse(node)}`")
    return _joined(
        ast.And(), [(tree_of(a), tree_of(b)) for a, b in zip(left, right, strict=True) if a != b], wanted
    )


def _joined(by: ast.boolop, pairs: Sequence[tuple[ast.expr, ast.expr]], wanted: bool) -> object:
    """Whether all of some pairs are equal, or any, as a condition over dims."""
    tests: list[ast.expr] = [ast.Compare(a, [ast.Eq()], [b]) for a, b in pairs]
    whole = ast.BoolOp(by, tests) if len(tests) > 1 else tests[0] if tests else ast.Constant(False)
    return size_of(whole if wanted else ast.UnaryOp(ast.Not(), whole))


def _held(node: ast.Compare, left: object, right: object, wanted: bool) -> object:
    if isinstance(left, (*_PLAIN, Size)) and isinstance(right, (tuple, list, dict, set, range, str)):
        if isinstance(right, str):
            return (left in right) == wanted if isinstance(left, str) else Unknown("a text")
        if isinstance(left, Size):
            if all(is_number(v) for v in right) and not isinstance(right, dict):
                return _joined(ast.Or(), [(tree_of(left), tree_of(v)) for v in right], wanted)
        elif not any(isinstance(v, (Unknown, Open, External)) for v in right):
            return any(left == v for v in right) == wanted
    return _unknown_of(node, left, right)


def key_of(value: object, sizes: Mapping[str, Number]) -> Any:
    """A value as a key of a dict; None for one that is none."""
    if isinstance(value, Size):
        return value_at(value, sizes)
    if isinstance(value, tuple):
        parts = tuple(key_of(v, sizes) for v in value)
        return None if None in parts else parts
    return value if isinstance(value, Hashable) and not isinstance(value, (Unknown, Open, Tensor)) else None


def items_of(value: object, sizes: Mapping[str, Number]) -> list[object] | None:
    """What a value holds one after the other; None when that is not known, or is more than is read."""
    if isinstance(value, (tuple, list, range, set, dict, str)):
        return list(value) if len(value) <= MOST_ITEMS else None
    if isinstance(value, Instance) and value.of == "generator":
        items = value.attributes["items"]
        return list(items) if isinstance(items, (tuple, list)) else None
    if isinstance(value, Tensor) and value.shape:
        numbers = elements_of(value)
        if numbers is not None and len(value.shape) == 1:
            return list(numbers)
        views, rows = rows_of(value), value_at(value.shape[0], sizes)
        if views is not None:
            return list(views)
        if isinstance(rows, int) and rows <= 256:
            return [Tensor("", value.shape[1:], value.dtype, value.values)] * rows
    return None


def unpacked(value: object, targets: list[ast.expr]) -> list[object]:
    """One value for each target; `*rest` takes what is left."""
    if isinstance(value, Tensor) and value.shape and value.shape[0] == len(targets):
        value = rows_of(value)
    if isinstance(value, Instance) and value.of == "values and indices":
        value = tuple(value.attributes.values())
    if isinstance(value, (tuple, list, range)):
        star = next((i for i, t in enumerate(targets) if isinstance(t, ast.Starred)), None)
        if star is None and len(value) == len(targets):
            return list(value)
        if star is not None and len(value) >= len(targets) - 1:
            end = len(value) - (len(targets) - star - 1)
            return [*value[:star], tuple(value[star:end]), *value[end:]]
    if isinstance(value, (External, Open)):
        return [Open(t.id) if isinstance(t, ast.Name) else Unknown("ctx") for t in targets]
    return [value if isinstance(value, Unknown) else Unknown("an unpacked value") for _ in targets]
