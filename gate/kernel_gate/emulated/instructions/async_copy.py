"""`cp.async` and its groups (PTX ISA 9.0, 9.7.9.25): global to shared memory behind the thread's back.

The copy may land at any time between its issue and the wait for its group. So its destination counts as not written
until the wait, and as being written at both moments where races are concerned; the bytes appear at the wait.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kernel_gate.emulated.access import Access, Change, Located, access
from kernel_gate.emulated.async_copies import Copy
from kernel_gate.emulated.instructions import bulk_copy, tensor_copy
from kernel_gate.emulated.instructions.load_store import record_read
from kernel_gate.emulated.instructions.mbarrier import place
from kernel_gate.emulated.mbarriers import BulkCopy
from kernel_gate.emulated.ptx.model import Integer
from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import TYPES, Array
from kernel_gate.emulated.wave import Index, Wave


@opcode("cp")
def asynchronous_copy(site: Site) -> Step:
    """`cp.async`, its groups and its mbarrier arrivals, and what starts with `cp.async.bulk`."""
    if not site.has("async"):
        raise site.unsupported()
    if site.has("bulk"):
        return tensor_copy.build(site) if site.has("tensor") else bulk_copy.build(site)
    if site.has("mbarrier"):
        return _arrive(site)
    if site.has("commit_group"):
        return lambda wave: wave.copies.commit(wave)
    if site.has("wait_all"):
        return lambda wave: wave.copies.wait(wave, 0, everything=True)
    if site.has("wait_group"):
        pending = site.operand(0)
        if not isinstance(pending, Integer):
            raise site.unsupported()
        return lambda wave: wave.copies.wait(wave, pending.value)
    return _issue(site)


def _arrive(site: Site) -> Step:
    """`cp.async.mbarrier.arrive{.noinc}`: the thread's copies so far land with the mbarrier's phase.

    Without `.noinc` the arrival was added to what the phase expects, and so changes nothing.
    """
    at = place(site, 0)

    def step(wave: Wave) -> None:
        def do(inner: Wave, where: Index) -> None:
            rows = inner.mbarriers.rows(inner, where, site.instruction)
            for copy, row in inner.copies.hand_over(inner.index, rows):
                inner.mbarriers.copies.append(
                    BulkCopy(
                        row, int(inner.mbarriers.phase[row]), copy.threads, copy.offsets, copy.rows,
                        copy.access.instruction, None,
                    )
                )  # fmt: skip
            if site.has("noinc"):
                inner.mbarriers.arrive(inner, rows, np.ones_like(rows), site.instruction)

        at(wave, do)

    return step


def _issue(site: Site) -> Step:
    size = site.operand(2)
    if not isinstance(size, Integer) or size.value not in (4, 8, 16):
        raise site.unsupported()
    element = TYPES["b8"]
    to = replace(access(site, 0, "write", element, size.value), space="shared")
    source = replace(access(site, 1, "read", element, size.value), space="global")
    has_size = site.operand_count > 3 and not (site.has("L2::cache_hint") and site.operand_count == 4)
    length = site.read(3, TYPES["u32"]) if has_size else None

    def step(wave: Wave) -> None:
        count = wave.active_count
        rows = np.zeros((count, size.value), np.uint8)
        lengths = None if length is None else wave.spread(length(wave))
        if lengths is None or (lengths == size.value).all():
            _read_rows(wave, source, rows, np.arange(count))
        else:
            _read_partly(wave, source, rows, np.minimum(lengths, size.value))

        def land(inner: Wave, at: Located) -> None:
            assert at.written is not None
            cells = at.index[:, None] + np.arange(size.value)
            at.written[cells] = 0
            _record(inner, to, at.index, size.value)
            inner.copies.issue(Copy(inner.index, at.index, rows, to))

        to.perform(wave, land)

    return step


def _read_rows(wave: Wave, source: Access, rows: Array, positions: Array) -> None:
    """Read the active threads' bytes into their rows."""
    threads = wave.index

    def do(inner: Wave, at: Located) -> None:
        if inner.launch.checks.races:
            record_read(inner, source, at, ordered=False)
        where: Any = positions if inner.index is threads else positions[np.searchsorted(threads, inner.index)]
        index = inner.spread(at.index)
        rows[where, : source.nbytes] = at.cells[index[:, None] + np.arange(source.nbytes)]

    source.perform(wave, do)


def _read_partly(wave: Wave, source: Access, rows: Array, lengths: Array) -> None:
    """Threads read different lengths; the rest of each row stays zero, and a length of 0 reads nothing.

    Where less than a row is read, its address must still be a multiple of the row's width: else an H200 reads other
    bytes, without a fault.
    """
    outer, everyone = wave.active, wave.index
    width = source.nbytes
    for length in np.unique(lengths):
        if length:
            positions = np.flatnonzero(lengths == length)
            wave.active = everyone[positions]
            _read_rows(wave, replace(source, vector=int(length), multiple=width), rows, positions)
    wave.active = outer


def _record(wave: Wave, to: Access, index: Array, nbytes: int) -> None:
    races = wave.shared.races
    if races is not None:
        count = len(index)
        races.write(
            wave, index, nbytes, Change(np.ones(count, np.bool_), np.zeros(count, np.bool_)), to.instruction
        )
