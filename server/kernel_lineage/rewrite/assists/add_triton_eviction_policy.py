"""Tell the L2 cache that what is loaded is not needed again.

Before: `x = tl.load(x_ptr + offsets, mask=mask)`.
After: `x = tl.load(x_ptr + offsets, mask=mask, eviction_policy="evict_first")`.

Refused for what is loaded again, by this program or by others: a second load of the same tensor, an address that does
not move with the program or with the loop around it. It is a hint to the cache, so the result does not depend on it.
"""

from __future__ import annotations

import ast

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.source import Kernel, Span
from kernel_lineage.rewrite.assists.layout import insert_before
from kernel_lineage.rewrite.assists.model import Assist, Refusal
from kernel_lineage.rewrite.assists.triton_places import assignments, calls_of, function_of, sources, span_of
from kernel_lineage.rewrite.candidate import Candidate, Edit


def _rewrite(kernel: Kernel, anchor: Anchor) -> Candidate:
    function = function_of(kernel)
    if any(True for _ in calls_of(function, "dot")):
        raise Refusal(f"{kernel.name} multiplies tiles, which several programs load")
    axes = {ast.unparse(c) for c in calls_of(function, "program_id")}
    if len(axes) != 1:
        raise Refusal(
            f"{kernel.name} has {len(axes) or 'no'} program axes, so another program may load the same data"
        )
    flow = assignments(function)
    edits: list[Edit] = []
    reasons: list[str] = []
    for load in calls_of(function, "load"):
        if not load.args or not _touches(anchor.span, span_of(kernel, load)):
            continue
        reason = _kept(kernel, function, load, flow)
        if reason is None:
            edits.append(_with_policy(kernel, load))
        else:
            reasons.append(reason)
    if not edits:
        raise Refusal(reasons[0] if reasons else f"{kernel.name} has no tl.load here")
    return ASSIST.candidate(
        kernel,
        edits,
        explanation="What is read once leaves the cache first, and makes room for what is read again.",
    )


def _touches(anchor: Span, load: Span) -> bool:
    return anchor.contains(load) or load.contains(anchor)


def _kept(
    kernel: Kernel, function: ast.FunctionDef, load: ast.Call, flow: dict[str, list[ast.expr]]
) -> str | None:
    """Why a load should stay in the cache; None when it is read once."""
    keywords = {k.arg for k in load.keywords}
    if "eviction_policy" in keywords or "cache_modifier" in keywords:
        return "the load has a cache hint already"
    tensor = _tensor(kernel, load.args[0], flow)
    if tensor is None:
        return f"`{ast.unparse(load.args[0])}` does not come from one pointer parameter"
    loads = [c for c in calls_of(function, "load") if c.args and _tensor(kernel, c.args[0], flow) == tensor]
    if len(loads) > 1:
        return f"{tensor} is loaded more than once"
    names, expressions = sources(load.args[0], flow)
    programs = [c for e in expressions for c in calls_of(e, "program_id")]
    if not programs:
        return f"every program loads the same elements of {tensor}"
    if any(
        isinstance(n, ast.BinOp) and isinstance(n.op, ast.FloorDiv | ast.Mod)
        for e in expressions
        for n in ast.walk(e)
    ):
        return f"several programs may load the same elements of {tensor}"
    for loop in ast.walk(function):
        inside = isinstance(loop, ast.For | ast.While) and any(n is load for n in ast.walk(loop))
        if inside and not (
            isinstance(loop, ast.For) and isinstance(loop.target, ast.Name) and loop.target.id in names
        ):
            return f"the loop loads the same elements of {tensor} again"
    return None


def _tensor(kernel: Kernel, pointer: ast.expr, flow: dict[str, list[ast.expr]]) -> str | None:
    """The parameter that a pointer expression starts from: the left end of its sums."""
    seen: set[str] = set()
    current = pointer
    while True:
        while isinstance(current, ast.BinOp) and isinstance(current.op, ast.Add):
            current = current.left
        if not isinstance(current, ast.Name) or current.id in seen:
            return None
        if kernel.parameter(current.id) is not None:
            return current.id
        seen.add(current.id)
        values = flow.get(current.id, [])
        if not values:
            return None
        current = values[0]


def _with_policy(kernel: Kernel, load: ast.Call) -> Edit:
    last = max(
        (span_of(kernel, v) for v in [*load.args, *(k.value for k in load.keywords)]), key=lambda s: s.end
    )
    return insert_before(kernel, last.end, ', eviction_policy="evict_first"')


ASSIST = Assist(
    title="Evict streamed loads first",
    skill="triton-eviction-policy",
    pattern="triton_streaming_load",
    make=_rewrite,
)
