"""A loop of a Triton kernel whose number of rounds is known when it is compiled."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_lineage.kernels.anchors.matching import matched_in
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.triton_forms import dotted
from kernel_lineage.kernels.triton_syntax import TritonUnit
from kernel_lineage.kernels.units import in_entry

ID = "triton_constant_loop"

_RANGES = ("range", "tl.range", "triton.language.range")


def rounds(loop: ast.For | ast.While, constants: set[str]) -> str:
    """`COUNT` or `8` of an innermost `for i in range(COUNT)` over a constant; "" for any other loop."""
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call) or loop.iter.keywords:
        return ""
    if any(isinstance(n, ast.For | ast.While) for s in loop.body for n in ast.walk(s)):
        return ""
    match loop.iter.args:
        case [stop] | [ast.Constant(value=0), stop] if dotted(loop.iter.func) in _RANGES:
            is_number = isinstance(stop, ast.Constant) and type(stop.value) is int
            named = isinstance(stop, ast.Name) and stop.id in constants
            return ast.unparse(stop) if is_number or named else ""
    return ""


def _find(unit: TritonUnit) -> Iterator[Anchor]:
    constants = {p.name for p in unit.kernel.parameters if p.constexpr}
    for loop in unit.loops:
        if count := rounds(loop, constants):
            yield matched_in(ID, unit, loop, f"a loop of {count} rounds", {"count": count})


PATTERN = AnchorPattern(
    id=ID,
    title="Loop over a constant",
    names={"count": "the number of rounds"},
    find=in_entry(in_triton=_find),
)
