"""Races in global memory of a Triton launch that matter: those of reads whose value gets nowhere are left out.

So are those of a warp that stores a tile which it has loaded itself, in other lanes.

What is read for nothing in one block may be used in another, where a kernel's own branches decide; where a compiler
shares a tensor out among threads, it does so in the same way in each block. So this is for what Triton compiled. The
blocks of which a race is told, and the first and the last one, are run again twice from the memory as it was: once
to record which reads matter, once with the detector's eyes on these alone. Races between blocks are looked for in a
third run of the whole launch. Where a block cannot be followed, all races stay; a kernel of which that is known before
(`idle_reads.can_be_told`) does not come here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kernel_gate.devices.base import Fault
from kernel_gate.emulated.addresses import AddressSpace
from kernel_gate.emulated.launch import Checks, Launch
from kernel_gate.emulated.slicing.idle_reads import reads_that_matter
from kernel_gate.emulated.slicing.trace import Trace
from kernel_gate.emulated.types import Array

_MOST_BLOCKS = 4
_GOES_ON = frozenset({"race", "uninitialised"})
"""Faults that do not end a launch; of one that ended early nothing is known of what its reads are for."""


@dataclass(frozen=True, slots=True)
class Held:
    """What memory holds before a launch."""

    space: AddressSpace
    data: Mapping[int, tuple[Array, Array | None]]
    """By segment: its bytes, and which of them are written."""

    @classmethod
    def of(cls, launch: Launch) -> Held | None:
        """The segments that a launch may store to; None where nobody asks for races."""
        if launch.races is None:
            return None
        watched = launch.races.watched
        numbers = launch.space.numbers if watched is None else watched
        segments = ((n, launch.space.find(n)) for n in numbers)
        kept = {
            n: (s.data.copy(), None if s.written is None else s.written.copy())
            for n, s in segments
            if s is not None
        }
        return cls(launch.space, kept)

    def restore(self) -> None:
        """Put it back."""
        for number, (data, written) in self.data.items():
            segment = self.space.find(number)
            if segment is not None:
                segment.data[:] = data
                if segment.written is not None and written is not None:
                    segment.written[:] = written


def that_matter(
    faults: Sequence[Fault], launch: Launch, before: Held | None, again: Callable[[], Launch], arch: str
) -> tuple[Fault, ...]:
    """The faults of a launch without the races that change nothing. Memory is left as the launch left it.

    `again` makes the same launch; `before` is what memory held then.
    """
    raced = [f for f in faults if f.kind == "race" and f.buffer is not None and _reads(f)]
    if not raced or _ended(faults) or before is None:
        return tuple(faults)
    after = Held.of(launch)
    assert after is not None
    try:
        races = list(_found_again(raced, launch, before, again, arch))
    finally:
        after.restore()
    if None in races:
        return tuple(faults)
    remaining = {(f.line, f.buffer): f for f in races if f is not None}
    others = [f for f in faults if f not in raced]
    places = {(f.line, f.buffer) for f in others if f.kind == "race"}
    return (*others, *(f for key, f in remaining.items() if key not in places))


def _ended(faults: Sequence[Fault]) -> bool:
    return any(f.kind not in _GOES_ON for f in faults)


def _reads(fault: Fault) -> bool:
    """Whether a race is one of a write and a read."""
    return "different values" not in fault.message


def _found_again(
    raced: Sequence[Fault], launch: Launch, before: Held, again: Callable[[], Launch], arch: str
) -> Iterator[Fault | None]:
    """The races of reads that matter; None for a block that could not be followed."""
    x, y, _ = launch.grid
    named = [f.block[0] + x * (f.block[1] + y * f.block[2]) for f in raced if f.block is not None]
    for block in list(dict.fromkeys([*named, 0, launch.blocks - 1]))[:_MOST_BLOCKS]:
        recorded, seen = again(), again()
        for one in (recorded, seen):
            one.only_blocks, one.trace, one.checks = (block,), Trace(), _races_alone(one)
        before.restore()
        if _ended(recorded.run(arch).faults) or recorded.trace is None:
            yield None
            return
        assert seen.races is not None
        seen.races.matter = reads_that_matter(recorded.trace, launch.kernel)
        seen.races.warps_in_step = True
        before.restore()
        yield from _races_in(seen, arch)
    whole = again()
    assert whole.races is not None
    whole.checks, whole.races.between_blocks_only = _races_alone(whole), True
    before.restore()
    yield from _races_in(whole, arch)


def _races_alone(launch: Launch) -> Checks:
    return replace(
        launch.checks, uninitialised=False, overflow=False, counts=False, births=False, invariants=None
    )


def _races_in(launch: Launch, arch: str) -> Iterator[Fault | None]:
    faults = launch.run(arch).faults
    if _ended(faults):
        yield None
    yield from (f for f in faults if f.kind == "race" and f.buffer is not None)
