"""`mma.m8n8k4` of halves: four products in one warp, each of two quads of lanes (PTX ISA).

Quad q of lanes 0 … 15 and quad q of lanes 16 … 31 compute product q. No other shape has this layout.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernel_gate.emulated.matrices.fragments import Fragment
from kernel_gate.emulated.matrices.product import Accumulator
from kernel_gate.emulated.matrices.registers import (
    need_whole_warps,
    read_words,
    readers,
    write_cells,
    writers,
)
from kernel_gate.emulated.registry import Step
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import Array
from kernel_gate.emulated.wave import Index, Wave

_QUADS = 4
_PLACE = Callable[[Index, Index, Index], tuple[Index, Index]]
"""(lane % 4, 4 for the upper half of the warp, element) → row, column."""

_A: dict[str, _PLACE] = {"row": lambda t, high, i: (t + high, i), "col": lambda t, high, i: (i + high, t)}
_B: dict[str, _PLACE] = {"row": lambda t, high, i: (t, i + high), "col": lambda t, high, i: (i, t + high)}
_C: dict[str, _PLACE] = {
    "f16": lambda t, high, i: (t + high, i),
    "f32": lambda t, high, i: ((t & 1) + (i & 2) + high, (i & 4) + (t & 2) + (i & 1)),
}


def _fragment(shape: tuple[int, int], place: _PLACE, registers: int, per_register: int) -> Fragment:
    """All four products below each other: product q has rows q · rows …"""
    rows, columns = shape
    register, lane, element = np.ogrid[:registers, :32, :per_register]
    row, column = place(lane % 4, lane // 16 * 4, register * per_register + element)
    below = row + lane // 4 % _QUADS * rows
    full = np.broadcast_arrays(below, column, register + lane + element)
    return Fragment(_QUADS * rows, columns, full[0].copy(), full[1].copy())


def multiply(site: Site, d: Accumulator, c: Accumulator) -> Step:
    """The step of `mma.m8n8k4` with layouts as the opcode names them."""
    layouts = site.parts[4:6]
    if any(name not in ("row", "col") for name in layouts):
        raise site.unsupported()
    of_a = _fragment((8, 4), _A[layouts[0]], 2, 2)
    of_b = _fragment((4, 8), _B[layouts[1]], 2, 2)
    to, of_c = (_fragment((8, 8), _C[k.name], *((4, 2) if k.name == "f16" else (8, 1))) for k in (d, c))
    writes = writers(site, 0)
    read_a, read_b, read_c = (readers(site, position) for position in (1, 2, 3))

    def opened(wave: Wave, reads: list[Callable[[Wave], Array]], fragment: Fragment, kind: str) -> Array:
        words = read_words(wave, reads)
        values = fragment.gather(words.view(kind).reshape(*words.shape, -1)).astype(np.float64)
        return values.reshape(len(values), _QUADS, -1, fragment.columns)

    def step(wave: Wave) -> None:
        need_whole_warps(wave, site)
        x, y = opened(wave, read_a, of_a, "f2"), opened(wave, read_b, of_b, "f2")
        total = np.matmul(x, y) + opened(wave, read_c, of_c, c.dtype.str)
        write_cells(wave, writes, to.scatter(d.narrow(total.reshape(len(total), -1, 8), saturate=False)))

    return step
