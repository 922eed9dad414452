"""The threads of a warp access global elements that lie apart."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.anchors.matching import matched, matched_in
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_mapping import is_strided
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.linear_forms import lane_stride
from kernel_lineage.kernels.mechanisms.coalesced_access import is_strided_block
from kernel_lineage.kernels.triton_syntax import TritonUnit, pointer_of
from kernel_lineage.kernels.units import in_entry


def _find_cuda(unit: Unit) -> Iterator[Anchor]:
    roots: set[str] = set()
    for access in indexing(unit).accesses:
        if access.space == "global" and is_strided(access) and access.root not in roots:
            roots.add(access.root)
            stride = str(lane_stride(access.index))
            detail = f"neighbouring threads are {stride} elements apart in {access.root}"
            yield matched(access.node, detail, {"x": access.root, "stride": stride})


def _find_triton(unit: TritonUnit) -> Iterator[Anchor]:
    pointers: set[str] = set()
    for call in (*unit.loads(), *unit.stores()):
        form = unit.form(call.node.args[0])
        pointer = pointer_of(form)
        if is_strided_block(form) and pointer not in pointers:
            pointers.add(pointer)
            stride = str(next(form[axis] for axis in ("arange", "arange1", "arange0") if axis in form))
            detail = f"neighbouring elements of the block are {stride} apart in {pointer or 'memory'}"
            yield matched_in(unit, call.node, detail, {"x": pointer, "stride": stride})


PATTERN = AnchorPattern(
    title="Strided access",
    names={
        "x": "the pointer that is accessed",
        "stride": "how far apart neighbouring threads are, in elements",
    },
    find=in_entry(_find_cuda, _find_triton),
)
