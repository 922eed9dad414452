"""Sizes that are whole numbers of tiles, for a Triton kernel that loads or stores without a mask.

An access without a mask, in a tile that the grid or a loop counts by `cdiv(N, BLOCK)`, stays in bounds only where
`N % BLOCK == 0`. What a mask, a boundary check or `% N` looks at is guarded.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kernel_lineage.kernels.python_text import names_in
from kernel_lineage.kernels.triton_forms import dotted

_ACCESSES = frozenset({"load", "store"})
_BLOCKS = frozenset({"arange", "make_block_ptr", "make_tensor_descriptor"})
_CEIL = frozenset({"cdiv", "ceil_div"})
_DEEPEST = 400
"""Nodes that are looked at for one access."""
Tile = tuple[ast.expr, ast.expr]
"""How many elements there are along an axis, and how many of them a tile has."""


def whole_tiles(
    function: ast.FunctionDef, constexpr: Collection[str], grid: Sequence[str]
) -> Iterator[tuple[Tile, int]]:
    """Each extent that has to be a multiple of a tile's, and the tile's, over dims and the kernel's parameters.

    With each the line of an access that needs it.

    Accesses that a parameter which is known at compile time (`constexpr`) decides on are for the sizes that it names.
    """
    values = values_of(function)
    counted = [list(_counted(ast.parse(g, mode="eval").body)) for g in grid]
    for call, loops in _accesses(function, frozenset(constexpr), ()):
        address = _Reached.of([call.args[0]] if call.args else [], values)
        if any(k.arg == "boundary_check" for k in call.keywords):
            continue
        guard = _Reached.of(_masks(call), values)
        for axis in sorted(address.axes - guard.axes):
            if address.spans and not address.wraps:
                yield from ((tile, call.lineno) for tile in (counted[axis] if axis < len(counted) else ()))
        for loop in loops:
            names = names_in(loop.iter)
            target = loop.target.id if isinstance(loop.target, ast.Name) else ""
            if target not in guard.names and not names & guard.names:
                yield from ((tile, call.lineno) for tile in _of_loop(loop.iter))


def masked_tiles(
    function: ast.FunctionDef, constexpr: Collection[str], grid: Sequence[str]
) -> Iterator[tuple[Tile, list[ast.expr], int]]:
    """The tiles that masks look at, what they compare places with (`n` of `mask=offsets < n - done`), and their line.

    Where that is the tile's extent, the kernel is written for extents that are no whole number of tiles.
    """
    values = values_of(function)
    counted = [list(_counted(ast.parse(g, mode="eval").body)) for g in grid]
    for call, loops in _accesses(function, frozenset(constexpr), ()):
        guard = _Reached.of(_masks(call), values)
        for axis in sorted(guard.axes):
            of_axis = counted[axis] if axis < len(counted) else ()
            yield from ((tile, guard.bounds, call.lineno) for tile in of_axis)
        for loop in loops:
            if isinstance(loop.target, ast.Name) and loop.target.id in guard.names:
                yield from ((tile, guard.bounds, call.lineno) for tile in _of_loop(loop.iter))


def _masks(call: ast.Call) -> list[ast.expr]:
    """What guards an access, by place or by name."""
    guards = call.args[1 + (dotted(call.func).endswith("store")) :][:1]
    return guards + [k.value for k in call.keywords if k.arg in ("mask", "boundary_check")]


@dataclass(slots=True)
class _Reached:
    """What an expression is made of, through the names that it uses."""

    names: set[str] = field(default_factory=set)
    axes: set[int] = field(default_factory=set)
    """Axes of the grid whose program's number is in it."""
    spans: bool = False
    """Whether it is a block of indices. One element for each program has no part of a tile."""
    wraps: bool = False
    """Whether an index is taken modulo something."""
    bounds: list[ast.expr] = field(default_factory=list)
    """What something is compared with by `<`."""

    @classmethod
    def of(cls, parts: Sequence[ast.expr], values: Mapping[str, list[ast.expr]]) -> _Reached:
        reach = cls()
        left: list[ast.expr] = list(parts)
        for _ in range(_DEEPEST):
            if not left:
                break
            for node in ast.walk(left.pop()):
                match node:
                    case ast.Name(id=name) if name not in reach.names:
                        reach.names.add(name)
                        left += values.get(name, [])
                    case ast.Compare(ops=[ast.Lt()], comparators=[ast.BinOp(left=bound, op=ast.Sub())]):
                        reach.bounds.append(bound)
                    case ast.Compare(ops=[ast.Lt()], comparators=[bound]):
                        reach.bounds.append(bound)
                    case ast.Call(func=func, args=[*_]) if dotted(func).endswith("program_id"):
                        arguments = [*node.args, *(k.value for k in node.keywords)]
                        if (
                            arguments
                            and isinstance(arguments[0], ast.Constant)
                            and isinstance(arguments[0].value, int)
                        ):
                            reach.axes.add(arguments[0].value)
                    case ast.Call(func=func) if dotted(func).rpartition(".")[2] in _BLOCKS:
                        reach.spans = True
                    case ast.BinOp(op=ast.Mod(), left=inner) if any(
                        isinstance(n, ast.Call) and dotted(n.func).endswith("arange") for n in ast.walk(inner)
                    ):
                        reach.wraps = True
        return reach


def values_of(function: ast.FunctionDef) -> dict[str, list[ast.expr]]:
    """Each name of a function with all that it is given."""
    values: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    for name in ast.walk(target):
                        if isinstance(name, ast.Name):
                            values.setdefault(name.id, []).append(value)
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                values.setdefault(name, []).append(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                values.setdefault(name, []).append(value)
    return values


def _accesses(
    node: ast.AST, constexpr: frozenset[str], loops: tuple[ast.For, ...]
) -> Iterator[tuple[ast.Call, tuple[ast.For, ...]]]:
    """The loads and stores of a function that no compile-time parameter decides on, each with the loops around it."""
    if isinstance(node, ast.If) and constexpr & names_in(node.test):
        return
    if isinstance(node, ast.Call) and dotted(node.func) in {f"tl.{a}" for a in _ACCESSES}:
        yield node, loops
    inside = (*loops, node) if isinstance(node, ast.For) else loops
    for child in ast.iter_child_nodes(node):
        yield from _accesses(child, constexpr, inside)


def _counted(count: ast.expr) -> Iterator[Tile]:
    """The tiles that a count is made of: N and B of `ceil_div(N, B)`, of products of such, and of the least of some."""
    match count:
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            yield from (*_counted(left), *_counted(right))
        case ast.Call(func=func, args=[extent, tile]) if dotted(func).rpartition(".")[2] in _CEIL:
            yield extent, tile
        case ast.Call(func=ast.Name(id="min"), args=counts):
            for one in counts:
                yield from _counted(one)


def _of_loop(over: ast.expr) -> Iterator[Tile]:
    """The tiles that a loop goes through: of `range(0, N, B)`, and of `range(cdiv(N, B))`."""
    match over:
        case ast.Call(args=[_, extent, step]) if not isinstance(step, ast.Constant):
            yield extent, step
        case ast.Call(args=[*bounds]):
            for bound in bounds:
                yield from _counted(bound)
