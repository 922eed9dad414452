"""Multiply float32 tiles on the tensor cores, in three TF32 products that add up to nearly all digits.

Before: `tl.dot(x, y, allow_tf32=False)` or `tl.dot(x, y, input_precision="ieee")`.
After: `tl.dot(x, y, input_precision="tf32x3")`.

Each operand is split into what TF32 keeps and the rest; only the product of the two rests is left out. A single TF32
product keeps 10 bits, which no check against an exact kernel passes, so it is not proposed. All such products of the
kernel are changed together.
"""

from __future__ import annotations

import ast

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.anchors.triton_exact_dot import exact_word
from kernel_lineage.kernels.source import Kernel, Span
from kernel_lineage.rewrite.assists.layout import data_of
from kernel_lineage.rewrite.assists.model import Assist, Refusal
from kernel_lineage.rewrite.assists.triton_places import function_of, span_of
from kernel_lineage.rewrite.candidate import Candidate, Edit

_PIECES = 'input_precision="tf32x3"'


def _rewrite(kernel: Kernel, anchor: Anchor) -> Candidate:
    function = function_of(kernel)
    edits: list[Edit] = []
    asked = False
    for call in ast.walk(function):
        if not isinstance(call, ast.Call):
            continue
        word = exact_word(call)
        if word is not None:
            wide = _wide(call)
            if wide:
                raise Refusal(f"{wide} is summed or multiplied in float64, which TF32 has no pieces for")
            span = _span(kernel, word)
            edits.append(Edit(span, _PIECES))
            asked = asked or anchor.span.contains(span) or span.contains(anchor.span)
    if not edits:
        raise Refusal(
            f"{kernel.name} asks for no exact product, by allow_tf32=False or input_precision='ieee'"
        )
    if not asked:
        raise Refusal("the code has changed since; nothing is here")
    return ASSIST.candidate(
        kernel,
        edits,
        explanation="Three TF32 products on the tensor cores in place of one in float32; the last bits change.",
    )


def _span(kernel: Kernel, word: ast.keyword) -> Span:
    """The place of a keyword with its name."""
    value = span_of(kernel, word.value)
    assert word.arg is not None
    start = data_of(kernel).rfind(word.arg.encode(), 0, value.start)
    return Span(start, value.end, word.lineno, value.last_line)


def _wide(call: ast.Call) -> str:
    """What says that a product is one of float64; "" when nothing does."""
    parts = [*call.args, *(k.value for k in call.keywords)]
    named = [n for p in parts for n in ast.walk(p) if isinstance(n, ast.Attribute) and n.attr == "float64"]
    return ast.unparse(call.args[0]) if named and call.args else ""


ASSIST = Assist(
    title="Multiply float32 tiles in three TF32 products",
    skill="triton-dot-precision",
    pattern="triton_exact_dot",
    make=_rewrite,
)
