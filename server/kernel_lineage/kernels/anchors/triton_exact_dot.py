"""A `tl.dot` that is told to multiply float32 tiles exactly, which no tensor core does."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_lineage.kernels.anchors.matching import matched_in
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.triton_forms import dotted
from kernel_lineage.kernels.triton_syntax import TritonUnit, pointer_of
from kernel_lineage.kernels.units import in_entry


def exact_word(call: ast.Call) -> ast.keyword | None:
    """The `allow_tf32=False` or `input_precision="ieee"` of a `tl.dot`; None when it says neither."""
    if dotted(call.func) not in ("tl.dot", "triton.language.dot", "language.dot"):
        return None
    options = {k.arg: k for k in call.keywords if k.arg in ("allow_tf32", "input_precision")}
    if len(options) != 1:
        return None
    name, word = next(iter(options.items()))
    exact = isinstance(word.value, ast.Constant) and word.value.value == {"allow_tf32": False}.get(
        name, "ieee"
    )
    return word if exact else None


def _find(unit: TritonUnit) -> Iterator[Anchor]:
    for call in unit.called("dot"):
        word = exact_word(call.node)
        if word is not None and len(call.node.args) >= 2:
            x, y = (_loaded(unit, operand) for operand in call.node.args[:2])
            names = {"x": x, "y": y, "precision": ast.unparse(word)}
            yield matched_in(unit, call.node, f"a product with {ast.unparse(word)}", names)


def _loaded(unit: TritonUnit, operand: ast.expr) -> str:
    """The pointer that an operand is loaded from as it is; "" when something is done to it before."""
    if isinstance(operand, ast.Call) and dotted(operand.func) == "tl.trans" and operand.args:
        operand = operand.args[0]
    if isinstance(operand, ast.Name):
        values = unit.assignments.get(operand.id, [])
        operand = values[0][1] if len(values) == 1 and operand.id not in unit.advances else operand
    loads = isinstance(operand, ast.Call) and dotted(operand.func) == "tl.load" and bool(operand.args)
    return pointer_of(unit.form(operand.args[0])) if loads and isinstance(operand, ast.Call) else ""


PATTERN = AnchorPattern(
    title="Exact float32 product",
    names={
        "x": "the pointer that the first operand is loaded from, where nothing is done to it on the way",
        "y": "that of the second operand",
        "precision": "what asks for exactness",
    },
    find=in_entry(in_triton=_find),
)
