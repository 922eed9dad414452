"""What a Triton kernel asks of the sizes that it is compiled and launched for."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from kernel_gate.expressions import ExpressionError, Number, evaluate, names
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_syntax import triton_syntax
from kernel_lineage.workloads.model import MASKED_ON, UNMASKED, DraftArgument
from kernel_lineage.workloads.triton.whole_tiles import Tile, masked_tiles, whole_tiles

_LEAST_IN_PRODUCT = 16
"""Elements along each axis of a block that `tl.dot` takes, at least, on all devices."""
_BLOCK_SHAPE = 4
"""Which argument of `tl.make_block_ptr` the extents of the block are."""


def promises_of(
    kernel: Kernel, written: Mapping[str, str], grid: tuple[str, ...], sizes: Mapping[str, Number]
) -> tuple[str, ...]:
    """Conditions over dims that hold at the drafted sizes and have to hold at others: `next_power_of_2(D) == D`.

    `written` are the parameters that are numbers, as expressions over dims.
    """
    if kernel.function is None:
        return ()
    as_written = _Written(written)
    extents = dict.fromkeys(as_written.text(e) for e in _block_extents(kernel.function))
    powers = (e for e in extents if not e.startswith("next_power_of_2("))
    promises = [_plain(f"next_power_of_2({e}) == ({e})") for e in powers]
    syntax = triton_syntax(kernel)
    units = syntax.units if syntax is not None else ()
    if any(call.of_language and call.name == "dot" for unit in units for call in unit.calls):
        promises += [_plain(f"({e}) >= {_LEAST_IN_PRODUCT}") for e in extents]
    constexpr = {p.name for p in kernel.parameters if p.constexpr}
    # A number that is 1 is a constant of the compiled kernel, and no longer a value with methods.
    converted = {name for n in ast.walk(kernel.function) if (name := _converted(n))}
    promises += [f"({written[n]}) != 1" for n in sorted(converted - constexpr) if n in written]
    # A launch without programs is none: `tiles - tiles % 16` of few tiles.
    at_compile_time = _Written({n: text for n, text in written.items() if n in constexpr})
    extents_of_grid = (ast.parse(extent, mode="eval").body for extent in grid)
    promises += [_plain(f"({at_compile_time.text(e)}) >= 1") for e in extents_of_grid if _may_be_none(e)]
    return tuple(p for p in dict.fromkeys(promises) if _holds(p, sizes))


def unmasked(
    kernel: Kernel, written: Mapping[str, str], grid: tuple[str, ...], sizes: Mapping[str, Number]
) -> dict[str, str]:
    """What accesses without a mask ask of sizes, over dims, with a note for people: `N % 64 == 0`.

    Where another access of the same tile is masked the note says so: there a mask is missing.
    """
    if kernel.function is None:
        return {}
    as_written, named = _Written(written), {_plain(text): name for name, text in written.items()}
    constexpr = {p.name for p in kernel.parameters if p.constexpr}

    def whole_number_of(tile: Tile) -> tuple[str, str]:
        extent, part = (_plain(as_written.text(e)) for e in tile)
        return extent, part

    partial = {
        whole_number_of(tile): line
        for tile, bounds, line in masked_tiles(kernel.function, constexpr, grid)
        if whole_number_of(tile)[0] in {_plain(as_written.text(bound)) for bound in bounds}
    }
    notes: dict[str, str] = {}
    for tile, line in whole_tiles(kernel.function, constexpr, grid):
        whole, part = whole_number_of(tile)
        promise = f"({whole}) % ({part}) == 0"
        if part != "1" and _holds(promise, sizes):
            shown = _plain(f"({named.get(whole, whole)}) % ({part}) == 0")
            masked = partial.get((whole, part))
            elsewhere = f"{MASKED_ON}{masked}" if masked is not None else ""
            notes.setdefault(promise, f"{shown}{UNMASKED}{line}{elsewhere}")
    return notes


def each_once(arguments: Sequence[DraftArgument], sizes: Mapping[str, Number]) -> tuple[str, ...]:
    """That there are as many numbers as places, where places come once each: `T <= blocks * size`."""
    placed = (a for a in arguments if a.values.startswith("permutation(") and a.shape)
    promises = [
        _plain(f"{' * '.join(f'({e})' for e in a.shape or ())} <= {a.values.removeprefix('permutation')}")
        for a in placed
    ]
    return tuple(p for p in dict.fromkeys(promises) if _holds(p, sizes) and len({*p.split(" <= ")}) > 1)


def _plain(promise: str) -> str:
    """An expression without parentheses that say nothing."""
    return ast.unparse(ast.parse(promise, mode="eval"))


def _may_be_none(extent: ast.expr) -> bool:
    """Whether an extent of a grid is 0 at some sizes of 1 and more."""
    rounds_down = (
        n.left for n in ast.walk(extent) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.FloorDiv)
    )
    sums = (any(isinstance(n, ast.Add) for n in ast.walk(left)) for left in rounds_down)
    return not all(sums) or any(isinstance(n, (ast.Sub, ast.Mod)) for n in ast.walk(extent))


def _converted(node: ast.AST) -> str:
    """`name` of `name.to`; "" of all others."""
    named = isinstance(node, ast.Attribute) and node.attr == "to" and isinstance(node.value, ast.Name)
    return node.value.id if named else ""  # type: ignore[attr-defined]


def _block_extents(function: ast.FunctionDef) -> Iterator[ast.expr]:
    """What `tl.arange(0, EXTENT)` is called with, and the extents of windows, over the parameters."""
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(attr="arange"), args=[_, end]):
                yield end
            case ast.Call(func=ast.Attribute(attr="make_block_ptr"), args=arguments, keywords=named):
                block = next((k.value for k in named if k.arg == "block_shape"), None)
                block = arguments[_BLOCK_SHAPE] if len(arguments) > _BLOCK_SHAPE else block
                yield from block.elts if isinstance(block, ast.Tuple) else ()


class _Written(ast.NodeTransformer):
    """Puts what the parameters are in the place of their names."""

    def __init__(self, written: Mapping[str, str]) -> None:
        self.written = written

    def text(self, tree: ast.expr) -> str:
        """An expression over dims."""
        return ast.unparse(self.visit(ast.parse(ast.unparse(tree), mode="eval")))

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A name."""
        text = self.written.get(node.id)
        return ast.parse(text, mode="eval").body if text is not None else node


def _holds(promise: str, sizes: Mapping[str, Number]) -> bool:
    """Whether a promise speaks of dims, and holds at these sizes."""
    try:
        return bool(names(promise)) and bool(evaluate(promise, sizes))
    except ExpressionError:
        return False
