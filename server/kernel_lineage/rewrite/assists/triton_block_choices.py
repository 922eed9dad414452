"""Other sizes of a Triton kernel's tiles, with the warps and stages that go with them, and the grid for each.

What is tried depends on what the tiles are for: elements, rows that a loop goes along, columns that a loop goes down,
tiles of two axes, products. A size may be chosen where every address counts `program * SIZE + lane` or
`round * SIZE + lane` up to the bound of its mask (`triton_tiles`), and no lane sees more of its tile than sums, maxima,
minima and products over a whole loop (`triton_lanes`), which are rounded in another order. Elements of one axis are
shared with the block's other axes, and no size is tried whose block its warps' registers would not hold. Refused where
a launch does not tell the sizes as numbers, or where its grid is not the number of tiles up to the bound.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from kernel_gate.expr.terms import Var
from kernel_gate.program import WARP
from kernel_lineage.kernels.edits import edited
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel, Launch
from kernel_lineage.rewrite.assists.layout import data_of, source_of
from kernel_lineage.rewrite.assists.model import Refusal, attempt
from kernel_lineage.rewrite.assists.triton_lanes import narrow
from kernel_lineage.rewrite.assists.triton_places import calls_of, function_of
from kernel_lineage.rewrite.assists.triton_tiles import Place, Tiles, elements_of, tiles_of
from kernel_lineage.rewrite.candidate import Edit
from kernel_lineage.rewrite.launch_site import launch_edits
from kernel_lineage.skills.kernel_facts import TRITON_DEFAULTS, constant

_ELEMENTS = ((1024, 4), (2048, 8), (4096, 8), (512, 4))
"""Elements of one axis, and warps: 8 to 16 elements in each thread."""
_DOWN = ((64, 1), (32, 1), (128, 1))
"""Columns of which a program goes down all rows one by one: few, for many programs."""
_COLUMNS = ((16, 512, 16), (32, 256, 16), (8, 1024, 16), (8, 2048, 32), (32, 512, 16))
"""Columns, rows that are loaded together, warps: 32 or 64 KiB of floats under way, in as many programs as can be."""
_ROWS = ((1024, 4, 8), (512, 8, 8), (256, 16, 8))
"""Elements along a row, rows, warps."""
_PLANES = ((64, 64, 8), (128, 32, 8), (32, 32, 4), (256, 8, 4))
"""Elements along the one axis and along the other, warps."""
_SIDES = ((32, 4), (64, 8), (64, 4), (128, 16))
"""Elements along either axis, warps."""
_PRODUCTS = {
    "": (
        (256, 128, 64, 8, 3),
        (128, 128, 64, 4, 4),
        (128, 128, 64, 8, 3),
        (128, 128, 32, 8, 4),
        (128, 64, 64, 4, 4),
    ),
    "ieee": ((128, 64, 32, 8, 3), (64, 64, 32, 4, 3), (128, 128, 16, 8, 3)),
    "tf32": ((128, 128, 32, 8, 3), (128, 64, 32, 4, 4)),
}
"""Columns, rows, depth, warps, stages; for halves, and for floats by the precision that their product keeps: no tensor
core multiplies them with all bits, and each takes twice a half's shared memory.
"""
_SQUARES = {
    "": ((128, 128, 64, 8, 3), (128, 128, 64, 4, 4), (64, 64, 64, 4, 4), (64, 64, 32, 4, 4)),
    "ieee": ((64, 64, 32, 4, 3), (128, 128, 16, 8, 3), (32, 32, 32, 4, 3)),
    "tf32": ((128, 128, 32, 8, 3), (64, 64, 32, 4, 4)),
}
"""The same where columns and rows have one size."""
_CUBES = {
    "": ((128, 128, 128, 8, 3), (64, 64, 64, 4, 4), (128, 128, 128, 8, 2), (32, 32, 32, 4, 4)),
    "ieee": ((64, 64, 64, 8, 2), (32, 32, 32, 4, 3)),
    "tf32": ((64, 64, 64, 4, 3), (32, 32, 32, 4, 4)),
}
"""The same where all three have one size."""
_MOST_A_THREAD = 128
"""Elements of one block for each thread: it has 255 registers, and a compiler that spills as many takes minutes."""
_AXES = "xyz"
_Sizes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class BlockChoice:
    """Sizes, warps and stages of a kernel's launches, by the keyword arguments that say them."""

    options: Mapping[str, int]
    is_present: bool = False
    """A launch says just these already."""
    grids: tuple[str, ...] = ()
    """The grid of each launch; "" where it follows from the sizes by itself, or does not depend on them."""
    scaled: str = ""
    """The grid over what it was before (`workloads.programs.with_launch`); "" where it stays."""

    @property
    def text(self) -> str:
        """The sizes for people."""
        return ", ".join(f"{name} = {value}" for name, value in self.options.items())

    @property
    def launch(self) -> dict[str, str]:
        """The launch's changed fields, as a candidate names them."""
        sizes = {name: str(value) for name, value in self.options.items()}
        return sizes | ({"grid": self.scaled} if self.scaled else {})


