"""Several elements per load or store: `float4`, packed structs, and in Triton the contiguity hints."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import CudaSyntax, Unit, cuda_syntax
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, TypicalCondition
from kernel_lineage.kernels.mechanisms.seeing import BOTH, cuda, seen, seen_in, triton
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_syntax import triton_syntax

ID = "vectorised_access"

_VECTOR = re.compile(
    r"(?:u?(?:char|short|int|long|longlong)|float|double)[234]|(?:__)?half2|(?:__)?nv_bfloat162"
)
_PACK = re.compile(r"\w*(?:Packed|Pack|Vec|Vector|Aligned)\w*|[xf]128|\w+_vec(?:_t)?")
_PACKED_CALLS = ("load128", "load128cs", "load128cg", "store128", "store128cs", "store128cg")


def is_vector_type(name: str, syntax: CudaSyntax) -> bool:
    """Whether a type holds several elements: a built-in vector, a name that stands for one, or a packing struct."""
    seen_names: set[str] = set()
    while name not in seen_names:
        seen_names.add(name)
        bare_name = name.removeprefix("const ").split("<")[0].strip().rpartition("::")[2]
        if _VECTOR.fullmatch(bare_name) or _PACK.fullmatch(bare_name):
            return True
        name = _aliases(syntax).get(bare_name, name)
    return False


def _aliases(syntax: CudaSyntax) -> dict[str, str]:
    """`typedef` and `using` names of the file → the type that they stand for."""
    kept = syntax.entry.derived.get(ID)
    if isinstance(kept, dict):
        return kept
    aliases: dict[str, str] = {}
    source = syntax.kernel.source
    for node in source.root.named_children if source is not None and source.root is not None else ():
        if node.type == "type_definition":
            aliases[text_of(node.child_by_field_name("declarator"))] = text_of(
                node.child_by_field_name("type")
            )
        elif node.type == "alias_declaration":
            aliases[text_of(node.child_by_field_name("name"))] = text_of(node.child_by_field_name("type"))
    syntax.entry.derived[ID] = aliases
    return aliases


def _pointer_types(unit: Unit) -> Iterator[tuple[str, Node]]:
    for node in unit.of("cast_expression"):
        yield from _pointee(node.child_by_field_name("type"), node)
    for call in unit.calls:
        if call.name == "reinterpret_cast":
            function = call.node.child_by_field_name("function")
            listed = function.child_by_field_name("arguments") if function is not None else None
            for described in listed.named_children if listed is not None else ():
                yield from _pointee(described, call.node)


def _pointee(described: Node | None, at: Node) -> Iterator[tuple[str, Node]]:
    if described is not None and described.child_by_field_name("declarator") is not None:
        yield text_of(described.child_by_field_name("type")), at


def _detect(kernel: Kernel) -> Iterator[Site]:
    syntax = cuda_syntax(kernel)
    if syntax is not None:
        yield from _detect_cuda(syntax)
    python = triton_syntax(kernel)
    if python is not None:
        for unit, call in python.calls("max_contiguous", "multiple_of"):
            if call.of_language:
                yield seen_in(
                    ID, unit, call.node, f"{call.qualified} tells the compiler what it may vectorise"
                )


def _detect_cuda(syntax: CudaSyntax) -> Iterator[Site]:
    for unit in syntax.units:
        for kind, node in _pointer_types(unit):
            if is_vector_type(kind, syntax):
                yield seen(ID, node, f"address taken as {kind}*")
        wide = {
            p.name for p in syntax.kernel.parameters if p.pointer and is_vector_type(_element(p.type), syntax)
        }
        if unit.entry and wide:
            for access in indexing(unit).accesses:
                if access.root in wide:
                    yield seen(ID, access.node, f"{access.root} holds vectors")
    for call in syntax.calls(*_PACKED_CALLS):
        yield seen(ID, call.node, f"{call.name} moves 16 bytes")


def _element(written: str) -> str:
    words = [
        w
        for w in written.replace("*", " ").split()
        if w not in ("const", "__restrict__", "volatile", "restrict")
    ]
    return words[0] if words else ""


MECHANISM = Mechanism(
    id=ID,
    title="Vectorised access",
    direction=Direction.MEMORY_ACCESS,
    summary="Moves 8 or 16 bytes per instruction instead of one element, so fewer instructions keep the memory busy.",
    looks_for="Addresses taken as `float4*` and the like, packing structs of 128 bits, and Triton's contiguity hints.",
    detect=_detect,
    languages=BOTH,
    conditions=(
        TypicalCondition(
            "align(x) >= 16", "validity", "layout", "A 16-byte access faults at another address."
        ),
        TypicalCondition(
            "C % 4 == 0", "validity", "shape", "A row that is no multiple leaves a tail, or shifts rows."
        ),
        TypicalCondition(
            "contiguous(x)", "validity", "layout", "Neighbouring elements must be neighbours in memory."
        ),
        TypicalCondition(
            'profile.bound == "bandwidth"', "profit", "pipeline", "It saves only what waits for memory."
        ),
    ),
    present=(
        cuda("""
            __global__ void scale(float* out, const float* inp, float a, int n4) {
                int i = blockIdx.x * blockDim.x + threadIdx.x;
                if (i < n4) {
                    float4 v = reinterpret_cast<const float4*>(inp)[i];
                    v.x *= a; v.y *= a; v.z *= a; v.w *= a;
                    reinterpret_cast<float4*>(out)[i] = v;
                }
            }
            """),
        cuda("""
            typedef float4 quad;
            __global__ void copy(float* out, const float* inp) {
                int i = blockIdx.x * blockDim.x + threadIdx.x;
                *(quad*)(out + 4 * i) = *(const quad*)(inp + 4 * i);
            }
            """),
        cuda("""
            __global__ void negate(half* out, const half* inp) {
                int i = (blockIdx.x * blockDim.x + threadIdx.x) * x128::size;
                x128 v = load128(inp + i);
                for (int k = 0; k < x128::size; k++) { v[k] = -v[k]; }
                store128(out + i, v);
            }
            """),
        triton("""
            @triton.jit
            def copy(X, Y, n, BLOCK: tl.constexpr):
                offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
                offs = tl.max_contiguous(tl.multiple_of(offs, BLOCK), BLOCK)
                tl.store(Y + offs, tl.load(X + offs))
            """),
    ),
    absent=(
        cuda("""
            // one day this will read a float4
            __global__ void copy(float* out, const float* inp, int n) {
                int i = blockIdx.x * blockDim.x + threadIdx.x;
                const char* note = "reinterpret_cast<float4*>";
                if (i < n) { out[i] = inp[i]; }
            }
            """),
        cuda("""
            __global__ void tint(float* out, float4 colour, int n) {
                int i = blockIdx.x * blockDim.x + threadIdx.x;
                float4 c = colour;
                if (i < n) { out[i] = c.x + c.y; }
            }
            """),
        triton("""
            @triton.jit
            def copy(X, Y, n, BLOCK: tl.constexpr):
                offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
                tl.store(Y + offs, tl.load(X + offs, mask=offs < n), mask=offs < n)
            """),
    ),
)
