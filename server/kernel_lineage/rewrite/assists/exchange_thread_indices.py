"""Let neighbouring threads of a block take neighbouring elements, by exchanging what threadIdx.x and .y, or .z, count.

Before:
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    out[row * columns + column] = factor * x[row * columns + column];
After: a block that is as wide along both axes exchanges the two, and in a block of any other shape each thread takes
the place that its number has when the block is counted along the other axis first. Each place of the block is taken
once as before, so the launch stays. Where one flat index counts all threads, its digits change places (`flat_order`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tree_sitter import Node

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.edits import replace_node
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.flat_order import in_another_order
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
from kernel_lineage.rewrite.assists.model import Assist, Refusal, attempt
from kernel_lineage.rewrite.assists.warp_sectors import Strides, nearer
from kernel_lineage.rewrite.candidate import Candidate, Edit
from kernel_lineage.skills.kernel_facts import constant
from kernel_lineage.workloads.constants import constants_of

_BY_LANE = re.compile(
    r"__shfl|__ballot|__any_|__all_|__match|__reduce|__syncwarp|__activemask|\basm\b|cooperative_groups|\bcg::"
)
"""What depends on which threads make up a warp."""
_THREADS = re.compile(rf"threadIdx|{_BY_LANE.pattern}")


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    syntax = syntax_of(kernel)
    used = _thread_indices(kernel, syntax)
    if {text_of(node)[-1] for node in used} == {"x"}:
        return _in_another_order(kernel, syntax)
    axis, gain = _gain(syntax, sorted({text_of(node)[-1] for node in used} - {"x"}))
    used = [node for node in used if text_of(node)[-1] in ("x", axis)]
    edits = _exchanged(used, axis) if _is_square(kernel, axis) else _counted_along(axis, kernel, syntax, used)
    return ASSIST.candidate(
        kernel,
        edits,
        explanation=f"Neighbouring threads take neighbouring elements of {gain}; grid and block stay as they are.",
    )


def _in_another_order(kernel: Kernel, syntax: CudaSyntax) -> Candidate:
    made = attempt(lambda: in_another_order(kernel, syntax))
    if isinstance(made, Refusal):
        raise Refusal(f"{kernel.name} does not use both threadIdx.x and another axis, and {made.reason}")
    edits, gain = made
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
    if not any(text_of(node)[-1] == "x" for node in nodes):
        raise Refusal(f"{kernel.name} does not use threadIdx.x")
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
    """The pointers whose accesses come nearer when x is exchanged with an axis."""
    unit, reach = syntax.entry, indexing(syntax.entry)
    strides: list[Strides] = []
    for access in reach.accesses:
        if access.space != "global":
            continue
        before, after = (reach.along(access, one) for one in ("x", axis))
        strides.append(Strides(access, len(unit.loops_around(access.node)), before, after))
    return nearer(strides, f"threadIdx.x and by single elements along threadIdx.{axis}")


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
