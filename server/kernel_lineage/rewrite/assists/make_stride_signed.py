"""Say a loop's stride as a signed number, and unroll the loop, so that several of its loads are under way at once.

Before: `for (int i = threadIdx.x; i < n; i += blockDim.x) { sum += x[i]; }`.
After: the same with `i += (int)blockDim.x` and `#pragma unroll 8` above it.

`i += blockDim.x` has no sign and may wrap around, so the compiler cannot tell how often the loop runs: it
tests the bound after each round, also of an unrolled loop, and no load begins before the one before has been used. A
signed counter may not overflow. The order of the rounds stays, and so does the result.
"""

from __future__ import annotations

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.anchors.unsigned_stride import loops_of
from kernel_lineage.kernels.edits import replace_node
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import syntax_of
from kernel_lineage.rewrite.assists.model import Assist, Refusal
from kernel_lineage.rewrite.assists.unrolling import (
    asks_to_unroll,
    rounds_under_way,
    stands_alone,
    unrolled,
)
from kernel_lineage.rewrite.candidate import Candidate, Edit


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    syntax = syntax_of(kernel)
    loops = loops_of(syntax.entry)
    if not loops:
        raise Refusal(f"no loop of {kernel.name} that reads memory moves on by an unsigned number")
    edits: list[Edit] = []
    for loop in loops:
        assert loop.update is not None
        edits.append(replace_node(loop.update, f"{loop.counter} += {signed(loop.step)}"))
        rounds = rounds_under_way(kernel, syntax, loop.node)
        asked = asks_to_unroll(loop.node.prev_named_sibling)
        if rounds > 1 and not asked and stands_alone(kernel, loop.node):
            edits.append(unrolled(kernel, loop.node, rounds))
    return ASSIST.candidate(
        kernel,
        tuple(edits),
        explanation="The compiler can tell how often the loop runs, and issues several of its loads together; it may "
        "take more registers.",
    )


def signed(step: str) -> str:
    """A stride of sizes of the launch as a positive `int`, as the compiler can see."""
    if "/" in step:
        return f"max(1, (int)({step}))"
    return f"(int){step}" if step.replace(".", "").replace("_", "").isalnum() else f"(int)({step})"


ASSIST = Assist(
    title="Make a stride signed",
    skill="signed-stride",
    pattern="unsigned_stride",
    make=_rewrite,
)
