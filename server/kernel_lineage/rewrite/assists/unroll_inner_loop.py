"""Ask the compiler to unroll an innermost loop.

Before: `for (int k = 0; k < TILE; k++) { sum += a[ty][k] * b[k][tx]; }`.
After: the same with `#pragma unroll` above it; `#pragma unroll 4` when it has more than 64 rounds, or nobody knows how
many.

The result does not depend on it: the compiler keeps the order of the rounds.
"""

from __future__ import annotations

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.cuda_forms import Loop, bare, operator_of, text_of
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import descendants, loop_at, syntax_of
from kernel_lineage.rewrite.assists.model import Assist, Refusal
from kernel_lineage.rewrite.assists.unrolling import asks_to_unroll, stands_alone, unrolled
from kernel_lineage.rewrite.candidate import Candidate
from kernel_lineage.skills.kernel_facts import constant
from kernel_lineage.workloads.constants import constants_of

_WHOLLY = 64
"""Rounds up to which a loop of constant length is unrolled as a whole."""


def _rewrite(kernel: Kernel, anchor: Anchor) -> Candidate:
    syntax = syntax_of(kernel)
    inner = [
        x
        for x in syntax.entry.loops
        if x.node.type == "for_statement" and not syntax.entry.has_loop_in(x.node)
    ]
    loop = loop_at(inner, anchor.span)
    if loop is None or loop.body is None:
        raise Refusal(f"{kernel.name} has no innermost for loop here")
    if asks_to_unroll(loop.node.prev_named_sibling):
        raise Refusal("the loop has an unroll pragma already")
    if not stands_alone(kernel, loop.node):
        raise Refusal("the loop is not a statement on a line of its own")
    if any(
        n.type in ("break_statement", "return_statement", "goto_statement") for n in descendants(loop.body)
    ):
        raise Refusal("the loop may end early, so unrolling it gains nothing")
    rounds = _rounds(loop, constants_of(kernel))
    if rounds is not None and rounds <= 1:
        raise Refusal("the loop has at most one round")
    wholly = rounds is not None and rounds <= _WHOLLY
    return ASSIST.candidate(
        kernel,
        (unrolled(kernel, loop.node, None if wholly else 4),),
        explanation="The loop's own instructions are paid once for several rounds; it may take more registers.",
    )


def _rounds(loop: Loop, constants: dict[str, str]) -> int | None:
    """How often a loop that counts up runs, when the file tells."""
    condition = bare(loop.condition)
    if (
        loop.start is None
        or loop.bound is None
        or condition is None
        or operator_of(condition) not in ("<", "<=")
    ):
        return None
    start = constant(text_of(loop.start), constants)
    bound = constant(text_of(loop.bound), constants)
    step = constant(loop.step, constants) if loop.step else None
    if start is None or bound is None or step is None or step <= 0:
        return None
    return max(0, -((start - bound - (operator_of(condition) == "<=")) // step))


ASSIST = Assist(
    id="unroll_inner_loop",
    title="Unroll an inner loop",
    skill="unroll-inner-loop",
    pattern="inner_loop",
    make=_rewrite,
)
