"""Mark what a kernel touches once as streaming, so that it does not push out of the cache what is reused.

Before: `out[i] = factor * x[i];`.
After: `__stcs(&out[i], factor * __ldcs(&x[i]));`.

A hint changes no value and no order. The intrinsics take addresses in global memory and certain types of elements only.
"""

from __future__ import annotations

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.anchors.streaming_access import streamed
from kernel_lineage.kernels.cuda_forms import operator_of, text_of
from kernel_lineage.kernels.cuda_indexing import Access
from kernel_lineage.kernels.edits import replace_node
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.layout import data_of, syntax_of
from kernel_lineage.rewrite.assists.model import Assist, Refusal
from kernel_lineage.rewrite.assists.template_types import dtypes_meant, pointee_of, types_meant
from kernel_lineage.rewrite.candidate import Candidate, Edit

_DTYPES = frozenset(
    {"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"}
    | {"float16", "bfloat16", "float32", "float64"}
)
_VECTORS = frozenset(
    {
        "char2",
        "char4",
        "uchar2",
        "uchar4",
        "short2",
        "short4",
        "ushort2",
        "ushort4",
        "int2",
        "int4",
        "uint2",
        "uint4",
    }
    | {"longlong2", "ulonglong2", "float2", "float4", "double2"}
)
"""Overloads of `__ldcs` and `__stcs` (CUDA C++ Programming Guide, load and store functions using cache hints)."""


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    syntax = syntax_of(kernel)
    if any("__ld" in text_of(u.node) or "__st" in text_of(u.node) for u in syntax.units):
        raise Refusal(f"{kernel.name} says something to the cache already")
    loads: list[Access] = []
    stores: list[Access] = []
    reason = ""
    for root, accesses in streamed(syntax.entry).items():
        why = _untaken(kernel, root) or next((w for a in accesses if (w := _not_plain(a))), "")
        if why:
            reason = reason or why
        else:
            (loads if accesses[0].reads else stores).extend(accesses)
    if not loads and not stores:
        raise Refusal(reason or f"{kernel.name} has no array whose elements are touched once")
    edits: list[Edit] = []
    for access in stores:
        assignment = access.node.parent
        value = assignment.child_by_field_name("right") if assignment is not None else None
        assert assignment is not None and value is not None
        inside = [a for a in loads if value.start_byte <= a.node.start_byte < value.end_byte]
        loads = [a for a in loads if a not in inside]
        text = data_of(kernel)[value.start_byte : value.end_byte]
        for load in reversed(inside):
            begin, end = load.node.start_byte - value.start_byte, load.node.end_byte - value.start_byte
            text = text[:begin] + b"__ldcs(&" + text[begin:end] + b")" + text[end:]
        edits.append(replace_node(assignment, f"__stcs(&{text_of(access.node)}, {text.decode()})"))
    edits += [replace_node(load.node, f"__ldcs(&{text_of(load.node)})") for load in loads]
    return ASSIST.candidate(
        kernel,
        edits,
        explanation="What is touched once is the first to leave the cache again; no value changes.",
    )


def _untaken(kernel: Kernel, root: str) -> str:
    """Why the intrinsics do not take a parameter's elements; "" when they do."""
    parameter = kernel.parameter(root)
    if parameter is None or "volatile" in parameter.type:
        return f"`{root}` is no plain pointer parameter"
    written = pointee_of(parameter)
    dtypes = dtypes_meant(kernel, written)
    if (dtypes and dtypes <= _DTYPES) or types_meant(kernel, written) & _VECTORS:
        return ""
    return f"the cache hints take no elements of `{parameter.type} {root}`"


def _not_plain(access: Access) -> str:
    """Why an access cannot become a call; "" when it can."""
    node, parent = access.node, access.node.parent
    if node.type != "subscript_expression" or parent is None or parent.type == "field_expression":
        return f"`{text_of(parent)}` is no whole element"
    if parent.type == "pointer_expression" and text_of(parent).startswith("&"):
        return f"`{text_of(parent)}` hands the address on"
    if not access.writes:
        return ""
    whole = parent.type == "assignment_expression" and parent.child_by_field_name("left") == node
    alone = parent.parent is not None and parent.parent.type == "expression_statement"
    if whole and alone and operator_of(parent) == "=":
        return ""
    return f"`{text_of(parent)}` is more than one plain store"


ASSIST = Assist(
    title="Mark what is touched once as streaming",
    skill="streaming-hints",
    pattern="streaming_access",
    make=_rewrite,
)
