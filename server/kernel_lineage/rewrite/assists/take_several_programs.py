"""Let one Triton program do the work of several, where programs are numerous and each does little.

Before: `i = tl.program_id(0)`, one element, column, row or output for each program, launched on `(n,)`.
After: `program = tl.program_id(0) * SPAN + tl.arange(0, SPAN)`, all of their work at once, launched on
`(triton.cdiv(n, SPAN),)`.

The program's number becomes a block (`triton_together`). Where it is taken apart (`n = pid % N`, `m = pid // N % M`)
and products are summed that differ along two of its digits, tiles of these two are taken instead, and the sums become
`tl.dot` (`triton_digits`); a launch must show that its programs are a multiple of so many. `SPAN` and, where no
parameter says it already, `COUNT`, the number of programs there were, are parameters that every launch gives. The
candidate's alternatives are other sizes and, in a grid of several axes, other axes. Where programs share out blocks
that can be larger themselves (`triton_block_choices`), that is the shorter way along their axes; along another axis
programs are taken together if they load the same in the rounds of a loop.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.python_text import names_in
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.combine_behind_loop import with_totals_behind
from kernel_lineage.rewrite.assists.layout import data_of
from kernel_lineage.rewrite.assists.model import Assist, Refusal, attempt, with_alternatives
from kernel_lineage.rewrite.assists.triton_counts import program_counts
from kernel_lineage.rewrite.assists.triton_digits import COUNT, digits_of
from kernel_lineage.rewrite.assists.triton_lanes import narrow
from kernel_lineage.rewrite.assists.triton_many import axis_of
from kernel_lineage.rewrite.assists.triton_passes import of_original
from kernel_lineage.rewrite.assists.triton_places import (
    assignments,
    calls_of,
    check_launched_here,
    function_of,
    parameter_added,
    sources,
    stored_names,
)
from kernel_lineage.rewrite.assists.triton_tiles import Place, Tiles, tiles_of
from kernel_lineage.rewrite.assists.triton_together import names_of, taken_together
from kernel_lineage.rewrite.candidate import Candidate, Edit
from kernel_lineage.rewrite.launch_site import launch_edits, parameter_of_count
from kernel_lineage.skills.kernel_facts import constant

_ELEMENTS = ((1024, 4), (512, 4), (2048, 8))
"""Programs of one element each, and warps."""
_LOOPS = ((32, 1), (128, 4), (64, 1))
"""Programs that go round a loop, each with one value, and warps: few, for many programs are left that way."""
_WINDOWS = ((512, 4), (128, 4), (1024, 4))
"""The same where constants tell how often: windows of pooling and of convolutions, a few rounds each."""
_SIDES = ((32, 4), (64, 8), (16, 2))
"""Programs along each of two axes, and warps."""
_TILES = ((64, 4), (128, 8), (32, 4))
"""The same where the sums of programs are products of matrices."""
_DEPTH, _DEEPEST = 32, 64
"""How many products of each output are added up at a time, and how many at most: both operands lie in shared memory."""
_BLOCK = 4096
"""Elements of several programs' blocks together."""
_KEPT = (2 * _BLOCK, _BLOCK, _BLOCK // 4)
"""The same where a loop keeps that many sums, and combines them behind its last round."""


@dataclass(frozen=True, slots=True)
class _Choice:
    spans: Mapping[int, int]
    """Axis of the grid → how many programs along it are taken together."""
    warps: int
    options: Mapping[str, str] = field(default_factory=dict)
    """What else the launch says."""


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    function = function_of(kernel)
    check_launched_here(kernel, "gives it its sizes")
    axes = sorted({axis_of(call) for call in calls_of(function, "program_id")})
    counts = [program_counts(kernel, launch) for launch in kernel.launches]
    if not axes or any(len(extents) != len(axes) or axes[-1] >= len(extents) for extents in counts):
        raise Refusal(
            f"a launch of {kernel.name} does not tell how many programs it starts for each axis asked for"
        )
    if larger := _shared_out(kernel):
        taken = {"xyz".index(p.axis) for p in larger}
        axes = [a for a in axes if a not in taken and _loads_again(function, a)]
        if not axes:
            raise Refusal(f"{larger[0].size}, the programs' own block, can be of another size itself")
    choices = _choices(kernel, function, axes)
    products = attempt(lambda: _products(kernel, function, counts))
    if not isinstance(products, Refusal):
        others = attempt(lambda: _together(kernel, function, choices[0], counts))
        return replace(
            products,
            alternatives=(*products.alternatives, *([others] if isinstance(others, Candidate) else [])),
        )
    if len(axes) > 1:
        depth = _depth(kernel, function)
        tiles = [_Choice(dict.fromkeys(axes[-2:], side), warps, depth) for side, warps in _TILES]
        edits = attempt(lambda: taken_together(kernel, function, names_of(function, axes[-2:], {})))
        choices = [*tiles, *choices] if not isinstance(edits, Refusal) and edits[1] else choices
    made = [attempt(partial(_together, kernel, function, choice, counts)) for choice in choices]
    candidates = [m for m in made if isinstance(m, Candidate)]
    if isinstance(made[0], Refusal) and not candidates:
        raise made[0]
    behind = _with_totals_behind(kernel, counts, axes[0]) if len(axes) == 1 else []
    listed = [*behind, *candidates[: 1 if behind else None]]
    return replace(listed[0], alternatives=tuple(listed[1:]))


def _with_totals_behind(kernel: Kernel, counts: list[tuple[str, ...]], axis: int) -> list[Candidate]:
    """Several programs whose tiles are combined behind the loop, once for all rounds; none where no loop allows it."""
    summed = with_totals_behind(kernel)
    lanes = _most_lanes(kernel, function_of(kernel))
    if summed is kernel or not lanes:
        return []
    spans = dict.fromkeys(max(2, min(128, elements // lanes)) for elements in _KEPT)
    choices = [_Choice({axis: span}, 8 if span * lanes > _BLOCK else 4) for span in spans]
    made = [attempt(partial(_together, summed, function_of(summed), choice, counts)) for choice in choices]
    return [
        replace(m, edits=tuple(of_original(kernel, summed, list(m.edits))))
        for m in made
        if isinstance(m, Candidate)
    ]


def _products(kernel: Kernel, function: ast.FunctionDef, counts: list[tuple[str, ...]]) -> Candidate:
    """Tiles of two digits of the programs' number, where sums of products become products of matrices by that."""
    digits = digits_of(kernel, function)
    edits, multiplies = taken_together(kernel, function, digits.names, digits)
    if not multiplies:
        raise Refusal(f"{kernel.name} sums no products of what two digits of its programs' number tell")
    depth = _depth(kernel, function)
    sizes = [name.size for name in digits.names.values()]
    edits += [parameter_added(kernel, function, name) for name in reversed([*sizes, COUNT])]

    def tiled(choice: tuple[int, int]) -> Candidate:
        side, warps = choice
        at_launch = list[Edit]()
        options = dict.fromkeys(sizes, str(side)) | depth
        for launch, (total,) in zip(kernel.launches, counts, strict=True):
            extents = digits.left(kernel, launch, total)
            left = [_counted(kernel, e, side) if n < len(sizes) else e for n, e in enumerate(extents)]
            fields = {"grid": f"({' * '.join(left)},)", **options, COUNT: total, "num_warps": str(warps)}
            at_launch += launch_edits(kernel, launch, fields)
        return ASSIST.candidate(
            kernel,
            [*edits, *at_launch],
            explanation=f"One program does the work of {side} by {side}, which lie side by side along two digits of "
            f"their number, launched with {warps} warps; sums are rounded in another order.",
            launch={"grid": '["grid.x"]', **options, COUNT: "grid.x", "num_warps": str(warps)},
        )

    return with_alternatives(_TILES, tiled)


def _shared_out(kernel: Kernel) -> list[Place]:
    """What programs share out in blocks whose sizes may be other ones."""
    tiles = attempt(lambda: tiles_of(kernel))
    if isinstance(tiles, Refusal):
        return []
    narrow(kernel, tiles)
    return [p for s in tiles.sizes for p in tiles.places(s) if p.of_grid]


def _loads_again(function: ast.FunctionDef, axis: int) -> bool:
    """Whether programs along an axis load the same in the rounds of a loop."""
    flow = assignments(function)
    loads = [c for loop in ast.walk(function) if isinstance(loop, ast.For) for c in calls_of(loop, "load")]
    asked = [{axis_of(p) for e in sources(c, flow)[1] for p in calls_of(e, "program_id")} for c in loads]
    return any(axis not in axes for axes in asked) and any(axis in axes for axes in asked)


def _choices(kernel: Kernel, function: ast.FunctionDef, axes: list[int]) -> list[_Choice]:
    """What is tried, the likeliest first: along the last axis places usually lie side by side."""
    if lanes := _most_lanes(kernel, function):
        most = min(128, max(2, _BLOCK // lanes))
        spans = list(dict.fromkeys((most, max(2, most // 4), min(128, most * 4))))
        return [
            _Choice({axis: span}, 8 if span * lanes > _BLOCK else 4) for span in spans for axis in axes[::-1]
        ]
    loops = [n for n in ast.walk(function) if isinstance(n, ast.For)]
    constants = {p.name for p in kernel.parameters if p.constexpr}
    short = all(constants.issuperset(_bounds(loop)) for loop in loops)
    table = _ELEMENTS if not loops else _WINDOWS if short else _LOOPS
    if len(axes) == 1:
        return [_Choice({axes[0]: span}, warps) for span, warps in table]
    sides = [_Choice(dict.fromkeys(axes[-2:], side), warps) for side, warps in _SIDES]
    alone = [_Choice({axis: table[0][0]}, table[0][1]) for axis in axes[::-1]]
    return [sides[0], *alone, *sides[1:]]


def _bounds(loop: ast.For) -> set[str]:
    """The names that tell how often a loop goes round."""
    arguments = loop.iter.args if isinstance(loop.iter, ast.Call) else [loop.iter]
    return set().union(*map(names_in, arguments))


def _most_lanes(kernel: Kernel, function: ast.FunctionDef) -> int:
    """The elements of a program's longest block; 0 where it has none."""
    blocks = [c.args[1] for c in calls_of(function, "arange") if len(c.args) == 2]
    return max((_lanes(kernel, ast.unparse(b)) for b in blocks), default=0)


def _lanes(kernel: Kernel, extent: str) -> int:
    """The elements of a block, as far as the launches tell; some number otherwise."""
    numbers = [constant(launch.options.get(extent, extent), launch.definitions) for launch in kernel.launches]
    return max((n for n in numbers if n), default=512)


def _depth(kernel: Kernel, function: ast.FunctionDef) -> dict[str, str]:
    """What the launch says of the block along a product's sum, where that is deeper than tiles may be and can be
    shorter.
    """
    blocks = {ast.unparse(c.args[1]) for c in calls_of(function, "arange") if len(c.args) == 2}
    long = {block for block in blocks if _lanes(kernel, block) > _DEEPEST}
    tiles = attempt(lambda: tiles_of(kernel)) if long else None
    if not isinstance(tiles, Tiles):
        return {}
    narrow(kernel, tiles)
    return {size: str(_DEPTH) for size in tiles.sizes if size in long}


def _together(
    kernel: Kernel, function: ast.FunctionDef, choice: _Choice, counts: list[tuple[str, ...]]
) -> Candidate:
    parameters = {axis: parameter_of_count(kernel, [row[axis] for row in counts]) for axis in choice.spans}
    if changed := set(parameters.values()) & set(stored_names(function)):
        raise Refusal(f"`{min(changed)}`, the number of programs, is changed by the kernel")
    names = names_of(
        function, sorted(choice.spans), {axis: name for axis, name in parameters.items() if name}
    )
    edits, _ = taken_together(kernel, function, names)
    added = [
        n
        for axis, name in names.items()
        for n in ((name.size,) if parameters[axis] else (name.size, name.count))
    ]
    edits += [parameter_added(kernel, function, name) for name in reversed(added)]
    for launch, row in zip(kernel.launches, counts, strict=True):
        extents = [
            _counted(kernel, extent, choice.spans[axis]) if axis in choice.spans else extent
            for axis, extent in enumerate(row)
        ]
        fields = {"grid": f"({', '.join(extents)}{',' if len(extents) == 1 else ''})"}
        for axis, name in names.items():
            fields |= {name.size: str(choice.spans[axis])} | (
                {} if parameters[axis] else {name.count: row[axis]}
            )
        edits += launch_edits(kernel, launch, {**fields, **choice.options, "num_warps": str(choice.warps)})
    grid = [
        f'"ceil_div(grid.{axis}, {choice.spans[n]})"' if n in choice.spans else f'"grid.{axis}"'
        for n, axis in enumerate("xyz"[: len(counts[0])])
    ]
    launch_fields = {"grid": f"[{', '.join(grid)}]", "num_warps": str(choice.warps), **choice.options}
    for axis, name in names.items():
        launch_fields[name.size] = str(choice.spans[axis])
        launch_fields |= {} if parameters[axis] else {name.count: f"grid.{'xyz'[axis]}"}
    size = " by ".join(str(choice.spans[axis]) for axis in sorted(choice.spans))
    return ASSIST.candidate(
        kernel,
        edits,
        explanation=f"One program does the work of {size}, launched with {choice.warps} warps; what a program combines "
        "over its own lanes is rounded in another order.",
        launch=launch_fields,
    )


def _counted(kernel: Kernel, extent: str, span: int) -> str:
    """How many programs are left, as the launcher can write it."""
    if re.search(rb"^\s*import triton\s*(#.*)?$", data_of(kernel), re.MULTILINE):
        return f"triton.cdiv({extent}, {span})"
    return f"(({extent}) + {span - 1}) // {span}"


ASSIST = Assist(
    title="Do the work of several programs in one",
    skill="triton-several-programs",
    pattern="triton_launch_options",
    make=_rewrite,
)
