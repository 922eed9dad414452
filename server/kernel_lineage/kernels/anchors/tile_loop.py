"""A loop that fills shared tiles, waits, uses them, and waits again before the next ones."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.anchors.matching import matched
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.cuda_forms import contains, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.units import in_entry


def _find_in(unit: Unit) -> Iterator[Anchor]:
    barriers = [call.node for call in unit.calls_by_name.get("__syncthreads", ())]
    if len(barriers) < 2:
        return
    accesses = [a for a in indexing(unit).accesses if a.space == "shared"]
    for loop in unit.loops:
        within = [b for b in barriers if contains(loop.node, b) and not _is_deeper(unit, loop.node, b)]
        if len(within) < 2 or loop.halves:
            continue
        first = min(b.start_byte for b in within)
        filled = {
            a.root for a in accesses if a.writes and contains(loop.node, a.node) and a.node.start_byte < first
        }
        used = {
            a.root for a in accesses if a.reads and contains(loop.node, a.node) and a.node.start_byte > first
        }
        tiles = sorted(filled & used)
        if tiles:
            names = {"tile": tiles[0], "index": loop.counter, "n": text_of(loop.bound)}
            yield matched(loop.node, f"the loop fills {' and '.join(tiles)}, waits, and uses them", names)


def _is_deeper(unit: Unit, loop: Node, barrier: Node) -> bool:
    """Whether a barrier lies in a loop within this one, and so belongs to that."""
    return any(o.node != loop and contains(loop, o.node) and contains(o.node, barrier) for o in unit.loops)


PATTERN = AnchorPattern(
    title="Loop over shared tiles",
    names={"tile": "the first of its shared arrays", "index": "the loop's counter", "n": "its bound"},
    find=in_entry(_find_in),
)
