"""Exact functions and divisions where a fast path exists."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.anchors.matching import matched
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.cuda_expressions import integer_of
from kernel_lineage.kernels.cuda_floats import is_single
from kernel_lineage.kernels.cuda_forms import field_of, text_of
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.units import in_entry

_FAST = {
    "expf": "__expf", "logf": "__logf", "log2f": "__log2f", "sinf": "__sinf", "cosf": "__cosf", "powf": "__powf",
    "exp": "__expf", "log": "__logf", "tanhf": "tanh.approx.f32",
}  # fmt: skip
_OF_ANY_TYPE = ("exp", "log")
"""On a `double` they are double precision: no intrinsic is their equal."""


def _find_in(unit: Unit) -> Iterator[Anchor]:
    for call in unit.calls:
        fast = _FAST.get(call.name)
        single = call.name not in _OF_ANY_TYPE or (
            bool(call.arguments) and is_single(unit, call.arguments[0])
        )
        if fast is not None and call.arguments and not call.receiver and single:
            names = {"function": call.name, "fast": fast, "x": text_of(call.arguments[0])}
            yield matched(call.node, f"{call.name}, where {fast} is faster and less exact", names)
    for node in unit.operations.get("/", ()):
        right = field_of(node, "right")
        if right is None or integer_of(right) is not None or right.type == "number_literal":
            continue
        function = text_of(right.child_by_field_name("function")) if right.type == "call_expression" else ""
        root = next(iter(right.named_children[-1].named_children), None) if function else None
        if function == "sqrtf" or (function == "sqrt" and is_single(unit, root)):
            names = {"function": f"1 / {function}", "fast": "rsqrtf", "x": text_of(root)}
            yield matched(node, f"a division by {function}, where rsqrtf is one instruction", names)
        elif unit.loops_around(node) and right.type == "identifier" and is_single(unit, right):
            names = {"function": "/", "fast": "__fdividef", "x": text_of(right)}
            yield matched(node, f"a division by {text_of(right)} in every round", names)


PATTERN = AnchorPattern(
    title="Exact math with a fast path",
    names={
        "function": "what is called, or `/`",
        "fast": "the fast path",
        "x": "the argument, or the divisor",
    },
    find=in_entry(_find_in),
)
