"""Many threads update one global address atomically: all of a warp, or the same thread of every block."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.anchors.matching import matched, matched_in
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.linear_forms import lane_stride
from kernel_lineage.kernels.mechanisms.global_atomics import atomic_calls, triton_atomics
from kernel_lineage.kernels.mechanisms.privatised_accumulation import one_thread_only
from kernel_lineage.kernels.triton_syntax import TritonUnit, pointer_of
from kernel_lineage.kernels.units import in_entry


def _find_cuda(unit: Unit) -> Iterator[Anchor]:
    for call, root, space in atomic_calls(unit):
        offset = indexing(unit).place(call.arguments[0]).offset
        shared_by_all = lane_stride(offset) in (0, "?")
        by_every_block = bool(offset) and not {"block", "slow"} & set(offset)
        shared = shared_by_all or by_every_block
        if space == "global" and shared and not one_thread_only(unit, call.node):
            value = text_of(call.arguments[1]) if len(call.arguments) > 1 else ""
            names = {"x": root, "op": call.name, "value": value}
            who = "all threads" if shared_by_all else "all blocks"
            yield matched(call.node, f"{who} update {root} by {call.name}", names)


def _find_triton(unit: TritonUnit) -> Iterator[Anchor]:
    for call in triton_atomics(unit):
        form = unit.form(call.node.args[0])
        if "program" not in form:
            pointer = pointer_of(form)
            detail = f"all programs update {pointer or 'memory'} by {call.name}"
            yield matched_in(unit, call.node, detail, {"x": pointer, "op": call.name})


PATTERN = AnchorPattern(
    title="Contended global atomic",
    names={"x": "the pointer that is updated", "op": "the atomic function", "value": "what each thread adds"},
    find=in_entry(_find_cuda, _find_triton),
)
