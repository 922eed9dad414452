"""Registers of whole warps: what instructions with `.aligned` read and write together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernel_gate.emulated.operands import items
from kernel_gate.emulated.ptx.model import Operand
from kernel_gate.emulated.site import Read, Site, Write
from kernel_gate.emulated.types import TYPES, UNSIGNED, Array, PtxType
from kernel_gate.emulated.wave import Wave
from kernel_gate.program import WARP


def width(site: Site, operand: Operand) -> PtxType:
    """`b32`, or `b64` for fragments of f64."""
    declared = site.register_type(items(operand)[0])
    return TYPES["b64" if declared is not None and declared.size == 8 else "b32"]


def readers(site: Site, position: int) -> list[Read]:
    """How to read each register of a fragment, as bits."""
    operand = site.operand(position)
    kind = width(site, operand)
    return [site.reader(item, kind) for item in items(operand)]


def writers(site: Site, position: int) -> list[Write]:
    """How to write each register of a fragment, as bits."""
    operand = site.operand(position)
    kind = width(site, operand)
    return [site.writer(item, kind) for item in items(operand)]


def need_whole_warps(wave: Wave, site: Site) -> None:
    """Raise a fault unless all 32 lanes of each warp that is here are here."""
    threads = wave.index
    if len(threads) % WARP or (wave.lane[threads].reshape(-1, WARP) != np.arange(WARP)).any():
        name = ".".join(site.parts[:2]) if site.has("sync") else site.parts[0]
        message = f"{name} needs all 32 lanes of its warps; some are elsewhere: the result is undefined"
        raise wave.stop("barrier", message, site.instruction)


def read_words(wave: Wave, reads: Sequence[Read]) -> Array:
    """(registers, warps, 32)."""
    return np.stack([np.ascontiguousarray(wave.spread(read(wave))) for read in reads]).reshape(
        len(reads), -1, WARP
    )


def write_cells(wave: Wave, writes: Sequence[Write], cells: Array) -> None:
    """(registers, warps, 32, elements) → each register, elements from its lowest bits on."""
    size = cells.shape[3] * cells.dtype.itemsize
    words = np.ascontiguousarray(cells).view(UNSIGNED[size]).reshape(len(writes), -1)
    for write, word in zip(writes, words, strict=True):
        # Registers may be changed in place: none may share its memory with another.
        write(wave, word.copy())
