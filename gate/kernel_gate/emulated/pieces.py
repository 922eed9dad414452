"""Bytes that asynchronous copies move in pieces: one thread stands for many of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from kernel_gate.emulated.access import Access, Change, Located
from kernel_gate.emulated.addresses import SEGMENT_BITS
from kernel_gate.emulated.instructions.load_store import check_initialised, record_read, record_write
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import TYPES, Array
from kernel_gate.emulated.wave import Index, Wave

PIECE = 16
"""Bytes of a piece of a bulk copy."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """What some threads copy."""

    owner: Index
    """Position among the active threads of who copies each piece."""
    threads: Index
    offset: Index
    """The piece's offset from where its thread's copy starts."""


def cut(wave: Wave, sizes: Index, site: Site) -> Pieces:
    """Copies of whole pieces, a size for each active thread. Raises a fault for other sizes."""
    odd = sizes % PIECE != 0
    if odd.any():
        position = int(np.argmax(odd))
        message = f"misaligned: a bulk copy of {int(sizes[position])} bytes; sizes are multiples of {PIECE}"
        raise wave.stop("misaligned", message, site.instruction, position)
    counts = sizes // PIECE
    owner = np.repeat(np.arange(len(sizes)), counts)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    return Pieces(owner, wave.index[owner], (np.arange(len(owner)) - first) * PIECE)


def _perform(
    wave: Wave, where: Access, threads: Index, addresses: Array, do: Callable[[Wave, Located, Index], None]
) -> None:
    """Check accesses at these addresses; `do` also gets which of them it is handed, buffer by buffer."""
    outer = wave.active
    wide = addresses.dtype.itemsize == 8
    buffers = addresses >> np.uint64(SEGMENT_BITS) if wide else np.zeros(len(threads), np.uint64)
    for buffer in np.unique(buffers):
        _in_one_buffer(wave, where, threads, addresses, np.flatnonzero(buffers == buffer), do)
    wave.active = outer


def _in_one_buffer(
    wave: Wave,
    where: Access,
    threads: Index,
    addresses: Array,
    here: Index,
    do: Callable[[Wave, Located, Index], None],
) -> None:
    part = addresses[here]
    wave.active = threads[here]
    one = replace(where, address=lambda _wave: part, counted=False)
    one.perform(wave, lambda inner, at: do(inner, at, here))


def read(wave: Wave, where: Access, threads: Index, addresses: Array) -> npt.NDArray[np.uint8]:
    """(accesses, bytes): what lies at these addresses, `where.nbytes` at each."""
    rows = np.zeros((len(threads), where.nbytes), np.uint8)

    def do(inner: Wave, at: Located, here: Index) -> None:
        checks = inner.launch.checks
        if at.written is not None and checks.uninitialised:
            check_initialised(inner, where, at)
        if checks.races:
            record_read(inner, where, at, ordered=False)
        cells = at.cells[inner.spread(at.index)[:, None] + np.arange(where.vector)]
        rows[here] = np.ascontiguousarray(cells).view(np.uint8).reshape(len(here), -1)

    if len(threads):
        _perform(wave, where, threads, addresses, do)
    return rows


Combine = Callable[[Array, Array], Array]
"""What stands there and what comes, as unsigned bytes (accesses, bytes) → what is left."""


def write(
    wave: Wave,
    where: Access,
    threads: Index,
    addresses: Array,
    rows: npt.NDArray[np.uint8],
    combine: Combine | None,
) -> None:
    """Put bytes at these addresses, or combine them with what stands there, as atomics do."""

    def do(inner: Wave, at: Located, here: Index) -> None:
        cells = inner.spread(at.index)[:, None] + np.arange(where.vector)
        before = np.ascontiguousarray(at.cells[cells]).view(np.uint8).reshape(len(here), -1)
        after = np.ascontiguousarray(rows[here] if combine is None else combine(before, rows[here]))
        at.cells[cells] = after.view(at.cells.dtype)
        if at.written is not None:
            at.written[cells] = np.iinfo(at.written.dtype).max
        change = Change((before != after).any(axis=1), np.zeros(len(here), np.bool_))
        at.index = inner.spread(at.index)
        record_write(inner, where, at, change, atomic=combine is not None)

    if len(threads):
        _perform(wave, where, threads, addresses, do)


def locate(wave: Wave, where: Access, threads: Index, addresses: Array) -> Index:
    """Checked first bytes in the wave's shared memory of pieces at these addresses."""
    offsets = np.zeros(len(threads), np.int64)

    def do(inner: Wave, at: Located, here: Index) -> None:
        if at.space != "shared":
            raise inner.stop("out_of_bounds", "a bulk copy needs shared memory here", where.instruction)
        offsets[here] = inner.spread(at.index) * where.element.size

    if len(threads):
        _perform(wave, where, threads, addresses, do)
    return offsets


def partial(where: Access, nbytes: int) -> Access:
    """The access of a part of a piece, wherever it starts."""
    return replace(where, element=TYPES["b8"], vector=nbytes, multiple=1)
