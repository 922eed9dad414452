"""Pass elements from one order to the other through a padded tile in shared memory: a transpose, and its like.

Before:
    if (x < cols && y < rows) { out[x * rows + y] = in[y * cols + x]; }
After: a block of 256 threads loads 64 x 64 elements in the order in which they lie, waits, and stores them in the order
in which they are to lie; each thread stores what others have loaded. Either the load or the store ran across rows
before, one sector for each thread. Where some loads run along the rows of the store and one runs across them, that one
alone passes through the tile. Each launch gets a block for each tile.

The candidate's alternative is a tile of 32 x 32, which makes four times as many blocks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tree_sitter import Node

from kernel_gate.expr.terms import Num
from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import (
    Variable,
    changed_by,
    contains,
    declarators,
    test_of,
    text_of,
)
from kernel_lineage.kernels.cuda_indexing import Access, indexing
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import (
    data_of,
    descendants,
    fresh_name,
    indent_at,
    indent_unit,
    newline_of,
    replace_between,
    statements_of,
    syntax_of,
)
from kernel_lineage.rewrite.assists.model import Assist, Refusal
from kernel_lineage.rewrite.assists.moved_element import (
    Moved,
    element_kind,
    moved_by,
    on_one_line,
    padded_row,
)
from kernel_lineage.rewrite.assists.product_launch import Blocks, tiled_launches
from kernel_lineage.rewrite.assists.products import block_extents_of
from kernel_lineage.rewrite.assists.thread_order import ThreadOrder
from kernel_lineage.rewrite.candidate import Candidate, Edit

_SIDES = (64, 32)
"""Places of a tile along each axis. 64 elements of two bytes fill a line of 128 bytes."""
_THREADS = 256


_OF_PLACE = re.compile(r"threadIdx|blockIdx(?!\s*\.\s*z)|blockDim|gridDim")


@dataclass(frozen=True, slots=True)
class _Work:
    """What a thread does for its place in the grid: declarations, then one store."""

    x: Variable
    y: Variable
    first: Node
    """The statement that the new code takes the place of."""
    end: int
    test: str
    """What holds where the work is done."""
    moved: Moved


@dataclass(frozen=True, slots=True)
class _Passing:
    """What passes through the tile."""

    node: Node
    """The value that is stored, or one of the loads in it."""
    kind: str
    """The type of the tile's elements."""
    exchanged: bool
    """Neighbouring threads load what is neighbouring along y; else they store it so."""


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    syntax = syntax_of(kernel)
    extents = _extents(kernel)
    work = _work(kernel, syntax, extents)
    passing = _passing(kernel, syntax, work)
    made: list[Candidate] = []
    for side in _SIDES:
        launches = tiled_launches(kernel, {"x": side, "y": side}, Blocks(_THREADS))
        candidate = ASSIST.candidate(
            kernel,
            [*_written(kernel, syntax, work, passing, side), *launches],
            explanation=f"Blocks of {_THREADS} threads pass {side}x{side} elements through a tile in shared memory; "
            "loads and stores both run along rows.",
        )
        made.append(candidate)
    return replace(made[0], alternatives=tuple(made[1:]))


def _extents(kernel: Kernel) -> tuple[int, int]:
    """The threads of a block along x and y, where all launches of the file agree."""
    extents = block_extents_of(kernel)
    match extents["x"], extents["y"]:
        case Num(x), Num(y):
            return x, y
    raise Refusal(f"a launch of {kernel.name} does not tell its block as numbers that all launches share")


