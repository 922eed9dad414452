"""Copies into shared memory that run while the threads compute."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism, Site, validity
from kernel_lineage.kernels.mechanisms.seeing import first_type, in_assembly, seen, seen_in
from kernel_lineage.kernels.triton_forms import dotted
from kernel_lineage.kernels.triton_syntax import TritonUnit
from kernel_lineage.kernels.units import in_units

_CALLS = {
    "memcpy_async": "cp.async", "__pipeline_memcpy_async": "cp.async", "cp_async": "cp.async",
    "make_pipeline": "cp.async",
    "cp_async_bulk": "tma", "cp_async_bulk_tensor_1d_global_to_shared": "tma",
    "cp_async_bulk_tensor_2d_global_to_shared": "tma", "cp_async_bulk_tensor_3d_global_to_shared": "tma",
    "cp_async_bulk_global_to_shared": "tma", "cp_async_fence": "cp.async", "cp_async_wait": "cp.async",
}  # fmt: skip
_DESCRIPTORS = frozenset({
    "make_tensor_descriptor", "load_tensor_descriptor", "_experimental_descriptor_load",
    "_experimental_make_tensor_descriptor", "_experimental_descriptor_store", "async_copy_global_to_local",
})  # fmt: skip
_LIBRARY = re.compile(
    r"\b(?:SM80_CP_ASYNC\w*|SM90_(?:TMA_|BULK_)\w+|SM100_TMA\w*|make_tma_copy\w*|CUtensorMap|PipelineTmaAsync)\b"
)
"""The copies of CuTe and CUTLASS that run in the background."""


def _detect_cuda(unit: Unit) -> Iterator[Site]:
    for call in unit.calls:
        if kind := _CALLS.get(call.name):
            yield seen(call.node, f"{call.qualified} copies in the background", by=kind)
    for code, node in in_assembly(unit, "cp.async"):
        kind = "tma" if "cp.async.bulk" in code.string else "cp.async"
        yield seen(node, "inline PTX copies in the background", by=kind)
    atom = first_type(unit, _LIBRARY)
    if atom is not None:
        kind = "cp.async" if "CP_ASYNC" in atom[0][0] else "tma"
        yield seen(atom[1], f"{atom[0][0]} copies in the background", by=kind)


def _detect_triton(unit: TritonUnit) -> Iterator[Site]:
    for call in unit.called("range"):
        stages = call.keyword("num_stages")
        if call.of_language and stages is not None:
            number = stages.value if isinstance(stages, ast.Constant) else "set"
            if number != 1:
                yield seen_in(
                    unit, call.node, "the loop's loads are pipelined", by="staged loop", stages=number
                )
    made = {name for name, pairs in unit.assignments.items() if any(_makes(value) for _, value in pairs)}
    for call in unit.calls:
        owner = call.qualified.rpartition(".")[0]
        if call.name in _DESCRIPTORS or (call.name in ("load", "store") and owner in made):
            yield seen_in(unit, call.node, f"{call.qualified} moves tiles by TMA", by="tma")


def _makes(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and dotted(value.func).rpartition(".")[2] in _DESCRIPTORS


MECHANISM = Mechanism(
    title="Asynchronous copy",
    direction=Direction.LATENCY_HIDING,
    summary="Starts the next tile's copy into shared memory before the present one is used, past the registers.",
    looks_for="`memcpy_async`, pipelines, `cp.async` in inline PTX; in Triton staged loops and tensor descriptors.",
    detect=in_units(_detect_cuda, _detect_triton),
    conditions=(
        validity("device.compute_capability >= (8, 0)", "hardware", "`cp.async` came with Ampere."),
        validity("align(x) >= 16", "layout", "A 16-byte copy needs both ends aligned."),
        validity(
            "launch.shared_bytes <= device.shared_bytes_per_block", "hardware", "Each stage takes room."
        ),
    ),
)
