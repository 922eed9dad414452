"""Have the loads of a Triton loop in flight while the rounds before them are worked on.

Before: `for start in range(0, n, BLOCK):` around loads.
After: `for start in tl.range(0, n, BLOCK, num_stages=3):`.

Loads of later rounds are moved above what earlier rounds do. So a loop that stores, or adds to memory, is refused: what
it stores might be what a later round loads. A loop around `tl.dot` has the launch's own stages already.
"""

from __future__ import annotations

import ast

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.anchors.triton_unstaged_loop import unstaged
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import insert_before
from kernel_lineage.rewrite.assists.model import Assist, Refusal
from kernel_lineage.rewrite.assists.triton_places import called, calls_of, span_of, triton_syntax_of
from kernel_lineage.rewrite.candidate import Candidate, Edit

_STAGES = 3
_PURE = ("range", "min", "max", "abs", "float", "int", "to")


def _rewrite(kernel: Kernel, anchor: Anchor) -> Candidate:
    syntax = triton_syntax_of(kernel)
    unit = syntax.entry
    for loop in unit.loops:
        call = unstaged(loop)
        span = span_of(kernel, loop)
        if call is None or not (anchor.span.contains(span) or span.contains(anchor.span)):
            continue
        if any(True for _ in calls_of(loop, "dot")):
            raise Refusal("the launch's num_stages is for this loop already")
        if not any(True for _ in calls_of(loop, "load")):
            continue
        if reason := _order_matters(loop):
            raise Refusal(reason)
        return _staged(kernel, call)
    raise Refusal(f"{kernel.name} has no loop here that loads and says nothing of stages")


def _order_matters(loop: ast.For | ast.While) -> str:
    """What in a loop does not let a later round's loads come earlier; "" when nothing does."""
    for node in ast.walk(loop):
        if not isinstance(node, ast.Call):
            continue
        name = called(node)
        if name == "store" or name.startswith("atomic_") or name == "debug_barrier":
            return f"the loop calls tl.{name}, after which a later round may load something else"
        if isinstance(node.func, ast.Name) and node.func.id not in _PURE:
            return f"what {node.func.id} does to memory is not looked into"
    return ""


def _staged(kernel: Kernel, call: ast.Call) -> Candidate:
    values = [*call.args, *(k.value for k in call.keywords)]
    last = max((span_of(kernel, v) for v in values), key=lambda s: s.end)
    edits = [insert_before(kernel, last.end, f", num_stages={_STAGES}")]
    if isinstance(call.func, ast.Name):
        edits.insert(0, Edit(span_of(kernel, call.func), "tl.range"))
    return ASSIST.candidate(
        kernel,
        edits,
        explanation=f"The loads of the next {_STAGES - 1} rounds are under way while one is worked on.",
    )


ASSIST = Assist(
    title="Pipeline the loop's loads",
    skill="triton-staged-loop",
    pattern="triton_unstaged_loop",
    make=_rewrite,
)
