"""`mbarrier` (PTX ISA). Scopes and orders change nothing: memory is coherent here at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from kernel_gate.emulated.access import Change, Located, access
from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.site import Read, Site
from kernel_gate.emulated.types import TYPES
from kernel_gate.emulated.wave import Index, Wave


@opcode("mbarrier")
def mbarrier(site: Site) -> Step:
    """`mbarrier.init`, `.inval`, `.expect_tx`, `.complete_tx`, `.arrive`, `.arrive_drop`, `.test_wait`, `.try_wait`."""
    operation = site.parts[1]
    if operation == "pending_count":
        write, state = site.write(0, TYPES["b32"]), site.read(1, TYPES["b64"])
        return lambda wave: write(wave, (state(wave) >> np.uint64(32)).astype(np.uint32))
    builders: dict[str, Callable[[Site], Step]] = {
        "init": _init,
        "inval": _inval,
        "expect_tx": _transaction,
        "complete_tx": _transaction,
        "arrive": _arrive,
        "arrive_drop": _arrive,
        "test_wait": _wait,
        "try_wait": _wait,
    }
    return builders[operation](site)


def place(site: Site, position: int) -> Callable[[Wave, Callable[[Wave, Index], None]], None]:
    """Hands over the byte of each active thread's mbarrier in the wave's shared memory."""
    where = replace(access(site, position, "atomic", TYPES["b64"]), counted=False)
    if site.has("mbarrier::complete_tx::bytes") and where.space != "shared":
        where = replace(where, space="shared")

    def perform(wave: Wave, then: Callable[[Wave, Index], None]) -> None:
        def do(inner: Wave, at: Located) -> None:
            if at.space != "shared":
                raise inner.stop("barrier", "an mbarrier must lie in shared memory", site.instruction)
            then(inner, inner.spread(at.index) * 8)

        where.perform(wave, do)

    return perform


def _number(site: Site, position: int, otherwise: int) -> Read:
    """A 32-bit operand that may be missing."""
    if site.operand_count > position:
        return site.read(position, TYPES["u32"])
    value = np.uint32(otherwise)
    return lambda _wave: value  # type: ignore[return-value]


def _counts(wave: Wave, read: Read) -> Index:
    result: Index = wave.spread(read(wave)).astype(np.int64)
    return result


def _change(wave: Wave, where: Index, site: Site) -> None:
    """Making an mbarrier is a plain write, which barriers must order with its uses."""
    wave.shared.written[where[:, None] + np.arange(8)] = 0xFF
    races = wave.shared.races
    if races is not None:
        count = len(where)
        change = Change(np.ones(count, np.bool_), np.zeros(count, np.bool_))
        races.write(wave, where, 8, change, site.instruction)


def _rows(wave: Wave, where: Index, site: Site) -> Index:
    """The mbarriers' rows; using one is a read of it. Uses by other blocks of a cluster are not looked at."""
    rows = wave.mbarriers.rows(wave, where, site.instruction)
    races = wave.shared.races
    if races is not None and not site.has("shared::cluster"):
        races.read(wave, where, 8, site.instruction)
    return rows


def _init(site: Site) -> Step:
    at, count = place(site, 0), site.read(1, TYPES["u32"])

    def step(wave: Wave) -> None:
        def do(inner: Wave, where: Index) -> None:
            _change(inner, where, site)
            inner.mbarriers.init(where, _counts(inner, count))

        at(wave, do)

    return step


def _inval(site: Site) -> Step:
    """Not looked at for races: who ends a `cuda::pipeline` last knows so by an atomic, which is no barrier here."""
    at = place(site, 0)
    return lambda wave: at(wave, lambda inner, where: inner.mbarriers.forget(where))


def _transaction(site: Site) -> Step:
    at, nbytes = place(site, 0), site.read(1, TYPES["u32"])

    def step(wave: Wave) -> None:
        def do(inner: Wave, where: Index) -> None:
            rows = _rows(inner, where, site)
            if site.has("expect_tx"):
                inner.mbarriers.expect(rows, _counts(inner, nbytes))
            else:
                inner.mbarriers.complete(inner, rows, _counts(inner, nbytes))

        at(wave, do)

    return step


def _arrive(site: Site) -> Step:
    """`arrive{_drop}{.expect_tx}{.noComplete} state, [addr] {, count or bytes}`."""
    write, at = site.write(0, TYPES["b64"]), place(site, 1)
    expects = site.has("expect_tx")
    count = _number(site, 2, 1)
    drop = site.parts[1] == "arrive_drop"

    def step(wave: Wave) -> None:
        def do(inner: Wave, where: Index) -> None:
            rows = _rows(inner, where, site)
            amount = _counts(inner, count)
            if expects:
                inner.mbarriers.expect(rows, amount)
                amount = np.ones_like(amount)
            states = inner.mbarriers.arrive(inner, rows, amount, site.instruction, drop)
            write(inner, states.view(np.uint64))

        at(wave, do)

    return step


def _wait(site: Site) -> Step:
    """`test_wait` and `try_wait`, by state or parity; hints of how long to suspend are not needed."""
    write, at = site.write(0, TYPES["pred"]), place(site, 1)
    by_parity = site.has("parity")
    phase = site.read(2, TYPES["u32" if by_parity else "b64"])

    def step(wave: Wave) -> None:
        def do(inner: Wave, where: Index) -> None:
            mbarriers = inner.mbarriers
            rows = _rows(inner, where, site)
            value = inner.spread(phase(inner)).astype(np.int64)
            passed = (mbarriers.passed_parity if by_parity else mbarriers.passed_state)(rows, value)
            mbarriers.waited(inner, rows, passed, site.instruction)
            write(inner, passed)

        at(wave, do)

    return step
