"""What a Triton kernel asks of its sizes because of the language: the extent of a block is a power of two."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from kernel_gate.expressions import ExpressionError, Number, evaluate, names
from kernel_lineage.kernels.source import Kernel


def promises_of(kernel: Kernel, constexpr: Mapping[str, str], sizes: Mapping[str, Number]) -> tuple[str, ...]:
    """Conditions over dims that hold at the drafted sizes and have to hold at others: `next_power_of_2(D) == D`."""
    found = dict.fromkeys(_block_extents(kernel, constexpr))
    return tuple(f"next_power_of_2({e}) == {e}" for e in found if _depends(e, sizes))


def _block_extents(kernel: Kernel, constexpr: Mapping[str, str]) -> Iterator[str]:
    """What `tl.arange(0, EXTENT)` is called with, as expressions over dims."""
    for node in ast.walk(kernel.function) if kernel.function is not None else ():
        match node:
            case ast.Call(func=ast.Attribute(attr="arange"), args=[_, end]):
                tree = _Written(constexpr).visit(ast.parse(ast.unparse(end), mode="eval"))
                yield ast.unparse(tree)


class _Written(ast.NodeTransformer):
    """Puts what the constexpr parameters are in the place of their names."""

    def __init__(self, constexpr: Mapping[str, str]) -> None:
        self.constexpr = constexpr

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A name."""
        text = self.constexpr.get(node.id)
        return ast.parse(text, mode="eval").body if text is not None else node


def _depends(extent: str, sizes: Mapping[str, Number]) -> bool:
    """Whether an extent is a power of two at these sizes, and need not be at others."""
    try:
        at = evaluate(f"next_power_of_2({extent}) == ({extent})", sizes)
        free = names(extent)
    except ExpressionError:
        return False
    return bool(at) and bool(free) and not extent.startswith("next_power_of_2(")