def block_choices(kernel: Kernel, precision: str | None = None) -> list[BlockChoice]:
    """The choices for a kernel, the likeliest first; `precision` is what its products of floats keep, "" if they are of
    halves, and None for what it says of them. Refused where no size of its launches can be another one.
    """
    tiles = tiles_of(kernel)
    narrow(kernel, tiles)
    if not tiles.sizes:
        raise Refusal(next(iter(tiles.fixed.values())))
    present = [_present(launch, tiles) for launch in kernel.launches]
    settings = [sizes | present_options(x) for sizes, x in zip(present, kernel.launches, strict=True)]
    choices = []
    tried = [
        options
        for options in _tried(kernel, tiles, precision)
        if _most_elements(kernel, tiles, options) <= _MOST_A_THREAD * WARP * options["num_warps"]
    ]
    if not tried:
        raise Refusal(f"with every size that would be tried, registers do not hold a block of {kernel.name}")
    for options in tried:
        grids = tuple(_grid(kernel, launch, tiles, options) for launch in kernel.launches)
        alike = all(sizes == present[0] for sizes in present)
        scaled = _scaled(kernel.launches[0], tiles, options, present[0]) if alike else ""
        choices.append(
            BlockChoice(options, any(options.items() <= own.items() for own in settings), grids, scaled)
        )
    return choices


def kernel_after(
    kernel: Kernel, edits: Iterable[Edit], options: Mapping[str, str] = MappingProxyType({})
) -> Kernel:
    """A kernel as edits leave it, launched with these options. Refused where it is not read again."""
    launched = [e for x in kernel.launches for e in launch_edits(kernel, x, options)] if options else []
    made = read(edited(data_of(kernel), [*edits, *launched]), kernel.language).kernel(kernel.name)
    if made is None:
        raise Refusal(f"{kernel.name} is not read again after its rewrite")
    return made


def resized(kernel: Kernel, choice: BlockChoice) -> list[Edit]:
    """Edits that launch a kernel with a choice's sizes. Raises `LaunchError`."""
    sizes = {name: str(value) for name, value in choice.options.items()}
    grids = choice.grids or ("",) * len(kernel.launches)
    return [
        edit
        for launch, grid in zip(kernel.launches, grids, strict=True)
        for edit in launch_edits(kernel, launch, sizes | ({"grid": grid} if grid else {}))
    ]


def present_options(launch: Launch) -> dict[str, int]:
    """The warps and stages of a launch. Refused where it does not say them as numbers."""
    options: dict[str, int] = {}
    for name, default in TRITON_DEFAULTS.items():
        number = constant(launch.options[name], launch.definitions) if name in launch.options else default
        if number is None:
            line = launch.span.first_line
            raise Refusal(f"the launch in line {line} says {name} as `{launch.options[name]}`")
        options[name] = number
    return options


def _present(launch: Launch, tiles: Tiles) -> dict[str, int]:
    """The sizes of a launch, by their parameters."""
    sizes: dict[str, int] = {}
    for size in tiles.sizes:
        number = constant(launch.options.get(size, ""), launch.definitions)
        if number is None:
            raise Refusal(f"the launch in line {launch.span.first_line} does not tell {size} as a number")
        sizes[size] = number
    return sizes


