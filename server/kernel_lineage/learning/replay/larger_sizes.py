"""A drafted step at checked sizes that are closer to those of its callers: multiples of a block's or a tile's width.

Sizes are made small so that they are checked often; a kernel that counts on rows of 768 or on whole tiles of 64, as its
callers let it, fails at rows of 96.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kernel_gate.shapes import elements
from kernel_lineage.learning.replay.preparing import Prepared
from kernel_lineage.workloads.checked_sizes import multiple_of
from kernel_lineage.workloads.chosen_sizes import stays_small

_ROW, _TILE = 256, 64
_MOST_ELEMENTS = 1 << 20


def on_larger_sizes(prepared: Prepared) -> Iterator[Prepared]:
    """The same with longer rows (the last dim), and with whole tiles in all dims; none where the sizes were chosen.

    Rows stay long beside the tiles as far as they fit: a kernel may count on both.
    """
    workload = prepared.step.workload
    timed = workload.profile_dims[0] if workload.profile_dims else {}
    if (
        not prepared.drafted
        or prepared.chosen
        or any(len(s) != 1 or n not in timed for n, s in workload.dims.items())
    ):
        return
    sizes = {name: size for name, (size,) in workload.dims.items()}
    large = [name for name in sizes if not stays_small(name)]
    rows = {n: _up(size, timed[n], _ROW) if n in large[-1:] else size for n, size in sizes.items()}
    tiles, both = (
        {n: _up(size, timed[n], _TILE) if n in large else size for n, size in shape.items()}
        for shape in (sizes, rows)
    )
    tried = [sizes]
    for dims in (rows, both if elements(workload, both) <= _MOST_ELEMENTS else tiles):
        if dims in tried or elements(workload, dims) > _MOST_ELEMENTS:
            continue
        tried.append(dims)
        larger = workload.model_copy(update={"dims": {n: (size,) for n, size in dims.items()}})
        note = f"checked with {', '.join(f'{n} {size}' for n, size in dims.items())} where smaller sizes fail"
        yield replace(prepared, step=replace(prepared.step, workload=larger), said=(*prepared.said, note))


def _up(size: int, timed: int, width: int) -> int:
    """The next multiple of what the callers' size is a multiple of, up to a width; never more than theirs."""
    step = multiple_of(timed, width)
    return min(-(-size // step) * step, max(size, timed))
