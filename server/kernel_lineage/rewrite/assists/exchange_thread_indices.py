"""Let neighbouring threads of a block take neighbouring elements, by exchanging what threadIdx.x and threadIdx.y count.

Before:
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    out[row * columns + column] = factor * x[row * columns + column];
After: a square block exchanges the two, and in a block of any other shape each thread takes the place that its number
has when the block is counted along y first. Each place of the block is taken once as before, so the launch stays.
"""

from __future__ import annotations

import re

from tree_sitter import Node

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.cuda_indexing import Access, indexing
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.edits import replace_node
from kernel_lineage.kernels.linear_forms import Coefficient
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.hidden_reads import check_hidden_reads
from kernel_lineage.rewrite.assists.layout import (
    begins_line,
    data_of,
    descendants,
    fresh_name,
    indent_at,
    insert_before,
    newline_of,
    statements_of,
    syntax_of,
)
from kernel_lineage.rewrite.assists.model import Assist, Refusal
from kernel_lineage.rewrite.candidate import Candidate, Edit
from kernel_lineage.skills.kernel_facts import constant
from kernel_lineage.workloads.constants import constants_of

_BY_LANE = re.compile(
    r"__shfl|__ballot|__any_|__all_|__match|__reduce|__syncwarp|__activemask|\basm\b|cooperative_groups|\bcg::"
)
"""What depends on which threads make up a warp."""
_THREADS = re.compile(rf"threadIdx|{_BY_LANE.pattern}")
_BROADCAST, _NEIGHBOURS, _APART = 1, 4, 32
"""Sectors of 32 bytes that a warp's access of 4-byte elements touches."""


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    syntax = syntax_of(kernel)
    used = _thread_indices(kernel, syntax)
    gain = _gain(syntax)
    block = _block(kernel)
    edits = _exchanged(used) if block == "square" else _counted_along_y(kernel, syntax, used)
    return ASSIST.candidate(
        kernel,
        edits,
        explanation=f"Neighbouring threads take neighbouring elements of {gain}; grid and block stay as they are.",
    )


def _thread_indices(kernel: Kernel, syntax: CudaSyntax) -> list[Node]:
    """Every `threadIdx.x` and `threadIdx.y` of the kernel, when nothing else tells its threads apart."""
    if _BY_LANE.search(kernel.text):
        raise Refusal(
            f"{kernel.name} lets the lanes of a warp work together; which lanes those are would change"
        )
    if syntax.entry.shared_variables:
        shared = syntax.entry.shared_variables[0].name
        raise Refusal(
            f"`{shared}` in shared memory is handed from thread to thread; it would be transposed as well"
        )
    check_hidden_reads(kernel, syntax, _THREADS, "threadIdx or its lane")
    nodes: list[Node] = []
    for node in descendants(syntax.entry.node):
        if node.type != "identifier" or text_of(node) != "threadIdx":
            continue
        member = node.parent
        if member is None or member.type != "field_expression":
            raise Refusal("threadIdx is used as a whole")
        if text_of(member).replace(" ", "") in ("threadIdx.x", "threadIdx.y"):
            nodes.append(member)
    axes = {text_of(node)[-1] for node in nodes}
    if axes != {"x", "y"}:
        raise Refusal(
            f"{kernel.name} does not use both threadIdx.x and threadIdx.y: there is nothing to exchange"
        )
    return nodes


def _gain(syntax: CudaSyntax) -> str:
    """The pointers whose accesses come nearer, when a warp touches fewer sectors by it, the innermost loop first."""
    unit = syntax.entry
    depths: dict[int, list[int]] = {}
    nearer: dict[str, None] = {}
    for access in indexing(unit).accesses:
        if access.space != "global":
            continue
        before, after = _sectors(access, access.index.get("x", 0)), _sectors(access, access.index.get("y", 0))
        if before is None or after is None or {"lane", "warp", "slow"} & set(access.index):
            raise Refusal(
                f"it cannot be told which elements neighbouring threads touch in `{text_of(access.node)}`"
            )
        costs = depths.setdefault(len(unit.loops_around(access.node)), [0, 0])
        costs[0] += before
        costs[1] += after
        if before == _APART and after < before:
            nearer[access.root] = None
    if not nearer:
        raise Refusal(
            "no access moves by whole rows along threadIdx.x and by single elements along threadIdx.y"
        )
    for depth in sorted(depths, reverse=True):
        now, then = depths[depth]
        if then != now:
            if then < now:
                return ", ".join(nearer)
            break
    raise Refusal(
        f"what {', '.join(nearer)} would gain, other accesses would lose; "
        "a tile in shared memory serves both orders"
    )


def _sectors(access: Access, stride: Coefficient) -> int | None:
    """Sectors of a warp's access when neighbouring threads are a stride apart; None when that is not known."""
    if stride == "?" or (isinstance(stride, str) and stride.startswith("/")):
        return None
    if stride == 0:
        return _BROADCAST
    return _NEIGHBOURS if stride == 1 or (access.cast and stride in (2, 4, 8)) else _APART


def _block(kernel: Kernel) -> str:
    """`square` when each launch's block is known to be; `any` when nothing is known."""
    constants = constants_of(kernel)
    square = bool(kernel.launches)
    for launch in kernel.launches:
        x, y = ([*launch.block, "1"])[:2] if launch.block else ("", "")
        extents = [constant(extent, {**constants, **launch.definitions}) for extent in (x, y)]
        if y and extents[1] == 1:
            raise Refusal(
                f"the block `{', '.join(launch.block)}` has one dimension: there is nothing to exchange"
            )
        if None in extents or extents[0] != extents[1]:
            square = square and bool(x) and x.strip() == y.strip()
    return "square" if square else "any"


def _exchanged(used: list[Node]) -> list[Edit]:
    other = {"x": "y", "y": "x"}
    return [replace_node(node, f"threadIdx.{other[text_of(node)[-1]]}") for node in used]


def _counted_along_y(kernel: Kernel, syntax: CudaSyntax, used: list[Node]) -> list[Edit]:
    statements = statements_of(syntax.entry.node.child_by_field_name("body"))
    data = data_of(kernel)
    start = statements[0].start_byte if statements else 0
    if not statements or not begins_line(data, start):
        raise Refusal(f"the first statement of {kernel.name} is not on a line of its own")
    taken = identifiers_in(syntax.entry.node)
    rank, slow, fast = (fresh_name(n, taken) for n in ("thread_rank", "thread_x", "thread_y"))
    lines = [
        "// Neighbouring threads take neighbours along y; each place of the block is taken once, as before.",
        f"const unsigned int {rank} = threadIdx.y * blockDim.x + threadIdx.x;",
        f"const unsigned int {slow} = {rank} / blockDim.y;",
        f"const unsigned int {fast} = {rank} % blockDim.y;",
        "",
    ]
    gap = newline_of(data) + indent_at(data, start)
    names = {"x": slow, "y": fast}
    return [
        insert_before(kernel, start, gap.join(lines)),
        *(replace_node(node, names[text_of(node)[-1]]) for node in used),
    ]


ASSIST = Assist(
    title="Let threadIdx.x run along the contiguous axis",
    skill="coalesced-index-order",
    pattern="strided_access",
    make=_rewrite,
)
