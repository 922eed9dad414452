"""Matrix products of operands that are narrower than the sums."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import in_assembly, seen, seen_in
from kernel_lineage.kernels.triton_forms import TritonCall, dotted
from kernel_lineage.kernels.triton_syntax import TritonUnit
from kernel_lineage.kernels.units import in_units

_PIECES = frozenset({"tf32", "tf32x3", "bf16x3", "bf16x6"})
_NARROW = frozenset({"float16", "bfloat16", "float8e4nv", "float8e5"})
_PTX = re.compile(r"mma\S*\.f32\.(?:tf32\.tf32|f16\.f16|bf16\.bf16)\.f32|cvt\.rna\.tf32")


def _narrowing(call: TritonCall) -> str:
    """What narrows the operands of a `tl.dot`; "" when nothing does that can be seen."""
    precision, allowed = call.keyword("input_precision"), call.keyword("allow_tf32")
    if isinstance(precision, ast.Constant) and precision.value in _PIECES:
        return str(precision.value)
    if isinstance(allowed, ast.Constant) and allowed.value is True:
        return "tf32"
    kinds = [_narrowed(operand) for operand in call.node.args[:2]]
    return kinds[0] if len(kinds) == 2 and all(kinds) else ""


def _narrowed(operand: ast.expr) -> str:
    """`bfloat16` for `x.to(tl.bfloat16)`."""
    if (
        not isinstance(operand, ast.Call)
        or not isinstance(operand.func, ast.Attribute)
        or operand.func.attr != "to"
    ):
        return ""
    name = dotted(operand.args[0]).rpartition(".")[2] if operand.args else ""
    return name if name in _NARROW else ""


def _detect_cuda(unit: Unit) -> Iterator[Site]:
    for call in unit.calls_by_name.get("__float_to_tf32", ()):
        yield seen(call.node, f"{call.qualified} keeps 10 bits of a product's operand")
    for _, node in in_assembly(unit, _PTX):
        yield seen(node, "inline PTX multiplies narrow operands and adds in float32")


def _detect_triton(unit: TritonUnit) -> Iterator[Site]:
    for call in unit.called("dot"):
        kinds = _narrowing(call) if call.of_language else ""
        if kinds:
            yield seen_in(unit, call.node, f"operands go to the product as {kinds}")


MECHANISM = Mechanism(
    title="Narrow products",
    direction=Direction.PRECISION,
    summary="Multiplies tiles as TF32, half or bfloat16, alone or in pieces that add up, and sums in float32.",
    looks_for="`tl.dot` with `input_precision` of `tf32`, `tf32x3`, `bf16x3` or `bf16x6`, `allow_tf32=True`, or with "
    "operands that are cast; `__float_to_tf32` and narrow `mma` with float32 sums.",
    detect=in_units(_detect_cuda, _detect_triton),
    conditions=(
        validity("device.compute_capability >= (8, 0)", "hardware", "TF32 and bfloat16 came with Ampere."),
        profit("dtype(x) == float32", "data types", "Narrower operands are narrow already."),
    ),
)
