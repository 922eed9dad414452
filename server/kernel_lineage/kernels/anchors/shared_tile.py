"""A shared tile without padding that a warp walks down by column."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.anchors.matching import matched
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.cuda_forms import bare, operator_of, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.linear_forms import lane_stride
from kernel_lineage.kernels.mechanisms.bank_conflict_padding import is_padded
from kernel_lineage.kernels.units import in_units


def _find(unit: Unit) -> Iterator[Anchor]:
    tiles = {
        v.name: v for v in unit.shared_variables if len(v.sizes) == 2 and not is_padded(unit, v.sizes[1])
    }
    reach = indexing(unit)
    for access in reach.accesses if tiles else ():
        tile = tiles.get(access.root)
        if tile is None or len(access.indices) != 2:
            continue
        row, column = (reach.form(index) for index in access.indices)
        swizzled = (last := bare(access.indices[1])) is not None and operator_of(last) == "^"
        if lane_stride(row) == 1 and lane_stride(column) == 0 and not swizzled:
            del tiles[access.root]
            names = {"tile": tile.name, "width": text_of(tile.sizes[1]), "height": text_of(tile.sizes[0])}
            yield matched(tile.node, f"a warp walks down a column of {tile.name}", names)


PATTERN = AnchorPattern(
    title="Shared tile accessed by column",
    names={
        "tile": "the shared array",
        "width": "the length of its rows, as written",
        "height": "the number of its rows, as written",
    },
    find=in_units(_find),
)
