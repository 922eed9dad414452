"""Pass elements that are counted by one flat index from one order to another through a padded tile in shared memory.

Before:
    if (i < n) { int w = i % W, c = i / W % C, b = i / (W * C); out[(b * W + w) * C + c] = in[i]; }
After: blocks load 32 x 32 elements in the order in which they lie, wait, and store them in the order in which they are
to lie. The flat index is taken apart as `(outer * count + digit) * inner + rest`, where neighbours of `digit` lie side
by side where those of `i` lie apart; each number is some element's, so that all are moved once whatever the extents
are. Where all places go on by the same amounts within a tile, they are worked out once for its first element. Each
launch gets a block for each tile; a grid that is not changed gives the same result.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial

from tree_sitter import Node

from kernel_gate.expr.polynomials import Polynomial, polynomial
from kernel_gate.expr.terms import Num, Op, Term, variables
from kernel_lineage.code.cuda.read import read_open
from kernel_lineage.code.model import Access as Touch
from kernel_lineage.code.types import dtype_bytes
from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import contains, text_of
from kernel_lineage.kernels.cuda_indexing import Access, indexing
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.blocks_at_launch import blocks_changed, launches_of, whole_warps
from kernel_lineage.rewrite.assists.digit_steps import digit_of, divided
from kernel_lineage.rewrite.assists.element_work import ElementWork, work_of
from kernel_lineage.rewrite.assists.hidden_reads import check_hidden_reads
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    descendants,
    fresh_name,
    indent_at,
    indent_unit,
    newline_of,
    replace_between,
    syntax_of,
)
from kernel_lineage.rewrite.assists.loop_changes import changed_in
from kernel_lineage.rewrite.assists.loop_over_grid import dropped
from kernel_lineage.rewrite.assists.model import Assist, Refusal, with_alternatives
from kernel_lineage.rewrite.assists.moved_element import (
    Moved,
    element_kind,
    moved_by,
    on_one_line,
    padded_row,
)
from kernel_lineage.rewrite.assists.neighbour_steps import ELEMENT, over_element
from kernel_lineage.rewrite.assists.template_types import dtypes_meant
from kernel_lineage.rewrite.assists.term_text import c_text
from kernel_lineage.rewrite.assists.thread_order import GLOBAL
from kernel_lineage.rewrite.assists.tile_places import TilePlaces, tile_places
from kernel_lineage.rewrite.candidate import Candidate

_SIDES = (32, 64)
"""Places of a tile along each axis; 64 elements of two bytes fill a line of 128 bytes."""
_PLACE = re.compile(r"threadIdx|blockIdx|blockDim|gridDim")


@dataclass(frozen=True, slots=True)
class _Digit:
    """A part of the flat index: `i / inner % count`."""

    inner: Term
    count: str
    """As code; "" for what is left of the index above `inner`."""
    values: Polynomial | None
    """How many values it has; None where that is no whole number of them."""


@dataclass(frozen=True, slots=True)
class _Permuted:
    """What passes through the tile."""

    digit: _Digit
    node: Node
    """The value that is stored, or the load in it that runs across."""
    kind: str
    stores_along: bool
    """The store runs along the flat index, and the load across it."""


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    syntax = syntax_of(kernel)
    work = work_of(kernel, syntax)
    if work.returns or len(re.findall(r"\bthreadIdx\b", text_of(syntax.entry.node))) > 1:
        raise Refusal(
            f"{kernel.name} does more with its thread than to move the element of `{work.index.name}`"
        )
    check_hidden_reads(kernel, syntax, _PLACE, "its thread")
    moved = moved_by(kernel, [*work.before, *work.inner], in_steps=True)
    permuted = _permuted(kernel, syntax, moved)
    threads = min(whole_warps(kernel, launch) for launch in launches_of(kernel))
    sides = [s for s in _SIDES if threads % s == 0]
    wide = max(map(dtype_bytes, dtypes_meant(kernel, permuted.kind))) < 4
    return with_alternatives(
        sorted(sides, reverse=wide), lambda side: _passed(kernel, syntax, work, moved, permuted, side)
    )


def _permuted(kernel: Kernel, syntax: CudaSyntax, moved: Moved) -> _Permuted:
    """What has to pass through a tile. Refused where not one access runs along the index and one across it."""
    touches = {t.at: t for t in read_open(kernel).accesses if t.space == "global"}
    accesses = [a for a in indexing(syntax.entry).accesses if a.space in ("global", "unknown")]
    stores = [a for a in accesses if a.writes]
    if len(stores) != 1 or not contains(moved.target, stores[0].node):
        raise Refusal("there is not one store of what was loaded")
    if any(a.root == stores[0].root for a in accesses if not a.writes):
        raise Refusal(f"`{stores[0].root}` is read as well as written")
    steady = _steady(kernel, syntax)
    digits: list[tuple[Access, _Digit]] = []
    along: list[Access] = []
    for access in accesses:
        touch = touches.get((access.node.start_byte, access.node.end_byte))
        if touch is None or touch.offset is None or touch.loops or touch.nbytes <= 0:
            continue
        place = over_element(touch.offset, polynomial(GLOBAL))
        if polynomial(place).get((ELEMENT,)) == touch.nbytes:
            along.append(access)
        elif (digit := _digit_beside(place, touch, steady)) is not None:
            digits.append((access, digit))
    loads_along = [a for a in along if not a.writes]
    if len(digits) != 1 or not along or (not digits[0][0].writes and stores[0] not in along):
        raise Refusal("not one access runs along the flat index and one across it")
    access, digit = digits[0]
    if access.writes and not loads_along:
        raise Refusal("what is stored across the flat index is not loaded along it")
    kind = element_kind(kernel, access)
    if not kind:
        raise Refusal(f"the type of `{text_of(access.node)}` is not told")
    node = moved.value if access.writes else access.node
    if any(n.type in ("assignment_expression", "update_expression") for n in descendants(node)):
        raise Refusal(f"`{text_of(node)}` changes something on the way")
    return _Permuted(digit, node, kind, stores_along=not access.writes)


def _steady(kernel: Kernel, syntax: CudaSyntax) -> set[str]:
    """The arguments that keep their values."""
    changed = changed_in(syntax, syntax.entry.node)
    return {p.name for p in kernel.parameters if not p.pointer} - changed


def _digit_beside(place: Term, touch: Touch, steady: set[str]) -> _Digit | None:
    """The part of the flat index whose next value is a buffer's next element, where that is not all of the place."""
    whole = polynomial(place)
    if len([m for m in whole if m]) < 2:
        return None  # A value of the digit's own, such as its scale, is cheap in either order.
    for monomial, coefficient in whole.items():
        if coefficient == touch.nbytes and len(monomial) == 1 and isinstance(monomial[0], Op):
            parts = digit_of(monomial[0])
            if parts is None or parts[0] == Num(1):
                continue
            inner, above, below = parts
            terms = [t for t in (inner, above, below) if t is not None]
            if all(set(variables(t)) <= steady for t in terms):
                values = divided(polynomial(above), polynomial(below)) if above is not None else None
                return _Digit(inner, _count(above, below), values)
    return None


