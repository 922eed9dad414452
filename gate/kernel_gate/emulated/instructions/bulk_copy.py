"""`cp.async.bulk` and its groups (PTX ISA): bytes moved by one thread between memories.

Builders for `instructions.async_copy`, which has the opcode. Copies to shared memory land when a thread has waited for
their mbarrier; copies out of it hold what they read until their group was waited for. They are not in the counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kernel_gate.emulated import pieces
from kernel_gate.emulated.access import Access, Change, access
from kernel_gate.emulated.bulk_reductions import combination
from kernel_gate.emulated.instructions.mbarrier import place
from kernel_gate.emulated.mbarriers import BulkCopy
from kernel_gate.emulated.ptx.model import Integer
from kernel_gate.emulated.registry import Step
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import TYPES
from kernel_gate.emulated.wave import Index, Wave


def build(site: Site) -> Step:
    """Any `cp.async.bulk` that names no tensor."""
    if site.has("commit_group"):
        return lambda wave: wave.outgoing.commit(wave)
    if site.has("wait_group"):
        allowed = site.operand(0)
        if not isinstance(allowed, Integer):
            raise site.unsupported()
        return lambda wave: wave.outgoing.wait(wave, allowed.value)
    if site.has("prefetch"):
        return lambda _wave: None
    if site.has("cp_mask", "multicast::cluster", "ignore_oob"):
        raise site.unsupported()
    return _out(site) if site.has("bulk_group") else _in(site)


def _spaces(site: Site) -> list[str]:
    """Destination and source."""
    spaces = [p.split("::")[0] for p in site.parts if p.split("::")[0] in ("shared", "global")]
    if len(spaces) != 2:
        raise site.unsupported()
    return spaces


def _in(site: Site) -> Step:
    """To shared memory; an mbarrier is told of the bytes."""
    if site.has("reduce") or not site.has("mbarrier::complete_tx::bytes"):
        raise site.unsupported()
    to_space, from_space = _spaces(site)
    to = access(site, 0, "write", TYPES["b64"], 2, to_space)
    source = access(site, 1, "read", TYPES["b64"], 2, from_space)
    size, report = site.read(2, TYPES["u32"]), Completion(site, 3)

    def step(wave: Wave) -> None:
        sizes = wave.spread(size(wave)).astype(np.int64)
        parts = pieces.cut(wave, sizes, site)
        start_to, start_from = wave.spread(to.address(wave)), wave.spread(source.address(wave))
        offset = parts.offset.astype(start_from.dtype)
        rows = pieces.read(wave, source, parts.threads, start_from[parts.owner] + offset)
        offset = parts.offset.astype(start_to.dtype)
        places = pieces.locate(wave, to, parts.threads, start_to[parts.owner] + offset)
        report.issue(wave, Arriving(parts.owner, parts.threads, places, rows), sizes)

    return step


@dataclass(frozen=True, slots=True)
class Arriving:
    """Pieces on their way to shared memory."""

    owner: Index
    """Position among the active threads."""
    threads: Index
    offsets: Index
    rows: npt.NDArray[np.uint8]


class Completion:
    """The mbarrier that an instruction's copies report to."""

    def __init__(self, site: Site, position: int) -> None:
        self._site = site
        self._place = place(site, position)

    def issue(self, wave: Wave, pieces_: Arriving, sizes: Index) -> None:
        """Copies start; `sizes`: bytes that each active thread's mbarrier will be told of."""
        instruction, shared = self._site.instruction, wave.shared
        shared.written[pieces_.offsets[:, None] + np.arange(pieces_.rows.shape[1])] = 0
        held = None
        if shared.races is not None:
            outer, wave.active = wave.active, pieces_.threads
            count = len(pieces_.threads)
            change = Change(np.ones(count, np.bool_), np.zeros(count, np.bool_))
            shared.races.write(wave, pieces_.offsets, pieces_.rows.shape[1], change, instruction)
            held = shared.races.hold([pieces_.offsets], instruction)
            wave.active = outer

        def report(inner: Wave, where: Index) -> None:
            mbarriers = inner.mbarriers
            rows = mbarriers.rows(inner, where, instruction)
            row_of_piece = rows[pieces_.owner]
            for row in np.unique(rows).tolist():
                mine = row_of_piece == row
                mbarriers.copies.append(
                    BulkCopy(
                        row, int(mbarriers.phase[row]), pieces_.threads[mine], pieces_.offsets[mine],
                        pieces_.rows[mine], instruction, held,
                    )
                )  # fmt: skip
            mbarriers.complete(inner, rows, sizes)

        self._place(wave, report)


def _out(site: Site) -> Step:
    """From shared to global memory, or combined with what stands there."""
    if _spaces(site) != ["global", "shared"]:
        raise site.unsupported()
    combine = combination(site) if site.has("reduce") else None
    to = access(site, 0, "atomic" if combine else "write", TYPES["b64"], 2, "global")
    source = access(site, 1, "read", TYPES["b64"], 2, "shared")
    size = site.read(2, TYPES["u32"])

    def step(wave: Wave) -> None:
        parts = pieces.cut(wave, wave.spread(size(wave)).astype(np.int64), site)
        start_to, start_from = wave.spread(to.address(wave)), wave.spread(source.address(wave))
        from_ = start_from[parts.owner] + parts.offset.astype(start_from.dtype)
        rows = pieces.read(wave, source, parts.threads, from_)
        pieces.write(
            wave, to, parts.threads, start_to[parts.owner] + parts.offset.astype(np.uint64), rows, combine
        )
        hold(wave, source, parts.threads, from_, site)

    return step


def hold(
    wave: Wave, source: Access, threads: Index, addresses: npt.NDArray[np.unsignedinteger], site: Site
) -> None:
    """What a copy reads stays as it is until its group was waited for."""
    offsets = pieces.locate(wave, source, threads, addresses)
    wave.outgoing.issue(wave, threads, offsets, site.instruction)
