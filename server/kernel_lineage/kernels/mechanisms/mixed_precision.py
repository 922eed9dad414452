"""Elements stored in one type and computed in another."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import bare, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import CudaSyntax, Unit, cuda_syntax
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, TypicalCondition
from kernel_lineage.kernels.mechanisms.seeing import BOTH, cuda, seen, seen_in, triton
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_forms import dotted
from kernel_lineage.kernels.triton_syntax import triton_syntax

ID = "mixed_precision"

_CONVERSIONS = (
    "__half2float", "__float2half", "__float2half_rn", "__bfloat162float", "__float2bfloat16", "__float2bfloat16_rn",
    "__half22float2", "__float22half2_rn", "__bfloat1622float2", "__nv_cvt_float_to_fp8", "stochastic_rounding",
)  # fmt: skip
_NARROW = frozenset({
    "half", "__half", "__half2", "half2", "__nv_bfloat16", "nv_bfloat16", "__nv_bfloat162", "bfloat16", "floatX",
    "__nv_fp8_e4m3", "__nv_fp8_e5m2", "x128",
})  # fmt: skip
_TRITON_TYPES = frozenset({"float64", "float32", "float16", "bfloat16", "float8e4nv", "float8e5", "tf32"})


def _narrow_storage(syntax: CudaSyntax) -> bool:
    """Whether a pointer's element type is narrower than float, or a type parameter that may be."""
    types = {t.name for t in syntax.kernel.template_parameters if t.type is None}
    written = [p.type for p in syntax.kernel.parameters if p.pointer]
    return any(word in _NARROW or word in types for w in written for word in w.replace("*", " ").split())


def _is_element(unit: Unit, node: Node | None) -> bool:
    """Whether an expression is an element of an array, or a variable that was given one."""
    value = bare(node)
    if value is None:
        return False
    if value.type == "identifier":
        value = bare(indexing(unit).value_of(text_of(value), value.start_byte))
    if value is not None and value.type == "call_expression":
        arguments = value.child_by_field_name("arguments")
        value = (
            bare(arguments.named_children[0]) if arguments is not None and arguments.named_children else None
        )
    return value is not None and value.type in (
        "subscript_expression",
        "pointer_expression",
        "binary_expression",
    )


def _detect_cuda(syntax: CudaSyntax) -> Iterator[Site]:
    for call in syntax.calls(*_CONVERSIONS):
        yield seen(ID, call.node, f"{call.name} changes the precision")
    narrow = _narrow_storage(syntax)
    for unit in syntax.units:
        wide = {v.name for v in unit.variables if v.type == "double" and not v.pointer}
        elements = any(p.dtype in ("float32", None) and p.pointer for p in syntax.kernel.parameters)
        for node in unit.of("assignment_expression"):
            left = node.child_by_field_name("left")
            if elements and text_of(left) in wide and unit.loops_around(node):
                yield seen(ID, node, f"{text_of(left)} gathers in double")
        if not narrow:
            continue
        for node in unit.of("cast_expression"):
            kind = text_of(node.child_by_field_name("type"))
            if kind in ("float", "double") and _is_element(unit, node.child_by_field_name("value")):
                yield seen(ID, node, f"elements are computed as {kind}")
        for call in unit.calls_by_name.get("static_cast", ()):
            if (
                call.template in ("float", "double")
                and call.arguments
                and _is_element(unit, call.arguments[0])
            ):
                yield seen(ID, call.node, f"elements are computed as {call.template}")


def _detect(kernel: Kernel) -> Iterator[Site]:
    syntax = cuda_syntax(kernel)
    if syntax is not None:
        yield from _detect_cuda(syntax)
    python = triton_syntax(kernel)
    if python is not None:
        for unit, call in python.calls("to", "cast"):
            target = call.node.args[-1] if call.node.args else call.keyword("dtype")
            name = dotted(target).rpartition(".")[2]
            stored = isinstance(target, ast.Attribute) and name in ("dtype", "element_ty")
            if name in _TRITON_TYPES or stored:
                yield seen_in(ID, unit, call.node, f"converted to {dotted(target)}")


MECHANISM = Mechanism(
    id=ID,
    title="Mixed precision",
    direction=Direction.PRECISION,
    summary="Stores narrow elements to save traffic, and computes or accumulates in a wider type to keep the result.",
    looks_for="Conversions of elements between half, bfloat16, float and double, wider sums, `.to(tl.float32)`.",
    detect=_detect,
    languages=BOTH,
    conditions=(
        TypicalCondition(
            "dtype(x) in (float16, bfloat16)",
            "validity",
            "data types",
            "The tolerance must be that of the stored type.",
        ),
        TypicalCondition(
            "device.compute_capability >= (8, 0)", "validity", "hardware", "bfloat16 came with Ampere."
        ),
        TypicalCondition(
            'profile.bound == "bandwidth"', "profit", "pipeline", "Half the bytes is half the time there."
        ),
    ),
    present=(
        cuda("""
            __global__ void scale(half* out, const half* inp, float a, int n) {
                int i = blockIdx.x * blockDim.x + threadIdx.x;
                if (i < n) { out[i] = __float2half(a * __half2float(inp[i])); }
            }
            """),
        cuda("""
            template <typename T>
            __global__ void total(float* out, const T* inp, int n) {
                float sum = 0.0f;
                for (int i = threadIdx.x; i < n; i += blockDim.x) { sum += (float)inp[i]; }
                out[threadIdx.x] = sum;
            }
            """),
        triton("""
            @triton.jit
            def scale(X, Y, BLOCK: tl.constexpr):
                offs = tl.arange(0, BLOCK)
                x = tl.load(X + offs)
                y = x.to(tl.float32) * 2
                tl.store(Y + offs, y.to(x.dtype))
            """),
    ),
    absent=(
        cuda("""
            __global__ void mean(float* out, const float* inp, int n) {
                int i = blockIdx.x * blockDim.x + threadIdx.x;  // (float)half
                if (i < n) { out[i] = inp[i] / (float)n; }
            }
            """),
        cuda("""
            __global__ void midpoint(float* out, const float* half, int n) {
                out[threadIdx.x] = half[threadIdx.x] * 0.5f;
            }
            """),
        triton("""
            @triton.jit
            def scale(X, Y, stride, BLOCK: tl.constexpr):
                row = tl.program_id(0).to(tl.int64)
                offs = tl.arange(0, BLOCK)
                tl.store(Y + row * stride + offs, 2 * tl.load(X + row * stride + offs))
            """),
    ),
)