def _tried(kernel: Kernel, tiles: Tiles, precision: str | None) -> Iterator[dict[str, int]]:
    """The sizes that are tried for a kernel of this kind, the likeliest first."""
    free = tiles.sizes
    along = [s for s in free if any(p in tiles.along for p in tiles.places(s))]
    by_grid = {s: {p.of_grid for p in tiles.places(s)} for s in free}
    function = function_of(kernel)
    if next(calls_of(function, "dot"), None) is not None:
        outer = [s for s in free if by_grid[s] == {True}]
        inner = [s for s in free if by_grid[s] == {False}]
        names: list[str] = []
        if len(outer) == 2 and len(inner) == 1:
            columns = next((s for s in outer if s in along), outer[1])
            names = [columns, next(s for s in outer if s != columns), *inner]
        elif len(outer) == len(inner) == 1 or (len(free) == 1 and by_grid[free[0]] == {True, False}):
            names = [*outer, *outer, *inner] if inner else free * 3
        else:
            raise Refusal(f"not all extents of the product of {kernel.name} are free sizes")
        table = {3: _PRODUCTS, 2: _SQUARES, 1: _CUBES}[len(set(names))]
        for *sizes, warps, stages in _as_written(function, table) if precision is None else table[precision]:
            yield {**dict(zip(names, sizes, strict=True)), "num_warps": warps, "num_stages": stages}
        return
    if len(free) == 1 and (
        by_grid[free[0]] == {True, False} or sum(p.of_grid for p in tiles.places(free[0])) > 1
    ):
        for size, warps in _SIDES:
            yield {free[0]: size, "num_warps": warps}
        return
    if len(free) == 1:
        down = by_grid[free[0]] == {True} and any(isinstance(n, ast.For) for n in ast.walk(function))
        # What the block's other axes hold comes besides.
        beside = 1 if down else _most_elements(kernel, tiles, {free[0]: 1})
        shared_out = ((max(1, size // beside), warps) for size, warps in (_DOWN if down else _ELEMENTS))
        for size, warps in dict.fromkeys(shared_out):
            yield {free[0]: size, "num_warps": warps}
        return
    if len(free) > 2:
        raise Refusal(f"{kernel.name} has {len(free)} free sizes, of which too many pairs could be tried")
    first = along[0] if along else free[1]
    second = next(s for s in free if s != first)
    pairs = _PLANES if by_grid[first] == by_grid[second] else _COLUMNS if by_grid[first] == {True} else _ROWS
    for one, other, warps in pairs:
        yield {first: one, second: other, "num_warps": warps}


def _most_elements(kernel: Kernel, tiles: Tiles, options: Mapping[str, int]) -> int:
    """The elements of the largest block that is read or written with these sizes, as far as launches tell others."""
    elements = 1
    for launch in kernel.launches:
        passed = {name: constant(text, launch.definitions) for name, text in launch.options.items()}
        sizes = {name: n for name, n in passed.items() if isinstance(n, int)} | dict(options)
        elements = max(elements, *(elements_of(extents, sizes) for extents in tiles.blocks))
    return elements


def _as_written(function: ast.FunctionDef, table: Mapping[str, _Sizes]) -> _Sizes:
    """What is tried by the precision that a kernel's products name; halves may be multiplied under "ieee" as well."""
    named = {
        k.value.value
        for call in calls_of(function, "dot")
        for k in call.keywords
        if k.arg == "input_precision" and isinstance(k.value, ast.Constant)
    }
    if "ieee" in named:
        return (*table["ieee"][:1], *table[""])
    return table["tf32" if "tf32" in named else ""]


def _grid(kernel: Kernel, launch: Launch, tiles: Tiles, options: Mapping[str, int]) -> str:
    """The grid of a launch with other sizes; "" where it is asked for the sizes itself, or does not depend on them."""
    extents = list(launch.grid)
    asks = _asks_for_sizes(kernel, launch)
    changed = False
    for axis in dict.fromkeys(p.axis for p in tiles.bounds if p.of_grid and p.size in options):
        here, position = [p for p in tiles.bounds if p.axis == axis], _AXES.index(axis)
        if any(p.size not in options for p in here):
            raise Refusal(f"programs along {axis} take tiles of sizes that are not free")
        counts = _counts(kernel, launch, tiles, here, extents[position] if position < len(extents) else "")
        if not asks:
            made = [text.format(size=options[p.size], less=options[p.size] - 1) for p, text in counts]
            extents[position] = (
                made[0] if len(made) == 1 else " * ".join(f"({m})" if "//" in m else m for m in made)
            )
            changed = True
    return f"({', '.join(extents)}{',' if len(extents) == 1 else ''})" if changed else ""


def _asks_for_sizes(kernel: Kernel, launch: Launch) -> bool:
    """Whether a launch's grid is a function that is asked with its sizes."""
    data = data_of(kernel).decode("utf-8", "replace")
    written = re.search(r"\[\s*(lambda\b|\w+\s*\])", source_of(kernel).text(launch.span))
    name = written[1].rstrip("] \n") if written is not None else ""
    return name == "lambda" or bool(name and re.search(rf"\b{name}\s*=\s*lambda\b|\bdef {name}\(\w", data))


def _counts(
    kernel: Kernel, launch: Launch, tiles: Tiles, places: list[Place], extent: str
) -> list[tuple[Place, str]]:
    """The factors of a grid's extent, each with the place whose tiles it counts. Refused where it is anything else."""
    waiting, counts = list(places), list[tuple[Place, str]]()
    factors = _factors(extent)
    for factor in factors:
        tried = [(p, attempt(partial(_tiles_up_to, kernel, launch, tiles, p, factor))) for p in waiting]
        fits = [(place, text) for place, text in tried if not isinstance(text, Refusal)]
        if tried and not fits and isinstance(tried[0][1], Refusal):
            raise tried[0][1]
        if fits:
            waiting.remove(fits[0][0])
            counts.append(fits[0])
    if waiting or len(counts) < len(factors):
        raise Refusal(
            f"the grid in line {launch.span.first_line} does not count the tiles of {places[0].size} alone"
        )
    return counts


def _factors(extent: str) -> list[str]:
    """The factors of a product as it is written."""
    try:
        tree = ast.parse(extent, mode="eval").body
    except SyntaxError:
        return [extent]
    waiting, factors = [tree], list[str]()
    while waiting:
        match waiting.pop(0):
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                waiting[:0] = [left, right]
            case factor:
                factors.append(ast.unparse(factor))
    return factors


def _tiles_up_to(kernel: Kernel, launch: Launch, tiles: Tiles, place: Place, extent: str) -> str:
    """The grid's extent, which has to be the number of tiles up to the bound of a place: as text with `{size}` for the
    size of a tile and `{less}` for one less.
    """
    line, bound = launch.span.first_line, tiles.bounds[place]
    refusal = Refusal(f"the grid in line {line} is not the number of tiles of {place.size} up to {bound}")
    names = [p.name for p in kernel.parameters]
    if not isinstance(bound, Var) or bound.name not in names:
        raise refusal
    argument = launch.arguments[names.index(bound.name)]
    definitions = {**launch.definitions, place.size: launch.options[place.size]}
    size = constant(launch.options[place.size], launch.definitions)
    try:
        tree = ast.parse(extent, mode="eval").body
    except SyntaxError:
        raise refusal from None
    match tree:
        case ast.Call(func=function, args=[number, by]) if ast.unparse(function).rpartition(".")[2] == "cdiv":
            same = _is_same(ast.unparse(number), argument, launch)
            written = f"{ast.unparse(function)}({ast.unparse(number)}, {{size}})"
        case ast.BinOp(left=above, op=ast.FloorDiv(), right=by):
            # `(n + SIZE - 1) // SIZE`: what stands above is SIZE - 1 for 0, and SIZE for 1.
            ends = [constant(_with_number(above, n, argument, launch), definitions) for n in (0, 1)]
            same = size is not None and ends == [size - 1, size]
            written = f"({argument} + {{less}}) // {{size}}"
        case _:
            raise refusal
    spellings = (place.size, launch.options[place.size])
    if not same or not (
        ast.unparse(by) in spellings or None is not constant(ast.unparse(by), definitions) == size
    ):
        raise refusal
    return written


def _with_number(tree: ast.expr, number: int, argument: str, launch: Launch) -> str:
    """An expression with a number in the place of what the launch gives."""

    class Replaced(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            here = isinstance(node, ast.expr) and _is_same(ast.unparse(node), argument, launch)
            return ast.Constant(number) if here else self.generic_visit(node)

    return ast.unparse(Replaced().visit(copy.deepcopy(tree)))


def _is_same(one: str, other: str, launch: Launch) -> bool:
    """Whether two expressions of the launcher are one, as far as its definitions tell."""
    if one == other:
        return one not in launch.unsettled
    texts = [launch.definitions.get(text, text) for text in (one, other)]
    return texts[0] == texts[1] and not {one, other} & set(launch.unsettled)


def _scaled(launch: Launch, tiles: Tiles, options: Mapping[str, int], present: Mapping[str, int]) -> str:
    """The grid as what it was before says, for a launch that cannot be read; "" where it stays."""
    extents = [f"grid.{axis}" for axis, _ in zip(_AXES, launch.grid, strict=False)]
    for place in tiles.bounds:
        if not place.of_grid or place.size not in options:
            continue
        if not isinstance(place.by, Var):
            return ""  # How many tiles of each axis there were is not told by their product.
        old, new = present[place.size], options[place.size]
        if old != new:
            extents[_AXES.index(place.axis)] = f"ceil_div(grid.{place.axis} * {old}, {new})"
    same = all(extent == f"grid.{axis}" for axis, extent in zip(_AXES, extents, strict=False))
    return "" if same else f"[{', '.join(extents)}]"
