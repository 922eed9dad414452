"""Tell the Triton compiler that a remainder runs through neighbours in groups of 16.

Before: `at = offsets % period`.
After: `at = tl.max_contiguous(tl.multiple_of(offsets % period, 16), 16)`.

What is loaded at such offsets becomes 16-byte accesses, which the compiler does not dare after a remainder. It is so
when `period` is a multiple of 16 and the block starts at one, as `tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)` does.
Refused where the compiler sees it by itself (no remainder), and for addresses, whose base it knows the alignment of.
"""

from __future__ import annotations

import ast

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import source_of
from kernel_lineage.rewrite.assists.model import Assist, Refusal
from kernel_lineage.rewrite.assists.triton_places import assignments, calls_of, function_of, span_of
from kernel_lineage.rewrite.candidate import Candidate, Edit

_GROUP = 16


def _rewrite(kernel: Kernel, anchor: Anchor) -> Candidate:
    function = function_of(kernel)
    if any(True for name in ("max_contiguous", "multiple_of") for _ in calls_of(function, name)):
        raise Refusal(f"{kernel.name} gives hints already")
    flow = assignments(function)
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        span = span_of(kernel, node.value)
        if not (anchor.span.contains(span) or span.contains(anchor.span)):
            continue
        match node.value:
            case ast.BinOp(left=left, op=ast.Mod(), right=ast.Name()) if _starts_at_a_block(left, flow):
                text = source_of(kernel).text(span)
                return ASSIST.candidate(
                    kernel,
                    (Edit(span, f"tl.max_contiguous(tl.multiple_of({text}, {_GROUP}), {_GROUP})"),),
                    explanation=f"Groups of {_GROUP} neighbours may be loaded by one access each.",
                )
    raise Refusal("the compiler sees by itself how these offsets lie, or nobody does")


def _starts_at_a_block(left: ast.expr, flow: dict[str, list[ast.expr]]) -> bool:
    """Whether the dividend is `tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)`, by itself or by its one name."""
    left = _value(left, flow)
    match left:
        case ast.BinOp(
            left=ast.BinOp(left=program, op=ast.Mult(), right=ast.Name(id=block)), op=ast.Add(), right=lanes
        ):
            program, lanes = _value(program, flow), _value(lanes, flow)
            is_program = isinstance(program, ast.Call) and program in list(calls_of(program, "program_id"))
            return is_program and ast.unparse(lanes) == f"tl.arange(0, {block})"
    return False


def _value(node: ast.expr, flow: dict[str, list[ast.expr]]) -> ast.expr:
    values = flow.get(node.id, []) if isinstance(node, ast.Name) else []
    return values[0] if len(values) == 1 else node


ASSIST = Assist(
    id="add_triton_contiguity_hints",
    title="Hint at contiguous offsets",
    skill="triton-contiguity-hints",
    pattern="triton_unhinted_offsets",
    make=_rewrite,
)
