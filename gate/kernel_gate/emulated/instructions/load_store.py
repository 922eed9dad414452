"""Loads and stores (PTX ISA 9.0, 9.7.9 `ld`, `ld.global.nc`, `ldu`, `st`). Cache operators change nothing here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kernel_gate.emulated.access import Access, Change, Located, access
from kernel_gate.emulated.operands import items
from kernel_gate.emulated.ptx.model import ORDERED, Address, Operand, Register, Symbol
from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.site import Read, Site, Write
from kernel_gate.emulated.types import TYPES, PtxType, all_ones
from kernel_gate.emulated.wave import Wave


def _element(site: Site, operand: Operand) -> tuple[PtxType, int]:
    """Type and number of elements; Triton writes one element as a group of one."""
    count = len(items(operand))
    named = next((int(p[1:]) for p in site.parts if p in ("v2", "v4", "v8")), 1)
    if count != named or named * site.type.size > 32:
        raise site.unsupported()
    return site.type, count


@opcode("ld", "ldu")
def load(site: Site) -> Step:
    """`ld`: into one register or a vector of them."""
    target = site.operand(0)
    element, count = _element(site, target)
    writes = [site.writer(item, element) for item in items(target)]
    source = site.operand(1)
    if site.has("param") and is_kernel_parameter(site, source):
        return _load_parameter(site, source, element, writes)
    where = access(site, 1, "read", element, count)
    ordered = site.has(*ORDERED)

    def do(wave: Wave, at: Located) -> None:
        checks = wave.launch.checks
        if at.written is not None and checks.uninitialised:
            check_initialised(wave, where, at)
        if checks.races:
            record_read(wave, where, at, ordered)
        if count == 1:
            writes[0](wave, at.cells[at.index].view(element.dtype))
            return
        rows = at.cells.reshape(-1, count)[at.index // count]
        for position, write in enumerate(writes):
            write(wave, rows[..., position].copy().view(element.dtype))

    return _performer(where, do)


def _performer(where: Access, do: Callable[[Wave, Located], None]) -> Step:
    return lambda wave: where.perform(wave, do)


def record_read(wave: Wave, where: Access, at: Located, ordered: bool) -> None:
    """Tell the race detectors of a read; volatile and acquiring ones synchronise instead."""
    if at.space == "shared":
        races = wave.shared.races
        if ordered and at.remote:
            wave.cluster_barriers.hear(wave)
        if races is not None and not ordered and not at.remote:
            races.read(wave, at.index * where.element.size, where.nbytes, where.instruction)
    elif at.segment is not None:
        wave.launch.global_read(wave, at, where, ordered)


def is_kernel_parameter(site: Site, source: Operand) -> bool:
    """Whether a `ld.param` reads what the launch passed, and not the slot of a call."""
    if not isinstance(source, Address):
        return False
    return isinstance(source.base, Register) or (
        isinstance(source.base, Symbol) and source.base.name in site.layout.parameters
    )


def _load_parameter(site: Site, source: Operand, element: PtxType, writes: list[Write]) -> Step:
    """A kernel's own parameter: the same for all threads unless its offset is computed."""
    assert isinstance(source, Address)
    start, size = site.reader(source.base, TYPES["u64"]), element.size

    def step(wave: Wave) -> None:
        offset = np.asarray(start(wave)).astype(np.int64) + source.offset
        cells: Any = wave.launch.parameters
        if offset.min() < 0 or int(offset.max()) + size * len(writes) > site.layout.parameter_bytes:
            raise wave.stop("out_of_bounds", "read beyond the kernel's parameters", site.instruction)
        for position, write in enumerate(writes):
            bytes_at = offset[..., None] + position * size + np.arange(size)
            write(wave, np.ascontiguousarray(cells[bytes_at]).view(element.dtype)[..., 0])

    return step


def check_initialised(wave: Wave, where: Access, at: Located) -> None:
    """Report reads of memory that nothing has written yet."""
    assert at.written is not None
    if at.space == "local":
        if wave.launch.undefined is not None:
            wave.launch.undefined.note(wave, where.instruction, at, where.element.size, where.vector)
        return
    full = all_ones(at.written.dtype)
    for part in range(where.vector):
        missing = at.written[at.index + part] != full
        if not np.any(missing):
            continue
        position = int(np.argmax(wave.spread(missing)))
        offset = (int(wave.spread(at.index)[position]) + part) * where.element.size
        if at.segment is None:
            kind, message = wave.shared.unwritten(wave, offset, where.element.size)
            wave.launch.findings.add(wave.fault(kind, message, where.instruction, position))
            return
        element = offset // at.segment.itemsize
        place = {"buffer": at.segment.name, "element": element}
        message = f"uninitialised read of {at.segment.name}[{element}], which nothing has written"
        wave.launch.findings.add(wave.fault("uninitialised", message, where.instruction, position, **place))
        return


@opcode("st")
def store(site: Site) -> Step:
    """`st`: from one register or a vector of them."""
    if site.has("async"):
        raise site.unsupported()
    source = site.operand(1)
    element, count = _element(site, source)
    reads = [site.reader(item, element) for item in items(source)]
    where = access(site, 0, "write", element, count)
    ordered, releases = site.has(*ORDERED), site.has("release")

    def do(wave: Wave, at: Located) -> None:
        put(wave, where, at, reads, ordered)
        if ordered:
            wave.launch.publish(wave, at, where, releases)

    return _performer(where, do)


def put(wave: Wave, where: Access, at: Located, reads: Sequence[Read], ordered: bool) -> None:
    """Write the operands to checked memory, and tell the race detectors."""
    watched = wave.launch.watches(wave, at) and not ordered
    replaced: Any = False
    lost: Any = False
    if watched:
        at.index = wave.spread(at.index)
    for part, read in enumerate(reads):
        value = read(wave).view(where.element.raw)
        index = at.index + part if part else at.index
        if watched:
            replaced = replaced | (at.cells[index] != value)
            at.cells[index] = value
            lost = lost | (at.cells[index] != value)
        elif index.ndim == 0 and value.ndim:
            # All threads write one place: the last one stays.
            at.cells[index] = value[-1]
        else:
            at.cells[index] = value
        if at.written is not None:
            at.written[index] = all_ones(at.written.dtype)
    if watched:
        record_write(wave, where, at, Change(replaced, lost))


def record_write(wave: Wave, where: Access, at: Located, change: Change, atomic: bool = False) -> None:
    """Tell the race detectors of a write."""
    if at.space == "shared":
        races = wave.shared.races
        if races is not None and not at.remote:
            races.write(wave, at.index * where.element.size, where.nbytes, change, where.instruction, atomic)
    elif at.segment is not None:
        wave.launch.global_write(wave, at, where, change, atomic)
