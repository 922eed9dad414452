"""A Triton kernel that asks for an exponential or an inverse root where the hardware has a shorter way."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_lineage.kernels.anchors.matching import matched_in
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.triton_forms import dotted
from kernel_lineage.kernels.triton_syntax import TritonUnit
from kernel_lineage.kernels.units import in_entry

_LANGUAGE = ("tl.", "tl.math.", "triton.language.", "triton.language.math.")


def is_called(node: ast.AST, name: str) -> bool:
    """Whether a node is `tl.<name>(x)` or `tl.math.<name>(x)`."""
    return (
        isinstance(node, ast.Call)
        and dotted(node.func) in {prefix + name for prefix in _LANGUAGE}
        and len(node.args) == 1
        and not node.keywords
    )


def inverse_root(node: ast.AST) -> ast.BinOp | None:
    """The node when it is `a / tl.sqrt(x)`."""
    is_inverse = (
        isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and is_called(node.right, "sqrt")
    )
    return node if is_inverse and isinstance(node, ast.BinOp) else None


def _is_imported(unit: TritonUnit, node: ast.AST, name: str) -> bool:
    """Whether a node calls a function by its bare name, as after `from … import exp`."""
    own = unit.parameters | unit.assignments.keys()
    return isinstance(node, ast.Call) and dotted(node.func) == name and name not in own


def _find(unit: TritonUnit) -> Iterator[Anchor]:
    for statement in unit.function.body:
        for node in unit.inside(statement):
            if inverse_root(node) is not None:
                yield matched_in(unit, node, "a division by a square root", {"function": "sqrt"})
            elif is_called(node, "exp") or _is_imported(unit, node, "exp"):
                yield matched_in(unit, node, "an exponential to the base e", {"function": "exp"})


PATTERN = AnchorPattern(
    title="Exponential or inverse root",
    names={"function": "`exp` or `sqrt`"},
    find=in_entry(in_triton=_find),
)