def _work(kernel: Kernel, syntax: CudaSyntax, extents: tuple[int, int]) -> _Work:
    order = ThreadOrder(kernel, syntax)
    statements = statements_of(syntax.entry.node.child_by_field_name("body"))
    index: dict[str, Variable] = {}
    for axis, extent in zip("xy", extents, strict=True):
        for v in syntax.entry.variables:
            if v.value is not None and order.is_global_along(v.value, axis, extent):
                index.setdefault(axis, v)
    if len(index) != 2:
        raise Refusal(f"{kernel.name} has no index for each of the axes x and y of its grid")
    if syntax.entry.loops or any(v.shared for v in syntax.entry.variables):
        raise Refusal(f"{kernel.name} does more than to move one element for each thread")
    last = max(v.node.end_byte for v in index.values())
    behind = [s for s in statements if s.start_byte >= last]
    if not behind:
        raise Refusal(f"{kernel.name} does nothing behind its indices")
    guard = next((s for s in behind if s.type == "if_statement"), None)
    test, inner, first, end = "true", behind, behind[0], behind[-1].end_byte
    if guard is not None:
        condition = test_of(guard)
        then = guard.child_by_field_name("consequence")
        before, rest = behind[: behind.index(guard)], behind[behind.index(guard) + 1 :]
        if condition is None or then is None or guard.child_by_field_name("alternative") is not None:
            raise Refusal(f"what `{kernel.name}` does is not behind one check of its bounds")
        returns = [text_of(s).replace(" ", "") for s in statements_of(then)] == ["return;"]
        if bool(rest) != returns:
            raise Refusal(f"what `{kernel.name}` does is not behind one check of its bounds")
        test = f"!({text_of(condition)})" if returns else text_of(condition)
        inner, end = rest if returns else statements_of(then), max(guard.end_byte, behind[-1].end_byte)
        names = {v.name for v in index.values()}
        for statement in before:
            if not _is_of_block(statement, names):
                raise Refusal(f"`{text_of(statement)}` stands before the check of the bounds; put it behind")
        first = guard
    _check_fixed(syntax, index, first, end)
    moved = moved_by(kernel, inner)
    return _Work(index["x"], index["y"], first, end, test, moved)


def _is_of_block(statement: Node, indices: set[str]) -> bool:
    """Whether a statement only declares what all threads of a layer of the grid share: `int batch = blockIdx.z;`."""
    reads = any(n.type in ("subscript_expression", "call_expression") for n in descendants(statement))
    names_place = indices & identifiers_in(statement) or _OF_PLACE.search(text_of(statement))
    return statement.type == "declaration" and not reads and not names_place


def _check_fixed(syntax: CudaSyntax, index: dict[str, Variable], first: Node, end: int) -> None:
    """Refuse work that a thread would not do alike when it is given the indices of another one."""
    names = {v.name for v in index.values()}
    nodes = list(descendants(syntax.entry.node))
    for changed in map(changed_by, nodes):
        if changed in names:
            raise Refusal(f"`{changed}` is changed")
    own = {
        v.name
        for v in syntax.entry.variables
        if v.node.end_byte <= first.start_byte
        and v.value is not None
        and v.name not in names
        and identifiers_in(v.value) & (names | {"threadIdx"})
    }
    for node in nodes:
        inside = node.type == "identifier" and first.start_byte <= node.start_byte < end
        if inside and text_of(node) in own | {"threadIdx", "blockIdx", "blockDim"}:
            raise Refusal(f"`{text_of(node)}` tells the work which thread does it, beside the indices")


def _passing(kernel: Kernel, syntax: CudaSyntax, work: _Work) -> _Passing:
    """What passes through the tile, so that loads and the store all run along rows."""
    accesses = [a for a in indexing(syntax.entry).accesses if a.space in ("global", "unknown")]
    stores = [a for a in accesses if a.writes]
    read = [a for a in accesses if not a.writes]
    # What moves along one axis only is a row's or a column's own value, cheap in either order.
    loads = [a for a in read if a.index.get("x") and a.index.get("y")]
    if len(stores) != 1 or not contains(work.moved.target, stores[0].node) or not loads:
        raise Refusal("there is not one store of what was loaded")
    if any(a.root == stores[0].root for a in read):
        raise Refusal(f"`{stores[0].root}` is read as well as written")
    for stored, across in (("y", "x"), ("x", "y")):
        other = [a for a in loads if _along(a, across)]
        with_it = [a for a in loads if _along(a, stored)]
        if not _along(stores[0], stored) or len(other) + len(with_it) != len(loads) or not other:
            continue
        if with_it and len(other) > 1:
            raise Refusal("several loads run across the rows of the store, and others along them")
        passed, node = (other[0], other[0].node) if with_it else (stores[0], work.moved.value)
        kind = element_kind(kernel, passed)
        if not kind:
            raise Refusal(f"the type of `{text_of(passed.node)}` is not told")
        return _Passing(node, kind, exchanged=across == "y")
    raise Refusal("it is not known that one of load and store runs along x, and the other one along y")


