"""Races in global memory, within a block and between blocks.

Threads of one block are ordered by its barriers. Threads of different blocks are ordered only where one has passed a
fence and then done an atomic or a volatile or releasing store, and the other one's block has since done an atomic or a
volatile or acquiring load on the same place (PTX memory model, release and acquire patterns): what came before the
fence is then known, of other threads than the releasing one only what a barrier puts before it (`released.py`). An
atomic on an unrelated counter, or one that no fence comes before, orders nothing, and one of
the scope of a block (`atomicAdd_block`) neither orders nor is an atomic to other blocks. A volatile load is a race
only where a flag has overtaken what it reads (`overtaken.py`); a load through the read-only cache is one of whatever
this launch has written, a barrier between them or not (PTX ISA, `ld.global.nc`). Writes of the value that already
stands there are benign, and so are reads of a Triton kernel whose value gets nowhere (`raced.py`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from kernel_gate.devices.base import Place
from kernel_gate.emulated.access import Access, Change, Located
from kernel_gate.emulated.addresses import SEGMENT_BITS, Segment
from kernel_gate.emulated.overtaken import Overtaken
from kernel_gate.emulated.ptx.model import Instruction
from kernel_gate.emulated.released import Released
from kernel_gate.emulated.wave import Index, Wave
from kernel_gate.program import WARP

Flags = npt.NDArray[np.bool_]
_THREAD_BITS = 34
_THREAD = (1 << _THREAD_BITS) - 1
_ATOMIC = 1 << _THREAD_BITS
_MANY_THREADS = 2 << _THREAD_BITS
_MANY_BLOCKS = 4 << _THREAD_BITS
_MANY_WARPS = 8 << _THREAD_BITS
_OF_BLOCK = 16 << _THREAD_BITS
"""An atomic that is one among the threads of its block only."""
_EVENT_SHIFT = _THREAD_BITS + 5
_GRANULE_BITS = SEGMENT_BITS
_GRANULE = (1 << _GRANULE_BITS) - 1
_MOST_PLACES = 4096
"""Places of one instruction that are looked at for what they release; flags and counters are few."""


def of_block(instruction: Instruction) -> bool:
    """Whether an atomic has the scope of a block."""
    return "cta" in instruction.parts


@dataclass(slots=True)
class _Shadow:
    writer: Index
    """Event, flags and grid-wide thread number of the last write of each granule; -1: none."""
    reader: Index | None = None
    """The same of the last read, with flags when several threads, warps or blocks have read."""
    second: Index | None = None
    """Another one of several readers, so that a race of the last reader can name it."""


@dataclass(slots=True)
class GlobalRaces:
    """Who wrote and read each granule of the buffers that this launch writes."""

    granule: int
    watched: frozenset[int] | None
    """Numbers of the segments that stores can reach; None: all."""
    released: Released
    """What blocks know of each other."""
    shadows: dict[int, _Shadow] = field(default_factory=dict)
    events: list[Instruction | None] = field(default_factory=lambda: [None])
    """Instruction of each event; events count from 1."""
    threads: Index = field(default_factory=lambda: np.zeros(0, np.int64))
    """Grid-wide number of each thread of the wave."""
    barrier: Index = field(default_factory=lambda: np.zeros(0, np.int64))
    """Event of the last barrier of each block of the wave."""
    warp_barrier: Index = field(default_factory=lambda: np.zeros(0, np.int64))
    between_blocks_only: bool = False
    """Leave out what threads of one block do to each other."""
    overtaken: Overtaken | None = None
    """Stores that flags overtake; None: the kernel has no load that could see it."""
    matter: Mapping[int, Flags] | None = None
    """Event of the launch's record → threads whose read matters (`slicing.idle_reads`); None: all reads do."""

    def enter(self, wave: Wave) -> None:
        """A new wave starts."""
        self.threads = wave.blocks[wave.block_of] * wave.launch.block_threads + wave.thread_in_block
        self.barrier = np.zeros(len(wave.blocks), np.int64)
        self.released.enter(len(wave.blocks))
        self.warp_barrier = np.zeros(int(wave.warp[-1]) + 1, np.int64)
        if self.overtaken is not None:
            self.overtaken.enter(len(wave.blocks))

    def watches(self, segment: Segment) -> bool:
        """Whether anything in this launch can write the segment."""
        return self.watched is None or segment.number in self.watched

    def synchronise(self, blocks: npt.NDArray[np.bool_] | None) -> None:
        """A barrier of these blocks of the wave opens (None: all)."""
        chosen = slice(None) if blocks is None else blocks
        self.barrier[chosen] = self.released.met[chosen] = len(self.events)

    def meet(self, wave: Wave) -> None:
        """The active threads may have waited for others of their blocks by other means than a barrier."""
        self.released.met[wave.block_of[wave.index]] = len(self.events)

    def synchronise_warps(self, wave: Wave) -> None:
        """The active threads pass a warp barrier."""
        self.warp_barrier[wave.warp[wave.index]] = len(self.events)

    def fence(self, wave: Wave) -> None:
        """The active threads pass a fence of the device."""
        self.released.fenced[wave.block_of[wave.index]] = len(self.events)

    def acquire(self, wave: Wave, at: Located, where: Access) -> None:
        """The active threads' blocks see what other blocks released at these places."""
        if self.overtaken is not None and self.overtaken.watches:
            self.overtaken.see(self._places(wave, at, where))
        if not self.released.places:
            return
        for block, place in self._places(wave, at, where):
            self.released.acquire(place, block)

    def acquire_all(self, blocks: npt.NDArray[np.bool_]) -> None:
        """These blocks of the wave have met: each knows what the others did."""
        self.released.acquire_all(blocks, len(self.events))

    def release(self, wave: Wave, at: Located, where: Access) -> None:
        """What the active threads did before their blocks' last fence can be known from these places on."""
        if self.overtaken is not None and self.overtaken.watches:
            self.overtaken.publish(self._places(wave, at, where), wave.blocks, len(self.events))
        if not self.released.fenced[wave.block_of[wave.index]].any():
            return
        threads = self._threads_at(wave, at, where)
        for block, place in self._places(wave, at, where):
            there = threads.get((block, place[1]))
            self.released.release(place, block, wave, there, self.warp_barrier)

    def _threads_at(self, wave: Wave, at: Located, where: Access) -> dict[tuple[int, int], Index]:
        """The active threads, as numbers in the wave, by their block and granule; none of them where they are many."""
        if len(wave.index) > _MOST_PLACES:
            return {}
        granules = wave.spread(at.index) * where.element.size // self.granule
        pairs, place = np.unique(wave.block_of[wave.index] << _GRANULE_BITS | granules, return_inverse=True)
        order = np.argsort(place, kind="stable")
        groups = np.split(wave.index[order], np.cumsum(np.bincount(place))[:-1])
        return {
            (int(pair >> _GRANULE_BITS), int(pair & _GRANULE)): group
            for pair, group in zip(pairs, groups, strict=True)
        }

    def store_in_order(self, wave: Wave, at: Located, where: Access) -> None:
        """The active threads did a volatile or relaxed store, which is no race with others of its kind."""
        if self.overtaken is None or not self.overtaken.watches:
            return
        assert at.segment is not None
        last = self.overtaken.stored.get(at.segment.number)
        if last is None:
            last = np.full_like(self._shadow(at.segment).writer, -1)
            self.overtaken.stored[at.segment.number] = last
        self.events.append(where.instruction)
        for granule in self._granules(wave, at, where):
            last[granule] = ((len(self.events) - 1) << _EVENT_SHIFT) | self.threads[wave.index]

    def read_in_order(self, wave: Wave, at: Located, where: Access) -> None:
        """The active threads did a volatile or relaxed load: a race where a flag has overtaken what they read."""
        if self.overtaken is None or not self.overtaken.watches:
            return
        assert at.segment is not None
        blocks, matters = wave.block_of[wave.index], self._matters(wave)
        last = self.overtaken.stored.get(at.segment.number)
        for granule in self._granules(wave, at, where):
            before = self._shadow(at.segment).writer[granule]
            if last is not None:
                before = np.maximum(before, last[granule])
            event, other = before >> _EVENT_SHIFT, (before & _THREAD) // wave.launch.block_threads
            conflict = (before >= 0) & (other != wave.blocks[blocks]) & matters
            conflict = self._unknown(conflict, blocks, before)
            if conflict.any():
                conflict &= self.overtaken.counts_on(blocks, np.where(conflict, other, 0), event)
            if conflict.any():
                self._report(
                    "reads what another writes before a flag", wave, at, where, conflict, before, granule
                )

    def _places(self, wave: Wave, at: Located, where: Access) -> Iterator[tuple[int, tuple[int, int]]]:
        """Each block of the active threads with each place that it reaches, once."""
        assert at.segment is not None
        granules = wave.spread(at.index) * where.element.size // self.granule
        pairs = np.unique(wave.block_of[wave.index] << _GRANULE_BITS | granules)[:_MOST_PLACES]
        for block, granule in zip(pairs >> _GRANULE_BITS, pairs & _GRANULE, strict=True):
            yield int(block), (at.segment.number, int(granule))

    def _shadow(self, segment: Segment) -> _Shadow:
        shadow = self.shadows.get(segment.number)
        if shadow is None:
            shadow = _Shadow(np.full(len(segment.data) // self.granule, -1, np.int64))
            self.shadows[segment.number] = shadow
        return shadow

    def read(self, wave: Wave, at: Located, where: Access) -> None:
        """The active threads read."""
        assert at.segment is not None
        shadow = self._shadow(at.segment)
        if shadow.reader is None:
            shadow.reader, shadow.second = (np.full_like(shadow.writer, -1) for _ in range(2))
        self.events.append(where.instruction)
        threads, matters = self.threads[wave.index], self._matters(wave)
        key = ((len(self.events) - 1) << _EVENT_SHIFT) | threads
        stale = "nc" in where.instruction.parts
        for granule in self._granules(wave, at, where):
            before = shadow.writer[granule]
            if stale and (conflict := (before >= 0) & matters).any():
                self._report(
                    "reads through the read-only cache what is written",
                    wave,
                    at,
                    where,
                    conflict,
                    before,
                    granule,
                )
                continue
            conflict = self._unordered(wave, before, threads) & matters
            if conflict.any():
                self._report("reads what another writes", wave, at, where, conflict, before, granule)
            self._remember_reader(wave, shadow, granule[matters], key[matters], matters)

    def _matters(self, wave: Wave) -> Flags:
        """Whether what each active thread reads now matters."""
        trace = wave.launch.trace
        flags = None if self.matter is None or trace is None else self.matter.get(len(trace.events) - 1)
        return np.ones(len(wave.index), np.bool_) if flags is None else flags[wave.index]

    def _remember_reader(
        self, wave: Wave, shadow: _Shadow, granule: Index, key: Index, matters: Flags
    ) -> None:
        reader, second = shadow.reader, shadow.second
        assert reader is not None
        assert second is not None
        size, blocks = wave.launch.block_threads, wave.block_of[wave.index][matters]
        threads = self.threads[wave.index][matters]
        last = reader[granule]
        event, other = last >> _EVENT_SHIFT, last & _THREAD
        same_block = other // size == threads // size
        fresh = self._unknown(last >= 0, blocks, last)
        many = fresh & (~same_block | (last & _MANY_BLOCKS != 0))
        flags = np.where(many, _MANY_BLOCKS, 0)
        current = (last >= 0) & same_block & (event >= self.barrier[blocks])
        same_warp = other % size // WARP == threads % size // WARP
        warps = current & (~same_warp | (last & _MANY_WARPS != 0))
        flags |= np.where(warps, _MANY_WARPS, 0)
        since = current & (event >= self.warp_barrier[wave.warp[wave.index][matters]])
        several = warps | since & ((other != threads) | (last & _MANY_THREADS != 0))
        key = key | flags | np.where(several, _MANY_THREADS, 0)
        another = (last >= 0) & (other != threads)
        second[granule[another]] = last[another]
        reader[granule] = key
        kept = reader[granule]
        lost = (kept & _THREAD) != threads
        if lost.any():
            second[granule[lost]] = key[lost]
            near = lost & ((kept & _THREAD) // size == threads // size)
            reader[granule[near]] |= _MANY_THREADS
            apart = near & ((kept & _THREAD) % size // WARP != threads % size // WARP)
            reader[granule[apart]] |= _MANY_WARPS
            reader[granule[lost & ~near]] |= _MANY_BLOCKS

    def write(self, wave: Wave, at: Located, where: Access, change: Change, atomic: bool) -> None:
        """The active threads write."""
        assert at.segment is not None
        shadow = self._shadow(at.segment)
        self.events.append(where.instruction)
        threads = self.threads[wave.index]
        blocks = threads // wave.launch.block_threads
        scope = _OF_BLOCK if atomic and of_block(where.instruction) else 0
        key = ((len(self.events) - 1) << _EVENT_SHIFT) | (_ATOMIC if atomic else 0) | scope | threads
        for granule in self._granules(wave, at, where):
            before = shadow.writer[granule]
            shadow.writer[granule] = key
            conflict = self._unordered(wave, before, threads) & change.replaced
            what = "and another write different values"
            if atomic:
                narrow = (before & _OF_BLOCK | scope) != 0
                if scope:
                    # Another block's, of this very instruction.
                    kept = shadow.writer[granule]
                    beside = (kept & _THREAD) // wave.launch.block_threads != blocks
                    before, conflict = np.where(beside, kept, before), conflict | beside
                narrow &= (before & _THREAD) // wave.launch.block_threads != blocks
                conflict &= (before & _ATOMIC == 0) | narrow
                if (conflict & narrow).any():
                    what = "and another do atomics, one of them in the scope of its block alone"
            if change.lost.any():
                before = np.where(change.lost, shadow.writer[granule], before)
                conflict |= change.lost & (before != key)
            if conflict.any():
                self._report(what, wave, at, where, conflict, before, granule)
            if shadow.reader is not None:
                last = shadow.reader[granule]
                conflict = self._unordered(wave, last, threads) & change.replaced
                if wave.launch.replicates_elements:
                    # Triton's threads of a warp stay together: what one has loaded, a later store cannot change.
                    conflict &= ~self._of_warp(wave, last, threads)
                if conflict.any():
                    self._report("writes what another reads", wave, at, where, conflict, last, granule)

    def _granules(self, wave: Wave, at: Located, where: Access) -> list[Index]:
        first = wave.spread(at.index) * where.element.size // self.granule
        return [first + part for part in range(max(where.nbytes // self.granule, 1))]

    def _unordered(self, wave: Wave, before: Index, threads: Index) -> npt.NDArray[np.bool_]:
        """Whether the earlier access was another thread's and nothing orders it before the active threads' own."""
        size, blocks = wave.launch.block_threads, wave.block_of[wave.index]
        event, other = before >> _EVENT_SHIFT, before & _THREAD
        same_block = other // size == threads // size
        foreign = (before >= 0) & (~same_block | (before & _MANY_BLOCKS != 0))
        foreign = self._unknown(foreign, blocks, before)
        near = same_block & ((other != threads) | (before & _MANY_THREADS != 0))
        near &= (event >= self.barrier[blocks]) & (not self.between_blocks_only)
        if near.any() and self.warp_barrier.any():
            same_warp = (other % size // WARP == threads % size // WARP) & (before & _MANY_WARPS == 0)
            near &= ~(same_warp & (event < self.warp_barrier[wave.warp[wave.index]]))
        result: npt.NDArray[np.bool_] = (before >= 0) & (foreign | near)
        return result

    def _unknown(self, asked: Flags, blocks: Index, before: Index) -> Flags:
        """Which of the earlier accesses that are asked for each block of the wave does not know."""
        # Of several readers only one is named.
        single = before & (_MANY_THREADS | _MANY_BLOCKS | _MANY_WARPS) == 0
        return self.released.unknown(asked, blocks, before & _THREAD, before >> _EVENT_SHIFT, single)

    @staticmethod
    def _of_warp(wave: Wave, before: Index, threads: Index) -> Flags:
        """Whether the earlier accesses were all by threads of the active thread's warp."""
        size, other = wave.launch.block_threads, before & _THREAD
        same = (other // size == threads // size) & (other % size // WARP == threads % size // WARP)
        result: Flags = same & (before & (_MANY_WARPS | _MANY_BLOCKS) == 0)
        return result

    def _report(
        self,
        what: str,
        wave: Wave,
        at: Located,
        where: Access,
        conflict: npt.NDArray[np.bool_],
        before: Index,
        granule: Index,
    ) -> None:
        segment = at.segment
        assert segment is not None
        shadow = self._shadow(segment)
        named = conflict & (before & _THREAD != self.threads[wave.index])
        position = int(np.argmax(named if named.any() else conflict))
        other = int(before[position])
        own = int(self.threads[wave.index[position]])
        if other & _THREAD == own and shadow.second is not None:
            second = int(shadow.second[granule[position]])
            barrier = self.barrier[wave.block_of[wave.index[position]]]
            other = second if second >> _EVENT_SHIFT >= barrier else other
        is_other = other & _THREAD != own
        instruction = self.events[other >> _EVENT_SHIFT]
        line = None if instruction is None else instruction.line
        inner = "" if instruction is None else instruction.inner
        block, thread = wave.launch.indices(other & _THREAD)
        offset = int(granule[position]) * self.granule - segment.offset
        element = segment.element(offset, where.element.size)
        if is_other:
            side = Place("the other access of the race", line, block, thread, inner)
            who = f"block {block}, thread {thread}"
        else:
            side = Place("the other access of the race", line, inner=inner)
            who = "one of several threads"
        message = (
            f"race on {segment.name}[{element}]: this thread {what}, nothing orders them; "
            f"the other is {who}" + (f" at line {line}" if line else "")
        )
        wave.launch.findings.add(
            wave.fault(
                "race",
                message,
                where.instruction,
                position,
                buffer=segment.name,
                element=element,
                related=(side,),
            )
        )
