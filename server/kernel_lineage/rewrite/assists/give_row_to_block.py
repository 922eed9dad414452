"""Give each row to a block instead of one thread: its threads take every so-manieth element, and combine their results.

Before: `int row = blockIdx.x * blockDim.x + threadIdx.x;` and `for (int i = 0; i < C; i++) { sum += x[row * C + i]; }`.
After: `row` counts blocks, the loop goes `for (int i = part; i < C; i += blockDim.x)`, shuffles and shared memory leave
the sum in every thread, and what is written once for a row is written by one thread. Each launch gets a block for each
thread that it had.

So it is where each thread has one element and works out something of the whole row for it: that is done once for a row,
and a loop over the columns does the rest (`rows_of_elements`).

The innermost of nested loops are shared out, but for loops of fewer rounds than a warp has lanes, or the outermost
whose rounds do not need each other.

A kernel that another file launches keeps its grid and its blocks: a block takes every so-manieth row, in a loop.

Sums, maxima and minima are combined in another order. What is used on the way, as in a prefix sum or a running
maximum, is handed on from warp to warp in shared memory. Refused is a row that carries anything else from element to
element, and whatever lets one thread see what another has yet to write.
"""

from __future__ import annotations

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.source import Kernel, Launch
from kernel_lineage.rewrite.assists.model import Assist, Refusal, with_alternatives
from kernel_lineage.rewrite.assists.shared_rows import Sharers, shared_out
from kernel_lineage.rewrite.candidate import Candidate


def _threads(launch: Launch, axis: str) -> str:
    """The threads of a block along the rows' axis, as the launch has them."""
    written = (*launch.block, "1")["xy".index(axis)]
    return written if written.isidentifier() or written.isdigit() else f"({written})"


_BLOCK = Sharers(
    row="blockIdx.x",
    rows="gridDim.x",
    name="part",
    number="threadIdx.x",
    count="blockDim.x",
    wait="__syncthreads();",
    blocks=_threads,
    in_block=True,
    threads=256,
)


def _rewrite(kernel: Kernel, anchor: Anchor) -> Candidate:
    if any(len(launch.block) == 0 for launch in kernel.launches):
        raise Refusal(f"the block of a launch of {kernel.name} is not written at the launch")
    each = "each row, a block for each thread of before" if kernel.launches else "row after row, in any grid"
    explanation = f"A block takes {each}; a sum is rounded in another order."
    return with_alternatives(
        shared_out(kernel, anchor, _BLOCK),
        lambda edits: ASSIST.candidate(kernel, edits, explanation=explanation),
    )


ASSIST = Assist(
    title="Give a row to a block",
    skill="block-per-row",
    pattern="row_per_thread",
    make=_rewrite,
)
