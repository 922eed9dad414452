"""Elements stored in one type and computed in another."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import arguments_of, bare, text_of
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.mechanisms.definitions import meanings_of
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit, validity
from kernel_lineage.kernels.mechanisms.seeing import seen, seen_in
from kernel_lineage.kernels.triton_forms import TritonCall, dotted
from kernel_lineage.kernels.triton_syntax import TritonUnit, pointer_of
from kernel_lineage.kernels.units import in_units

_CONVERSIONS = re.compile(
    r"__(?:half2?2?|bfloat16?2?2?|nv_bfloat162?)2?float2?(?:_r[nzdu])?|__float(?:22|2)(?:half|bfloat16|bfloat162|half2)2?(?:_r[nzdu])?"
    r"|__floats2(?:half2|bfloat162)_rn|__nv_cvt_\w+|__low2float|__high2float|__low2bfloat16|__double2float_rn"
)
_NARROW = frozenset({
    "half", "__half", "__half2", "half2", "__nv_bfloat16", "nv_bfloat16", "__nv_bfloat162", "bfloat16", "Half",
    "BFloat16",
    "__nv_fp8_e4m3", "__nv_fp8_e5m2", "__nv_fp8x4_e4m3", "Float8_e4m3fn", "half_t", "bfloat16_t", "int8_t",
})  # fmt: skip
_WIDER = re.compile(r"(?:at::)?(?:opmath_type|acc_type)\b|(?:MathTypeT|AccType)$")
"""PyTorch's names for the type in which an element is computed."""
_TRITON_TYPES = frozenset({"float64", "float32", "float16", "bfloat16", "float8e4nv", "float8e5", "tf32"})


def _narrow_storage(unit: Unit) -> bool:
    """Whether a pointer's element type is narrower than float, or a type parameter that may be."""
    kernel = unit.kernel
    types = {t.name for t in kernel.template_parameters if t.type is None}
    written = [p.type for p in kernel.parameters if p.pointer]
    # A structure of pointers says nothing of their types: its template parameter chooses them.
    if types and not written:
        return True
    words = {word.rpartition("::")[2] for w in written for word in w.replace("*", " ").split()}
    return any(_is_narrow(unit, word) or word in types for word in words)


def _is_narrow(unit: Unit, word: str, depth: int = 4) -> bool:
    """Whether a type is narrower than float, or one of several that may be."""
    if word.rpartition("::")[2] in _NARROW:
        return True
    return depth > 0 and any(_is_narrow(unit, other, depth - 1) for other in meanings_of(unit, word))


def _is_element(unit: Unit, node: Node | None) -> bool:
    """Whether an expression is an element of an array, or a variable that was given one."""
    value = bare(node)
    if value is None:
        return False
    if value.type == "identifier":
        value = bare(unit.value_of(text_of(value), value.start_byte))
    if value is not None and value.type == "call_expression":
        value = bare(next(iter(arguments_of(value)), None))
    return value is not None and value.type in (
        "subscript_expression",
        "pointer_expression",
        "binary_expression",
    )


def _casts(unit: Unit) -> Iterator[tuple[Node, str, Node | None]]:
    """Each conversion of a value to a named type: `(float)x`, `float(x)`, `static_cast<float>(x)`."""
    for node in unit.of("cast_expression"):
        yield node, text_of(node.child_by_field_name("type")), node.child_by_field_name("value")
    for call in unit.calls:
        if len(call.arguments) == 1 and call.name == "static_cast":
            yield call.node, call.template, call.arguments[0]
        elif len(call.arguments) == 1 and not call.receiver and not call.template:
            yield call.node, call.name, call.arguments[0]


def _detect_cuda(unit: Unit) -> Iterator[Site]:
    for call in unit.calls:
        if _CONVERSIONS.fullmatch(call.name):
            yield seen(call.node, f"{call.name} changes the precision", to=_target(call.name))
    wide = {v.name for v in unit.variables if v.type == "double" and not v.pointer}
    elements = any(p.dtype in ("float32", None) and p.pointer for p in unit.kernel.parameters)
    for node in unit.of("assignment_expression"):
        left = node.child_by_field_name("left")
        if elements and text_of(left) in wide and unit.loops_around(node):
            yield seen(node, f"{text_of(left)} gathers in double", to="double")
    for node, kind, value in _casts(unit) if _narrow_storage(unit) else ():
        plain = kind in ("float", "double")
        wider = plain or any(map(_WIDER.search, meanings_of(unit, kind) or {kind}))
        if wider and _is_element(unit, value):
            yield seen(node, f"elements are computed as {kind}", to=kind if plain else "wider")


def _target(function: str) -> str:
    after = function.rpartition("2")[2] if function.endswith(("float", "float2")) else function
    return "float" if "float" in after and "bfloat" not in after else "narrow"


def _detect_triton(unit: TritonUnit) -> Iterator[Site]:
    for call in unit.called("to", "cast"):
        target = call.node.args[-1] if call.node.args else call.keyword("dtype")
        definition = unit.value_of(target.id, call.node.lineno) if isinstance(target, ast.Name) else None
        target = definition[1] if definition is not None else target
        name = dotted(target).rpartition(".")[2]
        stored = isinstance(target, ast.Attribute) and name in ("dtype", "element_ty")
        if name in _TRITON_TYPES or stored:
            kind = name if name in _TRITON_TYPES else "stored"
            note = f"converted to {dotted(target)}"
            yield seen_in(unit, call.node, note, _loaded(unit, call), to=kind)


def _loaded(unit: TritonUnit, call: TritonCall) -> str:
    """The tensor whose loaded elements are converted right away, "" for what was computed."""
    value = (
        call.node.func.value if isinstance(call.node.func, ast.Attribute) and not call.of_language else None
    )
    if isinstance(value, ast.Call) and dotted(value.func).endswith(".load") and value.args:
        return pointer_of(unit.form(value.args[0]))
    return ""


MECHANISM = Mechanism(
    title="Mixed precision",
    direction=Direction.PRECISION,
    summary="Stores narrow elements to save traffic, and computes or accumulates in a wider type to keep the result.",
    looks_for="Conversions of elements between half, bfloat16, float and double, wider sums, `.to(tl.float32)`.",
    detect=in_units(_detect_cuda, _detect_triton),
    counted=True,
    conditions=(
        validity(
            "dtype(x) in (float16, bfloat16)", "data types", "The tolerance must be that of the stored type."
        ),
        validity("device.compute_capability >= (8, 0)", "hardware", "bfloat16 came with Ampere."),
        profit('profile.bound == "bandwidth"', "pipeline", "Half the bytes is half the time there."),
    ),
)
