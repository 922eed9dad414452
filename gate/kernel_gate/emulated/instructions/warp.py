"""Exchange between the threads of a warp (PTX ISA 9.0, 9.7.9 `shfl`; 9.7.13 `vote`, `match`, `redux`, `activemask`)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernel_gate.emulated.instructions.atomics import AT_ONCE
from kernel_gate.emulated.lanes import source_lanes
from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import TYPES, Array
from kernel_gate.emulated.wave import Index, Wave


@opcode("shfl")
def shuffle(site: Site) -> Step:
    """`shfl.sync d|p, a, b, c, membermask`: reading a lane that is in the mask and does not take part is a fault.

    What is read of a lane that is not in the mask is undefined, and may be thrown away: it is a NaN, or a large number.
    """
    mode = site.first("up", "down", "bfly", "idx")
    if mode is None or not site.has("sync"):
        raise site.unsupported()
    kind = TYPES["b32"]
    first, second = site.pair(0)
    write = site.writer(first, kind)
    inside_to = None if second is None else site.writer(second, TYPES["pred"])
    a, b, c = site.read(1, kind), site.read(2, kind), site.read(3, kind)
    members = members_of(site, 4)

    def step(wave: Wave) -> None:
        mask = members(wave)
        threads, value = wave.index, a(wave)
        lane = wave.lane[threads]
        source, inside = source_lanes(mode, lane, b(wave), c(wave))
        thread = threads - lane + source
        undefined = None
        if wave.active is not None or wave.launch.block_threads % 32:
            undefined = _check_sources(wave, site, mask, thread, source)
        if value.ndim == 0:
            result: Array = value
        elif wave.active is None:
            result = value[thread]
        else:
            place = np.zeros(wave.threads + 32, np.int64)
            place[threads] = np.arange(len(threads))
            result = value[place[thread]]
        if undefined is not None:
            result = np.where(undefined, _UNDEFINED, result)
        write(wave, result)
        if inside_to is not None:
            inside_to(wave, inside)

    return step


_ALL_LANES = (1 << 32) - 1
_UNDEFINED = np.uint32(0x7FFFDEAD)
"""What a shuffle gives of lanes that are not in its mask."""
Members = Callable[[Wave], Array]


def members_of(site: Site, position: int) -> Members:
    """How to read the mask of an instruction's members. A thread that executes it and is not one of them is a fault:
    PTX leaves the result undefined for it.
    """
    read = site.read(position, TYPES["b32"])

    def members(wave: Wave) -> Array:
        mask = read(wave)
        if mask.ndim == 0 and int(mask) == _ALL_LANES:
            return mask
        lane = wave.lane[wave.index]
        outside = (mask.astype(np.int64) >> lane) & 1 == 0
        if outside.any():
            at = int(np.argmax(outside))
            own = int(wave.spread(mask)[at])
            message = (
                f"lane {int(lane[at])} is not in the mask {own:#010x} that it gives: the result is undefined"
            )
            wave.launch.findings.add(wave.fault("shuffle", message, site.instruction, at))
        return mask

    return members


def _check_sources(wave: Wave, site: Site, mask: Array, thread: Index, source: Index) -> Array | None:
    """Where what is read is undefined, as its lane is not in the mask; None for nowhere."""
    present = np.zeros(wave.threads + 32, np.bool_)
    present[wave.index] = True
    # In the last warp of a block a lane may not exist: its number is another block's thread.
    lost = ~present[thread]
    lost |= wave.warp[np.minimum(thread, wave.threads - 1)] != wave.warp[wave.index]
    if not lost.any():
        return None
    thread[lost] = wave.index[lost]
    named = lost & ((mask.astype(np.int64) >> source) & 1 == 1)
    if named.any():
        position = int(np.argmax(named))
        message = f"shuffle from lane {int(source[position])}, which is in the mask and does not take part"
        wave.launch.findings.add(wave.fault("shuffle", message, site.instruction, position))
    return lost


def _ballot(wave: Wave, holds: Array, mask: Array | None = None) -> Array:
    """For each active thread the bits of the lanes where `holds`: of its warp, or of those that give the same mask."""
    lanes = wave.lane[wave.index]
    group = wave.warp[wave.index] if mask is None or not mask.ndim else warp_groups(wave, mask)[0]
    bits = np.zeros(int(group.max()) + 1, np.int64)
    np.add.at(bits, group, np.where(holds, np.int64(1) << lanes, np.int64(0)))
    return bits[group].astype(np.uint32)


@opcode("vote")
def vote(site: Site) -> Step:
    """`vote.sync` `.any`, `.all`, `.uni`, `.ballot` over the lanes that execute it with the same mask."""
    mode = site.first("any", "all", "uni", "ballot")
    if mode is None or not site.has("sync"):
        raise site.unsupported()
    write = site.write(0, TYPES["b32" if mode == "ballot" else "pred"])
    a = site.read(1, TYPES["pred"])
    members = members_of(site, 2)

    def step(wave: Wave) -> None:
        holds, mask = wave.spread(a(wave)), members(wave)
        ballot = _ballot(wave, holds, mask)
        if mode == "ballot":
            write(wave, ballot)
        elif mode == "any":
            write(wave, ballot != 0)
        else:
            everyone = _ballot(wave, np.ones_like(holds), mask)
            write(wave, ballot == everyone if mode == "all" else (ballot == everyone) | (ballot == 0))

    return step


@opcode("activemask")
def active_mask(site: Site) -> Step:
    """`activemask`: the lanes that execute it."""
    write = site.write(0, TYPES["b32"])
    return lambda wave: write(wave, _ballot(wave, np.ones(wave.active_count, np.bool_)))


def warp_groups(wave: Wave, value: Array) -> tuple[Index, Array]:
    """A number for each distinct (warp, value), and the lanes that share it."""
    warps, lanes = wave.warp[wave.index], wave.lane[wave.index]
    keys = np.stack([warps, wave.spread(value).astype(np.uint64).view(np.int64)], axis=1)
    _, group = np.unique(keys, axis=0, return_inverse=True)
    group = group.reshape(-1)
    bits = np.zeros(int(group.max()) + 1, np.int64)
    np.add.at(bits, group, np.int64(1) << lanes)
    return group, bits[group].astype(np.uint32)


@opcode("match")
def match(site: Site) -> Step:
    """`match.any`: lanes with the same value; `match.all`: all lanes when they agree, else none; of the same mask."""
    kind = site.type
    first, second = site.pair(0)
    write, a = site.writer(first, TYPES["b32"]), site.read(1, kind)
    agree_to = None if second is None else site.writer(second, TYPES["pred"])
    members = members_of(site, 2)

    def step(wave: Wave) -> None:
        mask = members(wave)
        _, peers = warp_groups(wave, a(wave).view(kind.raw))
        if mask.ndim:  # of those that give the same mask
            peers = peers & _ballot(wave, np.ones(wave.active_count, np.bool_), mask)
        if site.has("any"):
            write(wave, peers)
            return
        agree = peers == _ballot(wave, np.ones(wave.active_count, np.bool_), mask)
        write(wave, np.where(agree, peers, np.uint32(0)))
        if agree_to is not None:
            agree_to(wave, agree)

    return step


@opcode("redux")
def reduce_warp(site: Site) -> Step:
    """`redux.sync`: one value of all lanes that execute it; lanes of different masks are different groups."""
    name = site.first(*AT_ONCE)
    if name is None or site.type.kind == "float":
        raise site.unsupported()
    kind, combine = site.type, AT_ONCE[name]
    write, a, members = site.write(0, kind), site.read(1, kind), members_of(site, 2)

    def step(wave: Wave) -> None:
        group, _ = warp_groups(wave, members(wave))
        values = wave.spread(a(wave))
        _, first = np.unique(group, return_index=True)
        neutral = values[first] if name not in ("add", "xor") else np.zeros(len(first), kind.dtype)
        totals = neutral.copy()
        combine(totals, group, values)
        write(wave, totals[group])

    return step


@opcode("elect")
def elect(site: Site) -> Step:
    """`elect.sync d|p`: the lowest lane that executes it with the same mask is the leader."""
    first, second = site.pair(0)
    if second is None:
        raise site.unsupported()
    write, leads = site.writer(first, TYPES["b32"]), site.writer(second, TYPES["pred"])
    members = members_of(site, 1)

    def step(wave: Wave) -> None:
        mask = members(wave)
        ballot = _ballot(wave, np.ones(wave.active_count, np.bool_), mask).astype(np.int64)
        lowest = np.bitwise_count(((ballot & -ballot) - 1).astype(np.uint64)).astype(np.uint32)
        write(wave, lowest)
        leads(wave, lowest == wave.lane[wave.index])

    return step
