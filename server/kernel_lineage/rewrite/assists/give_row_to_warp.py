"""Give each row to a warp instead of one thread: its lanes take every 32nd element, and shuffles combine them.

Before: `int row = blockIdx.x * blockDim.x + threadIdx.x;` and `for (int i = 0; i < C; i++) { sum += x[row * C + i]; }`.
After: `row` counts warps, the loop goes `for (int i = lane; i < C; i += 32)`, shuffles leave the sum in
every lane, and what is written once for a row is written by lane 0. Each launch gets 32 times its blocks.

So it is where each thread has one element and works out something of the whole row for it: that is done once for a row,
and a loop over the columns does the rest (`rows_of_elements`).

The innermost of nested loops are shared out, but for loops of fewer rounds than a warp has lanes, or the outermost
whose rounds do not need each other.

A kernel that another file launches keeps its grid: a warp takes every so-manieth row, in a loop.

Sums, maxima and minima are combined in another order. What is used on the way, as in a prefix sum or a running maximum,
is handed on from lane to lane for 32 elements at a time (`running_values`); so is a running product of whole numbers.
Refused is a row that carries anything else from element to element, and whatever lets one lane see what another has yet
to write.
"""

from __future__ import annotations

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.model import Assist, with_alternatives
from kernel_lineage.rewrite.assists.shared_rows import Sharers, shared_out
from kernel_lineage.rewrite.candidate import Candidate

_WARP = Sharers(
    row="blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32",
    rows="gridDim.x * (blockDim.x / 32)",
    name="lane",
    number="threadIdx.x % 32",
    count="32",
    wait="__syncwarp();",
    blocks=lambda _, __: "32",
)


def _rewrite(kernel: Kernel, anchor: Anchor) -> Candidate:
    each = "each row, the grid has 32 times its blocks" if kernel.launches else "row after row, in any grid"
    explanation = f"A warp takes {each}; a sum is rounded in another order."
    return with_alternatives(
        shared_out(kernel, anchor, _WARP),
        lambda edits: ASSIST.candidate(kernel, edits, explanation=explanation),
    )


ASSIST = Assist(
    title="Give a row to a warp",
    skill="warp-per-row",
    pattern="row_per_thread",
    make=_rewrite,
)
