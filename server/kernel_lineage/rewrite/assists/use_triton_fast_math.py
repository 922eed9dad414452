"""Ask for what the special function unit computes: `exp2` and `rsqrt`.

Before: `x / tl.sqrt(v)` and `tl.exp(x)`.
After: `x * tl.rsqrt(v)` and `tl.exp2((x) * 1.4426950408889634)`.

`rsqrt` saves the division. `exp` is a product with log2(e) followed by `exp2` already: written out, the product can be
joined with a factor of the argument, as in `tl.exp2(x * (scale * 1.4426950408889634))`, which is done where one of the
factors is a plain name that no loop or load gives a value. All such places of the kernel are changed together.
"""

from __future__ import annotations

import ast

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.anchors.triton_exact_math import inverse_root, is_called
from kernel_lineage.kernels.source import Kernel, Span
from kernel_lineage.rewrite.assists.layout import data_of
from kernel_lineage.rewrite.assists.model import Assist, Refusal
from kernel_lineage.rewrite.assists.triton_places import function_of, span_of, stored_names
from kernel_lineage.rewrite.candidate import Candidate, Edit

_LOG2_E = "1.4426950408889634"
_ONES = (1, 1.0)


def _rewrite(kernel: Kernel, anchor: Anchor) -> Candidate:
    function = function_of(kernel)
    scalars = {p.name for p in kernel.parameters if not p.pointer} - set(stored_names(function))
    edits: list[Edit] = []
    for node in ast.walk(function):
        division = inverse_root(node)
        if division is not None:
            edits += _multiplied(kernel, division)
        elif isinstance(node, ast.Call) and is_called(node, "exp"):
            edits += _based_on_two(kernel, node, scalars)
    if not edits:
        raise Refusal(f"{kernel.name} neither calls tl.exp nor divides by tl.sqrt")
    if not any(anchor.span.contains(e.span) or e.span.contains(anchor.span) for e in edits):
        raise Refusal("the code has changed since; nothing is here")
    return ASSIST.candidate(
        kernel,
        sorted(edits, key=lambda e: (e.span.start, e.span.end)),
        explanation="One instruction of the special function unit in place of a division or a product besides.",
    )


def _multiplied(kernel: Kernel, node: ast.BinOp) -> list[Edit]:
    """`a / tl.sqrt(v)` → `a * tl.rsqrt(v)`; `1 / tl.sqrt(v)` → `tl.rsqrt(v)`."""
    assert isinstance(node.right, ast.Call)
    name = span_of(kernel, node.right.func)
    renamed = Edit(name, ast.unparse(node.right.func).removesuffix("sqrt") + "rsqrt")
    data, left = data_of(kernel), span_of(kernel, node.left).end
    at = data.find(b"/", left, name.start)
    if data[left : name.start].strip(b"() \t") != b"/":
        return []  # a comment or a line's end stands between
    if isinstance(node.left, ast.Constant) and node.left.value in _ONES and b")" not in data[left:at]:
        start = span_of(kernel, node.left).start
        end = name.start if b"(" not in data[at : name.start] else at + 1
        return [Edit(Span(start, end, name.first_line, name.last_line), ""), renamed]
    return [Edit(Span(at, at + 1, name.first_line, name.last_line), "*"), renamed]


def _based_on_two(kernel: Kernel, node: ast.Call, scalars: set[str]) -> list[Edit]:
    """`tl.exp(x)` → `tl.exp2((x) * log2(e))`, the factor with a scalar of the argument where there is one."""
    name, argument = span_of(kernel, node.func), node.args[0]
    edits = [Edit(name, ast.unparse(node.func) + "2")]
    if isinstance(argument, ast.BinOp) and isinstance(argument.op, ast.Mult):
        for factor in (argument.right, argument.left):
            if isinstance(factor, ast.Name) and factor.id in scalars:
                return [*edits, Edit(span_of(kernel, factor), f"({factor.id} * {_LOG2_E})")]
    span = span_of(kernel, argument)
    if isinstance(argument, ast.Name | ast.Call | ast.Subscript):
        return [*edits, Edit(_empty(span.end, span.last_line), f" * {_LOG2_E}")]
    before, after = _empty(span.start, span.first_line), _empty(span.end, span.last_line)
    return [*edits, Edit(before, "("), Edit(after, f") * {_LOG2_E}")]


def _empty(at: int, line: int) -> Span:
    return Span(at, at, line, line)


ASSIST = Assist(
    title="Use exp2 and rsqrt",
    skill="triton-fast-math",
    pattern="triton_exact_math",
    make=_rewrite,
)
