"""Let neighbouring threads of a block take neighbouring elements, by exchanging what threadIdx.x and .y, or .z, count.

Before:
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    out[row * columns + column] = factor * x[row * columns + column];
After: a block that is as wide along both axes exchanges the two, and in a block of any other shape each thread takes
the place that its number has when the block is counted along the other axis first. Each place of the block is taken
once as before, so the launch stays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

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
    axis, gain = _gain(syntax, sorted({text_of(node)[-1] for node in used} - {"x"}))
    used = [node for node in used if text_of(node)[-1] in ("x", axis)]
    edits = _exchanged(used, axis) if _is_square(kernel, axis) else _counted_along(axis, kernel, syntax, used)
    return ASSIST.candidate(
        kernel,
        edits,
        explanation=f"Neighbouring threads take neighbouring elements of {gain}; grid and block stay as they are.",
    )


def _thread_indices(kernel: Kernel, syntax: CudaSyntax) -> list[Node]:
    """Every member of `threadIdx` in the kernel, when nothing else tells its threads apart."""
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
        nodes.append(member)
    axes = {text_of(node)[-1] for node in nodes}
    if "x" not in axes or len(axes) == 1:
        raise Refusal(
            f"{kernel.name} does not use both threadIdx.x and another axis: there is nothing to exchange"
        )
    return nodes


def _gain(syntax: CudaSyntax, axes: Sequence[str]) -> tuple[str, str]:
    """The axis to exchange with x, and the pointers whose accesses come nearer by it."""
    refusals: list[Refusal] = []
    for axis in axes:
        try:
            return axis, _nearer(syntax, axis)
        except Refusal as refusal:
            refusals.append(refusal)
    raise refusals[0]


def _nearer(syntax: CudaSyntax, axis: str) -> str:
    """The pointers whose accesses come nearer when x is exchanged with an axis, where a warp touches fewer sectors by
    it, the innermost loop first.
    """
    unit, reach = syntax.entry, indexing(syntax.entry)
    depths: dict[int, list[int]] = {}
    nearer: dict[str, None] = {}
    for access in reach.accesses:
        if access.space != "global":
            continue
        before, after = (_sectors(access, reach.along(access, one)) for one in ("x", axis))
        if before is None or after is None:
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
            f"no access moves by whole rows along threadIdx.x and by single elements along threadIdx.{axis}"
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


def _is_square(kernel: Kernel, axis: str) -> bool:
    """Whether each launch's block is known to be as wide along x as along an axis."""
    constants = constants_of(kernel)
    square = bool(kernel.launches)
    for launch in kernel.launches:
        block = [*launch.block, "1", "1"] if launch.block else ["", "", ""]
        x, other = block[0], block["xyz".index(axis)]
        extents = [constant(extent, {**constants, **launch.definitions}) for extent in (x, other)]
        if other and extents[1] == 1:
            raise Refusal(
                f"the block `{', '.join(launch.block)}` has no extent along {axis}: there is nothing to exchange"
            )
        if None in extents or extents[0] != extents[1]:
            square = square and bool(x) and x.strip() == other.strip()
    return square


def _exchanged(used: list[Node], axis: str) -> list[Edit]:
    other = {"x": axis, axis: "x"}
    return [replace_node(node, f"threadIdx.{other[text_of(node)[-1]]}") for node in used]


def _counted_along(axis: str, kernel: Kernel, syntax: CudaSyntax, used: list[Node]) -> list[Edit]:
    statements = statements_of(syntax.entry.node.child_by_field_name("body"))
    data = data_of(kernel)
    start = statements[0].start_byte if statements else 0
    if not statements or not begins_line(data, start):
        raise Refusal(f"the first statement of {kernel.name} is not on a line of its own")
    taken = identifiers_in(syntax.entry.node)
    rank, slow, fast = (fresh_name(n, taken) for n in ("thread_rank", "thread_x", f"thread_{axis}"))
    lines = [
        f"// Neighbouring threads take neighbours along {axis}; each place of the block is taken once, as before.",
        f"const unsigned int {rank} = threadIdx.{axis} * blockDim.x + threadIdx.x;",
        f"const unsigned int {slow} = {rank} / blockDim.{axis};",
        f"const unsigned int {fast} = {rank} % blockDim.{axis};",
        "",
    ]
    gap = newline_of(data) + indent_at(data, start)
    names = {"x": slow, axis: fast}
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
