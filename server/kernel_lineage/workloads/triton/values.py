"""What a name of the host stands for while its code is read: sizes as expressions over dims, tensors by their shape."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import Any, TypeGuard

from kernel_gate.expressions import FUNCTIONS, ExpressionError, Number, evaluate

MOST_ITEMS = 1 << 14
"""Values within a value; characters of a text. Host code is read by the trusted process, and asks for what it likes."""
_MOST_TEXT = 2000
"""Characters of an expression: a sum of sums doubles with each statement."""
MOST_NUMBER = 1 << 64


def _operator(op: ast.operator, *, turned: bool = False) -> Callable[[Size, object], Any]:
    """An operator of Python between an expression and a number, which stands on its left where it is `turned`."""

    def apply(own: Size, other: object) -> Any:
        if not (is_number(own) and is_number(other)):
            return NotImplemented
        left, right = (other, own) if turned else (own, other)
        if right == _NEUTRAL.get(type(op)):
            return left
        if left == _NEUTRAL.get(type(op)) and isinstance(op, (ast.Add, ast.Mult)):
            return right
        return size_of(ast.BinOp(tree_of(left), op, tree_of(right)))

    return apply


_NEUTRAL = {ast.Add: 0, ast.Sub: 0, ast.Mult: 1, ast.FloorDiv: 1}
"""Operator → the number on its right that changes nothing."""


@dataclass(frozen=True, slots=True)
class Size:
    """A number as an expression over dims."""

    text: str
    __add__ = _operator(ast.Add())
    __radd__ = _operator(ast.Add(), turned=True)
    __sub__ = _operator(ast.Sub())
    __rsub__ = _operator(ast.Sub(), turned=True)
    __mul__ = _operator(ast.Mult())
    __rmul__ = _operator(ast.Mult(), turned=True)
    __floordiv__ = _operator(ast.FloorDiv())
    __rfloordiv__ = _operator(ast.FloorDiv(), turned=True)


@dataclass(frozen=True, slots=True)
class Stride(Size):
    """How many elements apart neighbours along an axis of a row-major tensor are; "" while its shape is not known."""

    tensor: str
    axis: int


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor by what is known of it."""

    name: str
    shape: tuple[int | Size, ...] | None
    dtype: str | None = None
    values: str = ""
    """How its elements are drawn, when they are no normal numbers: `integers(0, V)`."""
    strides: tuple[int | Size, ...] | None = None
    """Elements from one neighbour to the next along each axis; None for row-major."""
    memory: int | Size | None = None
    """Elements from its first one to the end of the memory that it lies in; None for as many as it has."""
    cleared: bool = False
    """Whether the host has made all its elements zero."""
    buffer: str = ""
    """Which memory it lies in, where host code is read to its end; "" for memory that nobody follows."""


@dataclass(frozen=True, slots=True)
class Dtype:
    """`torch.float32` or `tl.float32`."""

    name: str


@dataclass(frozen=True, slots=True)
class External:
    """A function, module or object of a package that is not read, by its dotted name."""

    name: str


@dataclass(frozen=True, slots=True)
class Open:
    """A parameter of which the caller is not known: a tensor or a number."""

    name: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """What the code does not tell, with the expression that stands in the way."""

    why: str


def is_number(value: object) -> TypeGuard[int | float | Size]:
    """Whether a value is a number, known or as an expression."""
    return isinstance(value, (int, float)) or (isinstance(value, Size) and value.text != "")


def text_of(value: object) -> str:
    """A number as an expression."""
    return value.text if isinstance(value, Size) else repr(value)


def tree_of(value: object) -> ast.expr:
    """A number as the tree of its expression. It is shared: nobody changes it."""
    return _parsed(text_of(value))


@lru_cache(maxsize=1 << 14)
def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def size_of(tree: ast.expr) -> Size | int | float:
    """The number of a tree; one without names is calculated. Raises `OverflowError` for one that no size can be."""
    text = ast.unparse(tree)
    number: Size | int | float = Size(text)
    if not any(isinstance(n, ast.Name) and n.id not in FUNCTIONS for n in ast.walk(tree)):
        with suppress(ExpressionError):
            number = evaluate(text, {})
    if len(text) > _MOST_TEXT or not is_bounded(number):
        raise OverflowError("it is longer or larger than any size")
    return number


def is_bounded(value: object) -> bool:
    """Whether a value, with all that is in it, is no larger than what is read."""
    waiting, left = [value], MOST_ITEMS
    while waiting:
        inner = waiting.pop()
        left -= 1
        if isinstance(inner, int) and abs(inner) >= MOST_NUMBER:
            return False
        if isinstance(inner, (str, tuple, list, set, dict)) and len(inner) > left:
            return False
        if isinstance(inner, (tuple, list, set, dict)):
            waiting += inner.values() if isinstance(inner, dict) else inner
    return left >= 0


