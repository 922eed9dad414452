"""Write a Triton loop over a constant out, round by round, when it is compiled.

Before: `for head in range(HEADS):`.
After: `for head in tl.static_range(HEADS):`.

The rounds are the same, in the same order. Refused for loops of one round or of more than 64, and where the counter is
more than a number of the round: one that the body gives another value, or calls a method of, is not the same then.
"""

from __future__ import annotations

import ast

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.anchors.triton_constant_loop import rounds
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.model import Assist, Refusal
from kernel_lineage.rewrite.assists.triton_places import span_of, triton_syntax_of
from kernel_lineage.rewrite.candidate import Candidate, Edit

_MOST = 64


def _rewrite(kernel: Kernel, anchor: Anchor) -> Candidate:
    syntax = triton_syntax_of(kernel)
    constants = {p.name for p in kernel.parameters if p.constexpr}
    for loop in syntax.entry.loops:
        count, span = rounds(loop, constants), span_of(kernel, loop)
        if not count or not (anchor.span.contains(span) or span.contains(anchor.span)):
            continue
        if count.isdecimal() and not 1 < int(count) <= _MOST:
            raise Refusal(f"a loop of {count} rounds is not worth being written out")
        assert isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call)
        if _is_more(loop):
            raise Refusal(f"{ast.unparse(loop.target)} is more than the number of the round")
        return ASSIST.candidate(
            kernel,
            (Edit(span_of(kernel, loop.iter.func), "tl.static_range"),),
            explanation="Rounds that stand by themselves overlap, and what depends on the counter is a constant.",
        )
    raise Refusal(f"{kernel.name} has no loop over a constant here")


def _is_more(loop: ast.For) -> bool:
    """Whether the body gives the counter another value or uses what only a value at run time has."""
    if not isinstance(loop.target, ast.Name):
        return True
    counter = loop.target.id
    for node in (n for s in loop.body for n in ast.walk(s)):
        if isinstance(node, ast.Name) and node.id == counter and isinstance(node.ctx, ast.Store):
            return True
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == counter:
            return True
    return False


ASSIST = Assist(
    id="unroll_triton_loop",
    title="Write the loop's rounds out",
    skill="triton-unrolled-loop",
    pattern="triton_constant_loop",
    make=_rewrite,
)
