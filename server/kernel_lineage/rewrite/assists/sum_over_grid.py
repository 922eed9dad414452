"""Let each thread add up many elements, and each block add its sum with one atomic.

Before:
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { atomicAdd(out, x[i] * y[i]); }
After: a thread walks over elements in a grid-stride loop and adds up in a register; shuffles add up a warp, shared
memory the warps of a block, and its first thread adds the block's sum. The launch gets a sixteenth of its blocks.

The kernel is right for any grid. Sums of floats are rounded in another order, as they were from run to run before.
"""

from __future__ import annotations

from tree_sitter import Node

from kernel_lineage.kernels.anchors.block_uniform_atomic import PATTERN
from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import Call, contains, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import CudaSyntax
from kernel_lineage.kernels.edits import edited, replace_node
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.blocks_at_launch import change_blocks, whole_warps
from kernel_lineage.rewrite.assists.element_work import ElementWork, check_repeatable, work_of
from kernel_lineage.rewrite.assists.layout import data_of, fresh_name, indent_at, newline_of, syntax_of
from kernel_lineage.rewrite.assists.loop_over_grid import grid_loop
from kernel_lineage.rewrite.assists.model import Assist, Refusal
from kernel_lineage.rewrite.assists.reduce_block_before_atomic import SUMMED
from kernel_lineage.rewrite.assists.template_types import pointee_of, spelt
from kernel_lineage.rewrite.candidate import Candidate, Edit

_ELEMENTS = 16
"""Elements of a thread: enough that the additions of a block cost little beside its loads."""


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    syntax = syntax_of(kernel)
    call = _the_addition(kernel, syntax)
    launches = _launches(kernel)
    kind = _kind(kernel, syntax, call)
    own = fresh_name("own_sum", identifiers_in(syntax.entry.node))
    summed = edited(data_of(kernel), [replace_node(call.node, f"{own} += {text_of(call.arguments[1])}")])
    # The kernel with a sum in the addition's place is what is done for one element after the other.
    single = read(summed, kernel.language).kernel(kernel.name)
    if single is None:
        raise Refusal(f"{kernel.name} does not parse completely")
    alone = syntax_of(single)
    work = work_of(single, alone)
    check_repeatable(single, alone, work)
    text = _looped(single, alone, work, kind, own, text_of(call.arguments[0]))
    return ASSIST.candidate(
        kernel,
        [Edit(kernel.span, text), *launches],
        explanation=f"A thread adds up about {_ELEMENTS} elements and a block makes one atomic addition; the sum is "
        "rounded in another order.",
    )


def _the_addition(kernel: Kernel, syntax: CudaSyntax) -> Call:
    """The one addition of the kernel, which is all that it leaves behind."""
    places = [a.span.start for a in PATTERN.find(kernel)]
    additions = [c for c in syntax.entry.calls if c.name.startswith("atomic")]
    if len(additions) != 1 or additions[0].node.start_byte not in places:
        raise Refusal(
            f"{kernel.name} does not make one atomic addition, by each thread of a block to one element"
        )
    call = additions[0]
    if not _kind(kernel, syntax, call):
        raise Refusal(
            f"`{text_of(call.arguments[0])}` is not known to point to float, double, int or unsigned int"
        )
    fixed = {p.name for p in kernel.parameters}
    strange = identifiers_in(call.arguments[0]) - fixed
    if strange:
        raise Refusal(
            f"`{min(strange)}` in `{text_of(call.arguments[0])}` may differ from element to element"
        )
    root = indexing(syntax.entry).place(call.arguments[0]).root
    for access in indexing(syntax.entry).accesses:
        if access.space == "shared" or contains(call.arguments[0], access.node):
            continue
        if access.writes or access.root == root:
            raise Refusal(f"`{text_of(access.node)}` is used beside the addition")
    return call


def _kind(kernel: Kernel, syntax: CudaSyntax, call: Call) -> str:
    root = indexing(syntax.entry).place(call.arguments[0]).root
    return spelt(kernel, pointee_of(kernel.parameter(root)), SUMMED)


def _launches(kernel: Kernel) -> list[Edit]:
    if not kernel.launches:
        raise Refusal(f"{kernel.name} is not launched in this file, and its blocks have to be of whole warps")
    for launch in kernel.launches:
        whole_warps(kernel, launch)
    fewer = f"({{}} + {_ELEMENTS - 1}) / {_ELEMENTS}".format
    return [change_blocks(kernel, launch, fewer) for launch in kernel.launches]


def _looped(kernel: Kernel, syntax: CudaSyntax, work: ElementWork, kind: str, own: str, place: str) -> str:
    """The kernel with its work in a loop, the sum declared before it and added up behind it."""
    data, node = data_of(kernel), syntax.entry.node
    gap = newline_of(data) + indent_at(data, work.first)
    zero = {"float": "0.0f", "double": "0.0"}.get(kind, "0")
    edits = []
    for edit in grid_loop(kernel, syntax, work):
        text = edit.text
        if text:
            text = gap.join([f"{kind} {own} = {zero};", text, *_added_up(node, kind, own, place, zero)])
        edits.append(Edit(edit.span, text))
    after = read(edited(data, edits), kernel.language).kernel(kernel.name)
    return after.text if after is not None else kernel.text


def _added_up(node: Node, kind: str, own: str, place: str, zero: str) -> list[str]:
    taken = identifiers_in(node)
    sums, offset = fresh_name("warp_sums", taken), fresh_name("offset", taken)
    shuffle = f"for (int {offset} = 16; {offset} > 0; {offset} /= 2) {{"
    add = f"    {own} += __shfl_down_sync(0xffffffffu, {own}, {offset});"
    return [
        f"__shared__ {kind} {sums}[32];",
        *(shuffle, add, "}"),
        f"if (threadIdx.x % 32 == 0) {sums}[threadIdx.x / 32] = {own};",
        "__syncthreads();",
        "if (threadIdx.x < 32) {",
        f"    {own} = threadIdx.x < blockDim.x / 32 ? {sums}[threadIdx.x] : {zero};",
        *(f"    {line}" for line in (shuffle, add, "}")),
        f"    if (threadIdx.x == 0) atomicAdd({place}, {own});",
        "}",
    ]


ASSIST = Assist(
    title="Add up many elements in each thread",
    skill="grid-sum",
    pattern="block_uniform_atomic",
    make=_rewrite,
)