def called(name: str, *arguments: object) -> Size | int | float:
    """`next_power_of_2(C)` of numbers; of `max` and `min` each number once."""
    if name == "ceil_div" and arguments[:1] == (0,):
        return 0
    trees = [tree_of(a) for a in arguments]
    if name in ("max", "min"):
        trees = list({ast.unparse(t): t for tree in trees for t in _numbers_of(name, tree)}.values())
        if len(trees) == 1:
            return size_of(trees[0])
    return size_of(ast.Call(ast.Name(name, ast.Load()), trees, []))


def _numbers_of(name: str, tree: ast.expr) -> Iterator[ast.expr]:
    """The numbers of which `max(a, max(b, c))` is one."""
    match tree:
        case ast.Call(func=ast.Name(id=inner), args=numbers) if inner == name:
            for number in numbers:
                yield from _numbers_of(name, number)
        case _:
            yield tree


def size_of_all(case: Sequence[object], sizes: Mapping[str, Number]) -> int:
    """The product of the whole numbers above 0 in a test's case: those of a shape in it too."""
    numbers: list[int] = []
    for value in case:
        inner = value if isinstance(value, (tuple, list)) else (value,)
        values = [value_at(v, sizes) if isinstance(v, Size) else v for v in inner]
        numbers += [k for k in values if type(k) is int and k > 0]
    return prod(numbers)


def value_at(value: object, sizes: Mapping[str, Number]) -> Number | None:
    """A number where the dims have these sizes; None when something in it is not known."""
    if isinstance(value, (int, float)):
        return value
    try:
        return evaluate(value.text, sizes) if isinstance(value, Size) else None
    except ExpressionError:
        return None


def product(values: Iterable[int | Size]) -> int | Size:
    """The product of extents."""
    total: int | Size = 1
    for value in values:
        total = total * value
    return total


def reshaped(old: Sequence[int | Size], new: Sequence[object]) -> tuple[int | Size, ...] | Unknown:
    """The shape after `view`; an extent of -1 is what is left of the old ones."""
    extents = [e for e in new if isinstance(e, (int, Size))]
    if len(extents) != len(new):
        return Unknown("an extent of `view`")
    if -1 not in extents:
        return tuple(extents)
    left = [f for e in old for f in _factors(tree_of(e))]
    divisor: list[ast.expr] = []
    for extent in extents:
        for factor in _factors(tree_of(extent)) if extent != -1 else ():
            same = next((f for f in left if ast.dump(f) == ast.dump(factor)), None)
            if same is None:
                divisor.append(factor)
            else:
                left.remove(same)
    rest = product(_size(f) for f in left) // product(_size(f) for f in divisor)
    return tuple(rest if e == -1 else e for e in extents)


def _size(tree: ast.expr) -> Any:
    return size_of(tree)


def _factors(tree: ast.expr) -> list[ast.expr]:
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Mult):
        return [*_factors(tree.left), *_factors(tree.right)]
    return [] if isinstance(tree, ast.Constant) and tree.value in (1, -1) else [tree]


def stride_of(tensor: Tensor, axis: int) -> Stride:
    """The stride of a tensor along an axis; without text while its shape is not known."""
    if tensor.shape is None:
        return Stride("", tensor.name, axis)
    axis %= max(1, len(tensor.shape))
    if tensor.strides is not None:
        return Stride(text_of(tensor.strides[axis]), tensor.name, axis)
    return Stride(text_of(product(tensor.shape[axis + 1 :])), tensor.name, axis)


def strides_of(tensor: Tensor) -> tuple[int | Size, ...]:
    """The strides of a tensor of known shape."""
    return tuple(stride_of(tensor, axis) for axis in range(len(tensor.shape or ())))


def packed(tensor: Tensor) -> Tensor:
    """The same elements in memory of their own, row-major."""
    return replace(tensor, strides=None, memory=None)


def anything(value: object) -> object:
    """A tensor that may hold other elements than it was made with, as others have had it by then; so may those in lists
    and dicts, which stay the same objects.
    """
    if isinstance(value, tuple) and type(value) is tuple:
        return tuple(map(anything, value))
    if isinstance(value, (list, dict)):
        for place, held in [*(value.items() if isinstance(value, dict) else enumerate(value))]:
            if (other := anything(held)) is not held:
                value[place] = other
    return replace(value, cleared=False) if isinstance(value, Tensor) and value.cleared else value


def argument(
    args: Sequence[object], named: Mapping[str, object], place: int, *names: str, default: object = None
) -> object:
    """What a call gives a parameter, by its place or by one of its names."""
    if place < len(args):
        return args[place]
    return next((named[n] for n in names if n in named), default)
