"""Combine a tile of a Triton program once behind a loop, instead of once in each round.

Before:
    for start in range(0, n, BLOCK):
        v = tl.load(x + start + lanes, mask=start + lanes < n, other=0.0)
        total += tl.sum(v * v, axis=0)
After:
    total_parts = tl.full((BLOCK,), 0, tl.float32)
    for start in range(0, n, BLOCK):
        v = tl.load(x + start + lanes, mask=start + lanes < n, other=0.0)
        total_parts += (v * v).to(tl.float32)
    total += tl.sum(total_parts, axis=0)

A sum over lanes goes through shared memory, and all warps of a program wait for each other, before in each round. For
sums, and for maxima and minima of floats; a sum is rounded in another order.
Refused where the loop uses what it has combined so far, and where the shape of the tile is not seen.
"""

from __future__ import annotations

import ast
from functools import partial

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.python_text import names_in
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.model import Assist, Refusal, attempt
from kernel_lineage.rewrite.assists.triton_block_choices import kernel_after
from kernel_lineage.rewrite.assists.triton_lanes import Walk
from kernel_lineage.rewrite.assists.triton_places import called, function_of, span_of, stored_names
from kernel_lineage.rewrite.assists.triton_tiles import Tiles
from kernel_lineage.rewrite.assists.triton_totals import Total, can_begin, kept_apart, loop_at
from kernel_lineage.rewrite.assists.triton_values import Unfollowed, Value, combined_in
from kernel_lineage.rewrite.candidate import Candidate


def _rewrite(kernel: Kernel, anchor: Anchor) -> Candidate:
    function = function_of(kernel)
    loop = loop_at(kernel, function, anchor)
    totals = _totals(function, loop)
    names = " and ".join(f"`{total.name}`" for total in totals)
    return ASSIST.candidate(
        kernel,
        kept_apart(kernel, loop, totals, names_in(function)),
        explanation=f"The lanes of {names} are combined once behind the loop; a sum is rounded in another order.",
    )


def with_totals_behind(kernel: Kernel) -> Kernel:
    """A kernel of which each loop that can combines its tiles behind it; the kernel itself where none can."""
    made = kernel
    for place in range(sum(isinstance(s, ast.For) for s in function_of(kernel).body)):
        function = function_of(made)
        here = Anchor(span_of(made, [s for s in function.body if isinstance(s, ast.For)][place]), "")
        loop = attempt(partial(loop_at, made, function, here))
        totals = attempt(partial(_totals, function, loop)) if not isinstance(loop, Refusal) else loop
        if not isinstance(loop, Refusal) and not isinstance(totals, Refusal):
            made = kernel_after(made, kept_apart(made, loop, totals, names_in(function)))
    return made


def _totals(function: ast.FunctionDef, loop: ast.For) -> list[Total]:
    """What a loop combines from all lanes of a tile in each round. Refused where that is nothing."""
    walk, position = Walk(Tiles(), function), function.body.index(loop)
    try:
        walk.block(function.body[:position])
        before = dict(walk.values)
        walk.block([loop])
        candidates = [_total(walk, before, function.body[:position], loop, name) for name in _carried(loop)]
    except Unfollowed as what:
        raise Refusal(str(what)) from what
    totals = [total for total in candidates if total is not None]
    if not totals:
        raise Refusal(
            f"the loop in line {loop.lineno} combines no tile in each round that it could combine once"
        )
    return totals


def _carried(loop: ast.For) -> list[str]:
    return sorted(set(stored_names(loop)) - names_in(loop.target))


def _total(
    walk: Walk, before: dict[str, Value], statements: list[ast.stmt], loop: ast.For, name: str
) -> Total | None:
    """What the loop combines in a name from all lanes of a tile; None where that is something else."""
    step, held = combined_in(loop.body, name), before.get(name)
    if step is None or held is None:
        return None
    statement, how, taken = step
    if not isinstance(taken, ast.Call) or called(taken) != how or {k.arg for k in taken.keywords} - {"axis"}:
        return None
    if held.is_data and not can_begin(how, held, statements, name):
        return None
    dtype = f"{name}.dtype" if held.is_data else "tl.float32" if _is_float(statements, name) else ""
    extents = [axis.size or "1" for axis in walk.of(taken.args[0]).axes]
    if not dtype or not extents:
        return None
    axis = next((k.value for k in taken.keywords), taken.args[1] if len(taken.args) > 1 else None)
    along = f", axis={ast.unparse(axis)}" if axis is not None else ""
    shape = f"({', '.join(extents)}{',' if len(extents) == 1 else ''})"
    return Total(name, how, statement, taken, taken.args[0], shape, dtype, along)


def _is_float(statements: list[ast.stmt], name: str) -> bool:
    """Whether a name that begins with a number begins with one that is no integer: a loop makes it 32 bits wide."""
    begins = [s.value for s in statements if isinstance(s, ast.Assign) and name in stored_names(s)]
    numbers = [n.value for b in begins[-1:] for n in ast.walk(b) if isinstance(n, ast.Constant)]
    return any(isinstance(n, float) or (isinstance(n, str) and "inf" in n) for n in numbers)


ASSIST = Assist(
    title="Combine a tile behind the loop",
    skill="triton-sums-behind-loop",
    pattern="triton_unstaged_loop",
    make=_rewrite,
)