def _along(access: Access, axis: str) -> bool:
    other = "y" if axis == "x" else "x"
    return access.index.get(axis) == 1 and access.index.get(other) not in (0, 1, None)


def _written(kernel: Kernel, syntax: CudaSyntax, work: _Work, passing: _Passing, side: int) -> list[Edit]:
    data, unit = data_of(kernel), indent_unit(kernel)
    margin, newline = indent_at(data, work.first.start_byte), newline_of(data)
    taken = identifiers_in(syntax.entry.node)
    tile, lane, line, n = (fresh_name(name, taken) for name in ("tile", "lane", "line", "n"))
    padded = padded_row(kernel, passing.kind, side)
    lines = _THREADS // side
    place = f"{line} + {n} * {lines}"
    at = {False: f"{tile}[{place}][{lane}]", True: f"{tile}[{lane}][{place}]"}

    def phase(work_lines: list[str], exchanged: bool) -> list[str]:
        along, down = (work.y, work.x) if exchanged else (work.x, work.y)
        axes = "yx" if exchanged else "xy"
        return [
            "#pragma unroll",
            f"for (int {n} = 0; {n} < {side // lines}; {n}++) {{",
            f"{unit}{along.type} {along.name} = blockIdx.{axes[0]} * {side} + {lane};",
            f"{unit}{down.type} {down.name} = blockIdx.{axes[1]} * {side} + {place};",
            f"{unit}if ({work.test}) {{",
            *(unit * 2 + text for text in work_lines),
            f"{unit}}}",
            "}",
        ]

    moved = work.moved
    whole = passing.node == moved.value
    load = [on_one_line(d) for d in (moved.declared if whole else moved.needed(passing.node))]
    load.append(f"{at[passing.exchanged]} = {text_of(passing.node)};")
    held = at[not passing.exchanged]
    declared = moved.needed(moved.target) if whole else moved.declared
    store = [on_one_line(d, passing.node, held) for d in declared]
    store.append(f"{text_of(work.moved.target)} = {on_one_line(work.moved.value, passing.node, held)};")
    body = [
        f"// A block passes {side} x {side} elements on; padding puts a column of the tile into different banks.",
        f"__shared__ {passing.kind} {tile}[{side}][{padded}];",
        f"const int {lane} = threadIdx.x % {side}, {line} = threadIdx.x / {side};",
        *phase(load, passing.exchanged),
        "__syncthreads();",
        *phase(store, not passing.exchanged),
    ]
    text = newline.join([body[0], *(margin + line for line in body[1:])])
    return [*_dropped(kernel, syntax, work), replace_between(kernel, work.first.start_byte, work.end, text)]


def _dropped(kernel: Kernel, syntax: CudaSyntax, work: _Work) -> list[Edit]:
    """Edits that take the old indices out, where nothing else is declared with them or computed from them."""
    names = {work.x.name, work.y.name}
    nodes = {(v.node.start_byte, v.node.end_byte): v.node for v in (work.x, work.y)}
    for node in descendants(syntax.entry.node):
        outside = not (work.first.start_byte <= node.start_byte < work.end)
        declaring = any(a <= node.start_byte < b for a, b in nodes)
        if node.type == "identifier" and text_of(node) in names and outside and not declaring:
            return []
    if any({name for name, *_ in declarators(node)} - names for node in nodes.values()):
        return []
    data = data_of(kernel)
    return [replace_between(kernel, begin, len(data) - len(data[end:].lstrip()), "") for begin, end in nodes]


ASSIST = Assist(
    title="Transpose through a tile in shared memory",
    skill="transposed-shared-tile",
    pattern="strided_access",
    make=_rewrite,
)
