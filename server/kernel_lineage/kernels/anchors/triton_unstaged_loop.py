"""A loop of a Triton kernel that loads block after block, and waits for each."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_lineage.kernels.anchors.matching import matched_in
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.python_text import names_in
from kernel_lineage.kernels.triton_forms import dotted
from kernel_lineage.kernels.triton_loops import range_arguments
from kernel_lineage.kernels.triton_syntax import TritonUnit, pointer_of
from kernel_lineage.kernels.units import in_entry


def unstaged(loop: ast.For | ast.While) -> ast.Call | None:
    """The `range(…)` of an innermost loop that says nothing of stages; None for any other."""
    if (
        not isinstance(loop, ast.For)
        or not isinstance(loop.iter, ast.Call)
        or range_arguments(loop)[1] is None
    ):
        return None
    if any(isinstance(n, ast.For | ast.While) for s in loop.body for n in ast.walk(s)):
        return None
    silent = all(k.arg != "num_stages" for k in loop.iter.keywords)
    return (
        loop.iter
        if silent and dotted(loop.iter.func) in ("range", "tl.range", "triton.language.range")
        else None
    )


def _find(unit: TritonUnit) -> Iterator[Anchor]:
    for loop in unit.loops:
        if unstaged(loop) is None:
            continue
        inside = [c for c in unit.loads() if loop in unit.loops_around(c.node)]
        # A product's loop is pipelined by the launch's own stages.
        if not inside or any(loop in unit.loops_around(c.node) for c in unit.called("dot", "dot_scaled")):
            continue
        addresses = [c.node.args[0] for c in inside]
        stepped = {
            n.target.id for n in loop.body if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)
        }
        moving = [
            address
            for address in addresses
            if f"loop@{loop.lineno}" in unit.form(address) or stepped & names_in(address)
        ]
        if moving:
            pointer = pointer_of(unit.form(moving[0]))
            round_ = (
                "several" if isinstance(loop, ast.For) and range_arguments(loop)[2] is not None else "one"
            )
            yield matched_in(
                unit,
                loop,
                f"each round waits for its block of {pointer or 'memory'}",
                {"x": pointer, "round": round_},
            )


PATTERN = AnchorPattern(
    title="Loop of loads without stages",
    names={
        "x": "the pointer parameter that is read",
        "round": "`one` where it counts one by one, or `several`",
    },
    find=in_entry(in_triton=_find),
)
