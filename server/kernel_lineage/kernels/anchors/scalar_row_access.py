"""One element per load along contiguous memory, where a vector load could be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kernel_lineage.kernels.anchors.matching import matched
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.cuda_forms import bare, contains, field_of, operator_of, text_of
from kernel_lineage.kernels.cuda_indexing import Access, indexing, loop_axis
from kernel_lineage.kernels.cuda_mapping import Stride, guard_of, innermost_loop, is_row_pitch, stride_of
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.linear_forms import lane_stride
from kernel_lineage.kernels.mechanisms.definitions import pack_of
from kernel_lineage.kernels.units import in_entry

_ATOMICS_AND_PACKS = ("load128", "load128cs", "load128cg", "store128", "store128cs", "store128cg")
_PARTS = (2, 3, 4)
"""How many elements a thread's own part of a run may have."""
_STRIDING = (Stride.BLOCK, Stride.WARP, Stride.GRID_THREADS)


def _is_scalar(access: Access) -> bool:
    return access.space == "global" and not access.cast and access.via not in _ATOMICS_AND_PACKS


@dataclass(frozen=True, slots=True)
class Elements:
    """How a thread comes to its elements: the bound with its name (`N` or `C`), the index, and the way in words."""

    name: str
    bound: str
    index: str
    way: str


def _elements(unit: Unit, access: Access) -> Elements | None:
    """How a thread comes to the elements of an access; None when threads do not take them side by side."""
    loop = innermost_loop(unit, access)
    if loop is not None:
        stride = stride_of(unit, loop)
        if stride is Stride.ONE:
            return Elements("C", text_of(loop.bound), loop.counter, "in a loop of each thread's own")
        if stride not in _STRIDING:
            return None
        name = "N" if stride is Stride.GRID_THREADS else "C"
        return Elements(name, text_of(loop.bound), loop.counter, "in a strided loop")
    if "block" not in access.index:
        return None
    guard = guard_of(unit, access.node, "x")
    if guard is not None and lane_stride(indexing(unit).form(guard.index)) == 1:
        return Elements("N", text_of(guard.bound), text_of(guard.index), "one element per thread")
    index = text_of(access.indices[0]) if len(access.indices) == 1 else ""
    return Elements("N", "", index, "one element per thread") if guard is None and index else None


def _run(unit: Unit, access: Access) -> str:
    """The name of how many elements lie side by side, where the threads' shared index is taken apart by it.

    `x[row * C + i % C]`: neighbours are C at most, however many elements the threads share.
    """
    here, seen = indexing(unit), set[int]()
    waiting = list(access.indices or access.node.named_children)
    while waiting:
        node = waiting.pop()
        if node.id in seen or node.type == "subscript_expression":
            continue
        seen.add(node.id)
        if node.type == "identifier":
            value = unit.value_of(text_of(node), node.start_byte)
            waiting += [value] if value is not None else []
            continue
        left, right = node.child_by_field_name("left"), field_of(node, "right")
        if node.type == "binary_expression" and operator_of(node) == "%":
            if right is not None and right.type == "identifier" and lane_stride(here.form(left)) == 1:
                return text_of(right)
            continue
        waiting += node.named_children
    return ""


def _is_beside(unit: Unit, access: Access) -> bool:
    """Whether threads touch neighbouring elements, or each its own part of a run: `x[2 * i + 1]`, `x[i * n + j]`."""
    stride, loop = lane_stride(access.index), innermost_loop(unit, access)
    if loop is not None and stride_of(unit, loop) is Stride.ONE:
        only_reads = not any(a.writes and contains(loop.node, a.node) for a in indexing(unit).accesses)
        bound = bare(loop.bound)
        rounds = indexing(unit).term(bound) if bound is not None else None
        is_row = str(stride) == (text_of(bound) if rounds is None else str(rounds))
        return only_reads and access.index.get(loop_axis(loop)) == 1 and is_row
    if stride == 1 or stride not in _PARTS or loop is not None:
        return stride == 1
    parts = {
        text_of(a.node) for a in indexing(unit).accesses if a.root == access.root and a.index == access.index
    }
    return len(parts) >= int(stride)


def _find(unit: Unit) -> Iterator[Anchor]:
    pairs = set[tuple[str, str]]()
    scalar = {
        p.name
        for p in unit.kernel.parameters
        if p.pointer and not any(pack_of(unit, word) for word in p.type.replace("*", " ").split())
    }
    # Where a thread walks whole rows, the single elements beside them are not what is worth a vector.
    walks_rows = any(
        is_row_pitch(a.index.get("x", 0)) for a in indexing(unit).accesses if a.space == "global"
    )
    for access in indexing(unit).accesses:
        if not _is_scalar(access) or access.root not in scalar or not _is_beside(unit, access):
            continue
        elements = _elements(unit, access)
        if elements is None or (walks_rows and elements.way == "one element per thread"):
            continue
        kind = "store" if access.writes else "load"
        if (access.root, kind) in pairs:
            continue
        pairs.add((access.root, kind))
        detail = f"scalar {kind}s of {access.root} along {elements.bound or elements.index}, {elements.way}"
        names = {"x": access.root, elements.name: elements.bound, "index": elements.index}
        if elements.name == "N":
            names["C"] = _run(unit, access)
        yield matched(access.node, detail, names)


PATTERN = AnchorPattern(
    title="Scalar access along contiguous memory",
    names={
        "x": "the pointer that is read or written",
        "C": "the length of a row, when a block or a warp walks along it or the threads' index is taken apart by it",
        "N": "the number of elements, when the threads share them all",
        "index": "the thread's index into them",
    },
    find=in_entry(_find),
)
