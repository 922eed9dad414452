"""Sizes that keep what host code asks for on the way to a launch, as conditions over dims."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress

from kernel_gate.expr.syntax import tree_of
from kernel_gate.expressions import ExpressionError, evaluate, names

_STEPS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
_ROUNDS = 4
_NUMBER = re.compile(r"\b\d+\b")


def broken(sizes: Mapping[str, int], promises: Iterable[str]) -> tuple[str, ...]:
    """The promises that sizes do not keep; one that cannot be evaluated is not kept."""
    failures = []
    for promise in promises:
        try:
            if not evaluate(promise, sizes):
                failures.append(promise)
        except ExpressionError:
            failures.append(promise)
    return tuple(failures)


def fitted_sizes(
    sizes: Mapping[str, int], promises: tuple[str, ...], fixed: Collection[str] = ()
) -> dict[str, int]:
    """The sizes, those not `fixed` changed one by one until the promises hold, as far as that is found."""
    fitted = dict(sizes)
    for _ in range(_ROUNDS):
        left = broken(fitted, promises)
        if not left:
            break
        for promise in left:
            _mend(fitted, promise, promises, fixed)
    return fitted


def with_room_to_grow(sizes: Mapping[str, int], promises: tuple[str, ...], times: int) -> dict[str, int]:
    """The sizes, halved one by one where the promises do not hold for `times` as much of one of them.

    A size that is halved keeps the promises; where none that is smaller can grow so far, it stays.
    """
    roomy = dict(sizes)
    for name, size in sizes.items():
        halves = (size >> i for i in range(size.bit_length()))
        kept = (h for h in halves if not broken({**roomy, name: h}, promises))
        roomy[name] = next((h for h in kept if not broken({**roomy, name: times * h}, promises)), size)
    return roomy


def _mend(sizes: dict[str, int], promise: str, promises: tuple[str, ...], fixed: Collection[str]) -> None:
    """Change one dim that a promise speaks of, so that it holds and as many others as before."""
    try:
        own = [n for n in names(promise) if n in sizes and n not in fixed]
    except ExpressionError:
        return
    best = len(broken(sizes, promises))
    for name in sorted(own):
        before = sizes[name]
        others = [size for other, size in sizes.items() if other != name]
        numbers = [n for text in _NUMBER.findall(promise) if 1 < (n := int(text)) <= _STEPS[-1]]
        tried = [-(-before // step) * step for step in (*_STEPS, *numbers)]
        tried += [
            before * 2,
            before * 4,
            before * 16,
            before // 2,
            before // 4,
            *numbers,
            1,
            2,
            3,
            4,
            8,
            16,
            32,
            *others,
        ]
        tried[:0] = _solved(name, promise, sizes)
        same = {n: sizes[n] for n in equal_dims(name, promises) if n in sizes and n not in fixed}
        for size in dict.fromkeys(s for s in tried if s > 0):
            sizes.update(dict.fromkeys(same, size))
            count = len(broken(sizes, promises))
            if count < best:
                return
        sizes.update(same)


def _solved(name: str, promise: str, sizes: Mapping[str, int]) -> list[int]:
    """What a dim is that stands alone on one side of an equality, or next to what bounds it."""
    try:
        tree = tree_of(promise)
    except SyntaxError:
        return []
    if not isinstance(tree, ast.Compare) or len(tree.ops) > 1:
        return []
    beside = {ast.Eq: 0, ast.LtE: 0, ast.GtE: 0, ast.Lt: 1, ast.Gt: -1}.get(type(tree.ops[0]))
    if beside is None:
        return []
    sides = [ast.unparse(side) for side in (tree.left, tree.comparators[0])]
    others = [
        (other, less)
        for side, other, less in ((sides[0], sides[1], beside), (sides[1], sides[0], -beside))
        if side == name
    ]
    with suppress(ExpressionError):
        return [int(evaluate(other, sizes)) - less for other, less in others]
    return []


def says_nothing(promise: str) -> bool:
    """Whether a promise compares a number with itself."""
    match tree_of(promise):
        case ast.Compare(left=left, ops=[ast.Eq() | ast.LtE() | ast.GtE()], comparators=[right]):
            return ast.dump(left) == ast.dump(right)
    return False


def equal_dims(name: str, promises: tuple[str, ...]) -> set[str]:
    """The dims that are promised to be equal to one, itself among them."""
    group = {name}
    pairs = [pair for p in promises if (pair := _equated(p))]
    for _ in pairs:
        group.update(n for pair in pairs if group & pair for n in pair)
    return group


def _equated(promise: str) -> set[str]:
    """The two dims of `a == b`, or of `not a != b`."""
    try:
        tree = tree_of(promise)
    except SyntaxError:
        return set()
    match tree:
        case ast.Compare(left=ast.Name(id=left), ops=[ast.Eq()], comparators=[ast.Name(id=right)]):
            return {left, right}
        case ast.UnaryOp(
            op=ast.Not(),
            operand=ast.Compare(left=ast.Name(id=left), ops=[ast.NotEq()], comparators=[ast.Name(id=right)]),
        ):
            return {left, right}
    return set()
