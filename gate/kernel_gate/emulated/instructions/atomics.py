"""Atomics and reductions (PTX ISA 9.0, 9.7.13 `atom`, `red`).

Threads of one instruction take turns in the order of their numbers. Where nobody reads the old value, and the
operation allows it, all turns are taken at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kernel_gate.emulated.access import Access, Change, Located, access
from kernel_gate.emulated.formats import elementwise
from kernel_gate.emulated.instructions.load_store import record_write
from kernel_gate.emulated.operands import items
from kernel_gate.emulated.ptx.model import Operand
from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import Array, PtxType, all_ones
from kernel_gate.emulated.wave import Wave

Update = Callable[[Array, Array, Array], Array]
"""Old value, operand, second operand → new value."""

_UPDATES: dict[str, Update] = {
    "exch": lambda _old, new, _: new,
    "cas": lambda old, compare, new: np.where(old == compare, new, old),
    "inc": lambda old, most, _: np.where(old >= most, 0, old + 1).astype(old.dtype),
    "dec": lambda old, most, _: np.where((old == 0) | (old > most), most, old - 1).astype(old.dtype),
    "and": lambda old, b, _: old & b,
    "or": lambda old, b, _: old | b,
    "xor": lambda old, b, _: old ^ b,
}
AT_ONCE: dict[str, Any] = {
    "add": np.add.at,
    "min": np.minimum.at,
    "max": np.maximum.at,
    "and": np.bitwise_and.at,
    "or": np.bitwise_or.at,
    "xor": np.bitwise_xor.at,
}
_ARITHMETIC: dict[str, Any] = {"add": np.add, "min": np.minimum, "max": np.maximum}


def _update(name: str, kind: PtxType) -> Update:
    if name in _UPDATES:
        return _UPDATES[name]
    compute = _ARITHMETIC[name]
    if kind.kind in ("float", "packed"):
        if name != "add":
            compute = np.fmin if name == "min" else np.fmax
        lifted = elementwise(kind, compute)
        return lambda old, b, _: lifted(old, b)
    return lambda old, b, _: compute(old, b)


@opcode("atom", "red")
def atomic(site: Site) -> Step:
    """`atom` and `red`; of a vector each element is an atomic of its own."""
    name = site.first(*_UPDATES, *_ARITHMETIC)
    if name is None:
        raise site.unsupported()
    kind, returns = site.type, site.parts[0] == "atom"
    operands, count = _items(site, int(returns) + 1)
    where = access(site, int(returns), "atomic", kind, count)
    firsts = [site.reader(item, kind) for item in operands]
    seconds = [site.read(int(returns) + 2, kind)] if name == "cas" else firsts
    results = _items(site, 0)[0] if returns else []
    writes = [site.writer(item, kind) for item in results if any(site.is_read(r) for r in results)]
    update = _update(name, kind)
    at_once = AT_ONCE.get(name) if not writes and kind.dtype.kind in "iuf" else None
    if kind.name in ("bf16", "bf16x2", "f16x2") or (kind.kind == "float" and name != "add"):
        at_once = None

    releases = site.has("release", "acq_rel")

    def do(wave: Wave, at: Located) -> None:
        start = np.ascontiguousarray(wave.spread(at.index))
        cells = at.cells.view(kind.dtype)
        before: list[Array] = []
        for part, (first, second) in enumerate(zip(firsts, seconds, strict=True)):
            index = start + part
            operands = [wave.spread(read(wave)) for read in (first, second)]
            if at_once is not None:
                at_once(cells, index, operands[0])
            else:
                before.append(_in_turns(cells, index, operands, update))
            if at.written is not None:
                at.written[index] = all_ones(at.written.dtype)
        wave.launch.exchange(wave, at, where, releases)
        if wave.launch.checks.races:
            _record(wave, where, at, start)
        for write, old in zip(writes, before, strict=False):
            write(wave, old)

    return lambda wave: where.perform(wave, do)


def _items(site: Site, position: int) -> tuple[Sequence[Operand], int]:
    """The registers of an operand and how many they are; as many as the opcode's vector has."""
    operands = items(site.operand(position))
    named = site.first("v2", "v4", "v8")
    if len(operands) != (int(named[1:]) if named else 1):
        raise site.unsupported()
    return operands, len(operands)


def _record(wave: Wave, where: Access, at: Located, index: Array) -> None:
    at.index = index
    record_write(wave, where, at, Change.by_atomic(len(index)), atomic=True)


def _in_turns(cells: Any, index: Array, operands: list[Array], update: Update) -> Array:
    """Apply updates one after the other where several threads share an address; the old values."""
    old = np.empty(len(index), cells.dtype)
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    counts = np.diff(np.r_[starts, len(ordered)])
    turn = 0
    while len(starts):
        members = order[starts + turn]
        places = index[members]
        old[members] = cells[places]
        cells[places] = update(cells[places], operands[0][members], operands[1][members])
        turn += 1
        keep = counts > turn
        starts, counts = starts[keep], counts[keep]
    return old
