"""Offsets worked out in 64-bit integers, so that they hold for tensors of more than 2^31 elements."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kernel_lineage.kernels.cuda_forms import bare, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, profit
from kernel_lineage.kernels.mechanisms.seeing import seen, seen_in
from kernel_lineage.kernels.triton_forms import dotted
from kernel_lineage.kernels.triton_syntax import TritonUnit
from kernel_lineage.kernels.units import in_units

_WIDE = re.compile(
    r"(?:const |constexpr |std::|unsigned )*"
    r"(?:u?int64_t|size_t|ptrdiff_t|size_type|long(?: long)?(?: unsigned)?(?: int)?)(?: const)?"
)
_TYPES = frozenset({"int64", "uint64"})


def _detect_cuda(unit: Unit) -> Iterator[Site]:
    reach = indexing(unit)
    for node in unit.of("cast_expression"):
        if _is_wide(text_of(node.child_by_field_name("type"))) and reach.form(
            node.child_by_field_name("value")
        ):
            yield seen(node, "an index is widened to 64 bits")
    for call in unit.calls:
        wide = call.template if call.name == "static_cast" else call.name
        if (
            len(call.arguments) == 1
            and _is_wide(wide)
            and not call.receiver
            and reach.form(call.arguments[0])
        ):
            yield seen(call.node, "an index is widened to 64 bits")
    for variable in unit.variables:
        value = bare(variable.value)
        if variable.pointer or variable.sizes or value is None or not _is_wide(variable.type):
            continue
        # A cast in the value has been told already.
        if value.type not in ("cast_expression", "call_expression") and reach.form(value):
            yield seen(variable.node, f"{variable.name} is worked out in 64 bits")


def _is_wide(kind: str) -> bool:
    return _WIDE.fullmatch(kind.strip()) is not None


def _detect_triton(unit: TritonUnit) -> Iterator[Site]:
    for call in unit.called("to", "cast"):
        target = call.node.args[-1] if call.node.args else call.keyword("dtype")
        if dotted(target).rpartition(".")[2] in _TYPES:
            yield seen_in(unit, call.node, "an index is widened to 64 bits")
    for argument in (*unit.function.args.args, *unit.function.args.kwonlyargs):
        written = argument.annotation
        kind = written.value if isinstance(written, ast.Constant) else dotted(written)
        if str(kind).rpartition(".")[2] in (*_TYPES, "i64"):
            yield seen_in(unit, argument, f"{argument.arg} is passed in 64 bits")


MECHANISM = Mechanism(
    title="64-bit index arithmetic",
    direction=Direction.MEMORY_ACCESS,
    summary="Works out offsets in 64 bits, so that they do not wrap around for tensors of more than 2^31 elements.",
    looks_for="Indices that are cast to or kept in a 64-bit integer: `(int64_t)row * stride`, `size_t at = …`, "
    "`pid.to(tl.int64)`.",
    detect=in_units(_detect_cuda, _detect_triton),
    counted=True,
    conditions=(
        profit("N * C >= 2147483648", "shape", "Below that 32 bits hold every offset."),
        profit("kernel.spills == 0", "pipeline", "A wide index takes two registers."),
    ),
)
