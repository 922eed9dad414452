"""Pass elements from one order to the other through a padded tile in shared memory: a transpose, and its like.

Before:
    if (x < cols && y < rows) { out[x * rows + y] = in[y * cols + x]; }
After: a block loads its elements in the order in which they lie, waits, and stores them in the order in which they are
to lie; each thread stores what another one has loaded. Either the load or the store ran across rows before, one sector
for each thread.

The block's extents are taken from the launch, and asked for at run time: blocks of another shape take the old code.
"""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

from kernel_lineage.code.types import DTYPES, dtype_bytes
from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_access import Access
from kernel_lineage.kernels.cuda_forms import Variable, bare, contains, operator_of, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.source import Kernel, Span
from kernel_lineage.rewrite.assists.layout import (
    descendants,
    fresh_name,
    identifiers_in,
    indent_at,
    indent_unit,
    newline_of,
    statements_of,
    syntax_of,
)
from kernel_lineage.rewrite.assists.loop_changes import is_of_the_language
from kernel_lineage.rewrite.assists.model import Assist, Refusal
from kernel_lineage.rewrite.assists.thread_order import ThreadOrder
from kernel_lineage.rewrite.assists.transpose_examples import APPLIES, REFUSES
from kernel_lineage.rewrite.candidate import Candidate, Edit
from kernel_lineage.skills.kernel_facts import constant
from kernel_lineage.workloads.constants import constants_of