def _count(above: Term | None, below: Term) -> str:
    if above is None:
        return ""
    if below == Num(1):
        return c_text(above, wide=True)
    return f"({c_text(above, wide=True)} + ({c_text(below, wide=True)}) - 1) / ({c_text(below, wide=True)})"


def _passed(
    kernel: Kernel, syntax: CudaSyntax, work: ElementWork, moved: Moved, permuted: _Permuted, side: int
) -> Candidate:
    threads = [whole_warps(kernel, launch) for launch in launches_of(kernel)]
    grids = [
        blocks_changed(kernel, launch, partial(_fewer, by=side * side // threads[n]))
        for n, launch in enumerate(kernel.launches)
    ]
    lines = _lines(kernel, syntax, work, moved, permuted, side)
    margin, newline = indent_at(data_of(kernel), work.first), newline_of(data_of(kernel))
    text = newline.join([lines[0], *(margin + line for line in lines[1:])])
    return ASSIST.candidate(
        kernel,
        [
            dropped(kernel, work.index.node),
            replace_between(kernel, work.first, work.end, text),
            *dict.fromkeys(e for e in grids if e is not None),
        ],
        explanation=f"Blocks pass {side}x{side} elements through a tile in shared memory; loads and stores both run "
        "along what lies side by side.",
    )


def _fewer(blocks: str, *, by: int) -> str:
    return f"({blocks} + {by - 1}) / {by}" if by > 1 else blocks


def _lines(
    kernel: Kernel, syntax: CudaSyntax, work: ElementWork, moved: Moved, permuted: _Permuted, side: int
) -> list[str]:
    unit, taken = indent_unit(kernel), identifiers_in(syntax.entry.node)
    tile, lane, line, n, at = (fresh_name(w, taken) for w in ("tile", "lane", "line", "n", "at"))
    inner, count, across, down, layers, block = (
        fresh_name(w, taken) for w in ("inner", "count", "across", "down", "layers", "block")
    )
    rest, digit, outer, start = (fresh_name(w, taken) for w in ("rest", "digit", "outer", "start"))
    bound = text_of(work.bound)
    padded = padded_row(kernel, permuted.kind, side)
    kind = work.type.removeprefix("const ")

    digits = permuted.digit
    names = {tile, lane, line, n, at, inner, count, across, down, layers, block, rest, digit, outer, start}
    places = (
        tile_places(
            kernel,
            moved,
            work.index.name,
            digits.inner,
            digits.values,
            _steady(kernel, syntax),
            taken | names,
        )
        if digits.values is not None or not digits.count
        else None
    )

    def phase(along_index: bool, stores: bool) -> list[str]:
        high, wide = (n, lane) if along_index else (lane, n)
        held = f"{tile}[{n}][{lane}]" if along_index else f"{tile}[{lane}][{n}]"
        body = _moving(moved, permuted, places, held, (high, wide), stores=stores)
        index = f"{work.type} {work.index.name} = ({kind}){at};"
        return [
            f"{unit}#pragma unroll 4",
            f"{unit}for (int {n} = {line}; {n} < {side}; {n} += blockDim.x / {side}) {{",
            f"{2 * unit}const long long {at} = {start} + {high} * {inner} + {wide};",
            f"{2 * unit}if ({wide} < {inner} - {rest} && {high} < {count} - {digit} && {at} < {bound}) {{",
            *(3 * unit + text for text in ([] if places is not None else [index]) + body),
            f"{2 * unit}}}",
            f"{unit}}}",
        ]

    total = digits.count or f"({bound} + {inner} - 1) / {inner}"
    return [
        f"// Tiles of {side} x {side}: along what lies side by side before, and along what does afterwards.",
        f"__shared__ {permuted.kind} {tile}[{side}][{padded}];",
        f"const int {lane} = threadIdx.x % {side}, {line} = threadIdx.x / {side};",
        f"const long long {inner} = {c_text(digits.inner, wide=True)};",
        f"const long long {count} = {total};",
        f"const long long {across} = ({inner} + {side - 1}) / {side};",
        f"const long long {down} = ({count} + {side - 1}) / {side};",
        f"const long long {layers} = ({bound} + {inner} * {count} - 1) / ({inner} * {count});",
        f"for (long long {block} = blockIdx.x; {block} < {layers} * {across} * {down}; {block} += gridDim.x) {{",
        f"{unit}const long long {rest} = {block} % {across} * {side};",
        f"{unit}const long long {digit} = {block} / {across} % {down} * {side};",
        f"{unit}const long long {outer} = {block} / ({across} * {down});",
        f"{unit}const long long {start} = ({outer} * {count} + {digit}) * {inner} + {rest};",
        *(unit + text for text in _first(work, places, f"({kind}){start}")),
        *phase(not permuted.stores_along, stores=False),
        f"{unit}__syncthreads();",
        *phase(permuted.stores_along, stores=True),
        f"{unit}__syncthreads();",
        "}",
    ]


def _first(work: ElementWork, places: TilePlaces | None, start: str) -> list[str]:
    """What works out the places of a tile's first element."""
    return [f"{work.type} {work.index.name} = {start};", *places.first] if places is not None else []


def _moving(
    moved: Moved,
    permuted: _Permuted,
    places: TilePlaces | None,
    held: str,
    steps: tuple[str, str],
    *,
    stores: bool,
) -> list[str]:
    """What loads an element into the tile, or stores it from there."""
    node = permuted.node

    def written(part: Node, old: Node | None = None) -> str:
        return places.written(part, *steps, old, held) if places is not None else on_one_line(part, old, held)

    declared = moved.declared if places is None else places.kept
    if not stores:
        return [
            *(written(d) for d in declared if d.end_byte <= node.start_byte),
            f"{held} = {written(node)};",
        ]
    there = [written(d, node) for d in declared]
    return [*there, f"{written(moved.target)} = {written(moved.value, node)};"]


ASSIST = Assist(
    title="Permute through a tile in shared memory",
    skill="permuted-shared-tile",
    pattern="strided_access",
    make=_rewrite,
)