_LARGEST_TILE = 48 * 1024
"""Bytes that a static shared array may have."""


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
    declared: list[Node]
    store: Node
    target: Node
    value: Node


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate | Refusal:
    syntax = syntax_of(kernel)
    if syntax is None or kernel.source is None:
        return Refusal(f"{kernel.name} does not parse completely")
    extents = _extents(kernel)
    if isinstance(extents, Refusal):
        return extents
    work = _work(kernel, syntax, extents)
    if isinstance(work, Refusal):
        return work
    way = _exchanged(syntax, work)
    if isinstance(way, Refusal):
        return way
    stored = kernel.parameter(text_of(work.target.child_by_field_name("argument")))
    if stored is None or stored.dtype is None or not stored.pointer:
        return Refusal(f"the type of `{text_of(work.target)}` is not told")
    kind = next(
        (t for t in (stored.type.replace("__restrict__", "").replace("*", "").strip(),) if t in DTYPES), ""
    )
    size = dtype_bytes(stored.dtype)
    wide, high = extents
    padded = wide + max(1, 4 // size)
    if not kind or padded * high * size > _LARGEST_TILE:
        return Refusal(f"a tile of {high} rows of {wide} `{stored.type}` is not made")
    edit = _written(kernel, syntax, work, (wide, high, padded), kind, loads_exchanged=way == "load")
    return ASSIST.candidate(
        kernel,
        [edit],
        explanation=f"Blocks of {wide}x{high} threads pass their elements through a tile in shared memory; loads and "
        "stores both run along rows. Blocks of another shape take the old code.",
        guarded=True,
    )


def _extents(kernel: Kernel) -> tuple[int, int] | Refusal:
    """The threads of a block along x and y, where all launches of the file agree."""
    known = constants_of(kernel)
    found: set[tuple[int, int]] = set()
    for launch in kernel.launches:
        block = [constant(e, {**known, **launch.definitions}) for e in (*launch.block, "1", "1")[:3]]
        if block[0] is None or block[1] is None or block[2] != 1:
            return Refusal(f"the launch in line {launch.span.first_line} does not tell its block as numbers")
        found.add((block[0], block[1]))
    if len(found) != 1:
        return Refusal(f"the block that {kernel.name} is launched with is not told in this file")
    wide, high = found.pop()
    if wide < 8 or high < 8 or wide % high or wide * high > 1024:
        return Refusal(f"blocks of {wide}x{high} threads cannot exchange runs of elements that fill a sector")
    return wide, high


def _work(kernel: Kernel, syntax: CudaSyntax, extents: tuple[int, int]) -> _Work | Refusal:
    order = ThreadOrder(kernel, syntax)
    body = syntax.entry.node.child_by_field_name("body")
    statements = statements_of(body) if body is not None else []
    index: dict[str, Variable] = {}
    for axis, extent in zip("xy", extents, strict=True):
        for v in syntax.entry.variables:
            if v.value is not None and order.is_global_along(text_of(v.value), axis, extent):
                index.setdefault(axis, v)
    if len(index) != 2:
        return Refusal(f"{kernel.name} has no index for each of the axes x and y of its grid")
    if syntax.entry.loops or any(v.shared for v in syntax.entry.variables):
        return Refusal(f"{kernel.name} does more than to move one element for each thread")
    last = max(v.node.end_byte for v in index.values())
    behind = [s for s in statements if s.start_byte >= last]
    if not behind:
        return Refusal(f"{kernel.name} does nothing behind its indices")
    guard = next((s for s in behind if s.type == "if_statement"), None)
    test, inner, first, end = "true", behind, behind[0], behind[-1].end_byte
    if guard is not None:
        clause = guard.child_by_field_name("condition")
        said = clause.child_by_field_name("value") if clause is not None else None
        then = guard.child_by_field_name("consequence")
        before, rest = behind[: behind.index(guard)], behind[behind.index(guard) + 1 :]
        if said is None or then is None or guard.child_by_field_name("alternative") is not None:
            return Refusal(f"what `{kernel.name}` does is not behind one check of its bounds")
        returns = [text_of(s).replace(" ", "") for s in statements_of(then)] == ["return;"]
        if bool(rest) != returns:
            return Refusal(f"what `{kernel.name}` does is not behind one check of its bounds")
        test = f"!({text_of(said)})" if returns else text_of(said)
        inner, end = rest if returns else statements_of(then), max(guard.end_byte, behind[-1].end_byte)
        if before:
            return Refusal(f"`{text_of(before[0])}` stands before the check of the bounds; put it behind")
    refusal = _fixed(syntax, index, first, end)
    if refusal is not None:
        return refusal
    *declared, store = inner
    assignment = bare(store.named_children[0]) if store.type == "expression_statement" else None
    if (
        assignment is None
        or assignment.type != "assignment_expression"
        or operator_of(assignment) != "="
        or any(d.type != "declaration" for d in declared)
    ):
        return Refusal(f"the work of {kernel.name} is not to declare values and to store one of them")
    target, value = assignment.child_by_field_name("left"), assignment.child_by_field_name("right")
    if target is None or value is None or target.type != "subscript_expression":
        return Refusal(f"`{text_of(target)}` is not an element of a pointer")
    for part in inner:
        for node in descendants(part):
            called = text_of(node.child_by_field_name("function")) if node.type == "call_expression" else ""
            if (called and not is_of_the_language(called)) or called.startswith("atomic"):
                return Refusal(f"`{called}` is called, and may do more than to compute a value")
            changes = node.type == "update_expression" or (
                node.type == "assignment_expression" and node != assignment
            )
            if changes:
                return Refusal(f"`{text_of(node)}` changes something on the way")
    return _Work(index["x"], index["y"], first, end, test, declared, store, target, value)


def _fixed(syntax: CudaSyntax, index: dict[str, Variable], first: Node, end: int) -> Refusal | None:
    """Why a thread that is given other values of its indices would not do what the thread of those does."""
    names = {v.name for v in index.values()}
    nodes = list(descendants(syntax.entry.node))
    for node in nodes:
        if node.type in ("assignment_expression", "update_expression"):
            target = node.child_by_field_name("left") or node.child_by_field_name("argument")
            if text_of(target) in names:
                return Refusal(f"`{text_of(target)}` is changed")
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
            return Refusal(f"`{text_of(node)}` tells the work which thread does it, beside the indices")
    return None


def _exchanged(syntax: CudaSyntax, work: _Work) -> str | Refusal:
    """Which of the two, `load` or `store`, the threads do at exchanged places, so that both run along rows."""
    accesses = [a for a in indexing(syntax.entry).accesses if a.space in ("global", "unknown")]
    stores = [a for a in accesses if a.writes]
    read = [a for a in accesses if not a.writes]
    # What moves along one axis only is a row's or a column's own value, cheap in either order.
    loads = [a for a in read if a.index.get("x") and a.index.get("y")]
    if len(stores) != 1 or not contains(work.target, stores[0].node) or not loads:
        return Refusal("there is not one store of what was loaded")
    if any(a.root == stores[0].root for a in read):
        return Refusal(f"`{stores[0].root}` is read as well as written")
    for way, stored, loaded in (("store", "y", "x"), ("load", "x", "y")):
        if _along(stores[0], stored) and all(_along(a, loaded) for a in loads):
            return way
    return Refusal("it is not known that one of load and store runs along x, and the other one along y")


def _along(access: Access, axis: str) -> bool:
    other = "y" if axis == "x" else "x"
    return access.index.get(axis) == 1 and access.index.get(other) not in (0, 1, None)


def _written(
    kernel: Kernel,
    syntax: CudaSyntax,
    work: _Work,
    sizes: tuple[int, int, int],
    kind: str,
    *,
    loads_exchanged: bool,
) -> Edit:
    assert kernel.source is not None
    data, unit = kernel.source.data, indent_unit(kernel)
    margin, newline = indent_at(data, work.first.start_byte), newline_of(data)
    wide, high, padded = sizes
    tile = fresh_name("tile", identifiers_in(syntax.entry.node))
    linear = f"(threadIdx.y * {wide} + threadIdx.x)"
    across, down = (
        ("threadIdx.y", "threadIdx.x") if wide == high else (f"{linear} / {high}", f"{linear} % {high}")
    )
    own, other = f"{tile}[threadIdx.y][threadIdx.x]", f"{tile}[{down}][{across}]"
    exchanged = [
        f"{work.x.type} {work.x.name} = blockIdx.x * {wide} + {across};",
        f"{work.y.type} {work.y.name} = blockIdx.y * {high} + {down};",
    ]
    needed = _needed(work)
    load = [*(" ".join(text_of(d).split()) for d in work.declared)]
    load.append(f"{other if loads_exchanged else own} = {text_of(work.value)};")
    store = [*(" ".join(text_of(d).split()) for d in needed)]
    store.append(f"{text_of(work.target)} = {own if loads_exchanged else other};")

    def phase(lines: list[str], exchange: bool) -> list[str]:
        guarded = [f"if ({work.test}) {{", *(unit + line for line in lines), "}"]
        return ["{", *(unit + line for line in (*exchanged, *guarded)), "}"] if exchange else guarded

    old = data[work.first.start_byte : work.end].decode().splitlines()
    lines = [
        f"if (blockDim.x == {wide} && blockDim.y == {high}) {{",
        f"{unit}// One more column, so that a column of the tile lies in different banks.",
        f"{unit}__shared__ {kind} {tile}[{high}][{padded}];",
        *(unit + line for line in phase(load, loads_exchanged)),
        f"{unit}__syncthreads();",
        *(unit + line for line in phase(store, not loads_exchanged)),
        "} else {",
        *(unit + (line.removeprefix(margin)) for line in old),
        "}",
    ]
    span = Span(
        work.first.start_byte,
        work.end,
        work.first.start_point.row + 1,
        data.count(b"\n", 0, work.end) + 1,
    )
    return Edit(span, newline.join(lines[:1] + [margin + line for line in lines[1:]]))


def _needed(work: _Work) -> list[Node]:
    """The declarations that the place of the store is computed from."""
    wanted = identifiers_in(work.target)
    needed: list[Node] = []
    for declaration in reversed(work.declared):
        names = {text_of(n) for n in descendants(declaration) if n.type == "identifier"}
        declares = {
            text_of(d.child_by_field_name("declarator"))
            for d in descendants(declaration)
            if d.type == "init_declarator"
        }
        if declares & wanted:
            needed.insert(0, declaration)
            wanted |= names
    return needed


ASSIST = Assist(
    id="transpose_through_tile",
    title="Transpose through a tile in shared memory",
    skill="transposed-shared-tile",
    pattern="strided_access",
    rewrite=_rewrite,
    applies=APPLIES,
    refuses=REFUSES,
)
