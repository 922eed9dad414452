"""One launch: the grid in waves of whole blocks, so that memory is bounded whatever the grid."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kernel_gate.deadline import seconds_left
from kernel_gate.devices.base import Dim3, Fault, LaunchResult
from kernel_gate.emulated.access import Access, Change, Located
from kernel_gate.emulated.addresses import GRID_BARRIER, PARAMETERS, SEGMENT_BITS, AddressSpace, Segment
from kernel_gate.emulated.births import Births
from kernel_gate.emulated.clocks import Clocks
from kernel_gate.emulated.counts import Counts
from kernel_gate.emulated.decisions import Decisions
from kernel_gate.emulated.faults import Findings, LaunchFault
from kernel_gate.emulated.global_races import GlobalRaces, of_block
from kernel_gate.emulated.layout import POISON
from kernel_gate.emulated.noise import Noise
from kernel_gate.emulated.overflow import AddressOverflow
from kernel_gate.emulated.overtaken import Overtaken
from kernel_gate.emulated.program import DecodedKernel
from kernel_gate.emulated.refusal import refusal
from kernel_gate.emulated.released import Released
from kernel_gate.emulated.schedule import Schedule
from kernel_gate.emulated.scheduler import Flow
from kernel_gate.emulated.shared_memory import SharedMemory
from kernel_gate.emulated.shared_races import SharedRaces
from kernel_gate.emulated.slicing.trace import Trace
from kernel_gate.emulated.store_targets import ANY
from kernel_gate.emulated.terms import Terms
from kernel_gate.emulated.undefined_locals import UndefinedLocals, reads_local_memory
from kernel_gate.emulated.watching import Watcher, watched
from kernel_gate.emulated.wave import Index, Wave
from kernel_gate.emulated.waves import waves
from kernel_gate.invariants.bound import Invariants
from kernel_gate.shared_arrays import Arrays

if TYPE_CHECKING:
    from kernel_gate.emulated.payloads.memory import PayloadMemory
    from kernel_gate.emulated.payloads.watch import PayloadWatch
    from kernel_gate.emulated.tags.watch import Watch

_GRID_BARRIER_BYTES = 64


@dataclass(frozen=True, slots=True)
class Limits:
    """What one launch may use."""

    steps: int = 4_000_000
    """Basic blocks executed in one wave."""
    seconds: float = 300.0
    wave_threads: int = 1 << 15


@dataclass(frozen=True, slots=True)
class Checks:
    """What is looked for besides bad addresses and barriers, which always are."""

    races: bool = True
    uninitialised: bool = True
    counts: bool = False
    """Instructions, branches, sectors and wavefronts by source line: about as costly as the accesses themselves."""
    births: bool = False
    """The first instructions that make NaNs and infinities: two looks at each result."""
    overflow: bool = True
    """Sums and products of 32 bits that wrap and become part of an address."""
    invariants: Invariants | None = None
    """Tags of data and what is asserted of them; None: nothing, and at no cost."""
    terms: Terms | None = None
    """Counts the terms of sums; None: not counted."""
    payloads: PayloadMemory | None = None
    """Exact payloads beside the floats, instead of tags; None: none, and at no cost."""
    schedule: Schedule | None = None
    """Give warps turns in this order; None: all threads run as one where they can."""
    decisions: Decisions | None = None
    """What comparisons and roundings decide by; None: not looked at."""
    noise: int | None = None
    """Move rounded results by a unit in their last place, drawn from this seed; None: leave them as they are."""
    order_seed: int | None = None
    """Run the blocks in a random order; None: in the order of their numbers."""


@dataclass(slots=True)
class Launch:
    """A launch under way."""

    kernel: DecodedKernel
    space: AddressSpace
    grid: Dim3
    block: Dim3
    shared_bytes: int
    """Dynamic, for each block."""
    parameters: npt.NDArray[np.uint8]
    checks: Checks = field(default_factory=Checks)
    limits: Limits = field(default_factory=Limits)
    findings: Findings = field(default_factory=Findings)
    counts: Counts = field(default_factory=Counts)
    number: int = 0
    """Among the launches of its device."""
    only_blocks: tuple[int, ...] | None = None
    """Run just these blocks, each with its cluster; None: all."""
    undefined: UndefinedLocals | None = None
    """Values from local memory that nothing has written; None: not looked for."""
    spare: tuple[AddressOverflow, UndefinedLocals | None, DecodedKernel] | None = None
    """The kernel with the usual watchers, to be used again."""
    executed: npt.NDArray[np.bool_] | None = None
    """[2, blocks]: whether some thread has run a basic block, and has gone back from its end; None: not kept."""
    trace: Trace | None = None
    """What is executed is recorded here."""
    replicates_elements: bool = False
    """Whether several threads may compute one element and each store it, as Triton lays tensors out."""
    arrays: Arrays = field(default_factory=dict)
    """How the source declares shared arrays of several dimensions."""
    instructions: int = 0
    """Executed so far, one per thread."""
    printed: list[str] = field(default_factory=list)
    """Texts of device `printf` calls."""
    blocks_done: int = 0
    deadline: float = 0.0
    races: GlobalRaces | None = field(init=False)
    tags: Watch | PayloadWatch | None = field(init=False)
    _parameter_segment: Segment | None = None
    _grid_barrier: Segment | None = None

    def __post_init__(self) -> None:
        self.races = None
        if self.checks.races:
            overtaken = Overtaken(self.blocks) if self.kernel.loads_in_order else None
            released = Released(self.blocks, self.block_threads)
            stored = self._stored_segments()
            self.races = GlobalRaces(self.kernel.global_granule, stored, released, overtaken=overtaken)
        self.tags = None
        if self.checks.invariants is not None:
            # Heavy for those who state none.
            from kernel_gate.emulated.tags.watch import Watch

            self.tags = Watch(self.kernel, self.checks.invariants)
        elif self.checks.payloads is not None:
            from kernel_gate.emulated.payloads.watch import PayloadWatch

            self.tags = PayloadWatch(self.kernel, self.checks.payloads)

    def _stored_segments(self) -> frozenset[int] | None:
        """Numbers of the segments that the kernel's stores can reach; None when they may be any."""
        layout, numbers = self.kernel.layout, set()
        for name in self.kernel.store_targets:
            if name in layout.globals:
                numbers.add(layout.globals[name].number)
            elif name in layout.parameters:
                offset, nbytes = layout.parameters[name]
                words = self.parameters[offset : offset + nbytes // 8 * 8].view(np.uint64)
                numbers |= {int(word) >> SEGMENT_BITS for word in words}
            elif name == ANY:
                return None
        return frozenset(numbers)

    @property
    def cluster_size(self) -> int:
        """Blocks of one cluster."""
        x, y, z = self.kernel.flat.cluster
        return x * y * z

    @property
    def block_threads(self) -> int:
        """Threads of one block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    def out_of_budget(self, by_steps: bool) -> str:
        """What to say of a launch that is ended for its steps, or else for its time."""
        budget = f"{self.limits.steps:,} steps of a wave" if by_steps else f"{self.limits.seconds:g} s"
        return (
            f"the launch did not end within its budget of {budget}: "
            f"{self.blocks_done:,} of {self.blocks:,} blocks are done"
        )

    def indices(self, thread: int) -> tuple[Dim3, Dim3]:
        """Block and thread indices of a thread of the grid, by its number."""
        cta, inner = divmod(thread, self.block_threads)
        return _indices(cta, self.grid), _indices(inner, self.block)

    def find(self, number: int) -> Segment | None:
        """The segment of that number; the launch's own parameters among them."""
        if number == GRID_BARRIER:
            return self.grid_barrier
        if number != PARAMETERS:
            return self.space.find(number)
        if self._parameter_segment is None:
            self._parameter_segment = Segment(
                PARAMETERS, "parameters", len(self.parameters), 1, constant=True
            )
            self._parameter_segment.fill(self.parameters)
        return self._parameter_segment

    @property
    def grid_barrier(self) -> Segment:
        """The memory by which all blocks wait for each other, zero when the launch begins."""
        if self._grid_barrier is None:
            self._grid_barrier = Segment(GRID_BARRIER, "barrier of the grid", _GRID_BARRIER_BYTES, 4)
            self._grid_barrier.fill(np.zeros(_GRID_BARRIER_BYTES, np.uint8))
        return self._grid_barrier

    def synchronise(self, blocks: npt.NDArray[np.bool_] | None) -> None:
        """A barrier of these blocks of the wave (None: all) has opened."""
        if self.races is not None:
            self.races.synchronise(blocks)

    def meet(self, wave: Wave) -> None:
        """The active threads may have waited for others of their blocks by other means than a barrier."""
        if self.races is not None:
            self.races.meet(wave)

    def watches(self, wave: Wave, at: Located) -> bool:
        """Whether writes to this memory are looked at for races."""
        if at.segment is not None:
            return self.races is not None and self.races.watches(at.segment)
        return at.space == "shared" and wave.shared.races is not None and not at.remote

    def global_read(self, wave: Wave, at: Located, where: Access, ordered: bool) -> None:
        """The active threads read global memory; ordered reads synchronise with other blocks."""
        if ordered:
            wave.cluster_barriers.hear(wave)
        if self.races is None or at.segment is None:
            return
        if ordered:
            self.races.acquire(wave, at, where)
            if self.races.watches(at.segment):
                self.races.read_in_order(wave, at, where)
        elif self.races.watches(at.segment) and where.number not in self.kernel.guesses:
            self.races.read(wave, at, where)

    def global_write(self, wave: Wave, at: Located, where: Access, change: Change, atomic: bool) -> None:
        """The active threads write global memory."""
        if self.races is not None and at.segment is not None and self.races.watches(at.segment):
            self.races.write(wave, at, where, change, atomic)

    def exchange(self, wave: Wave, at: Located, where: Access, fenced: bool) -> None:
        """The active threads did an atomic: they see what others released there, and release what came before.

        `fenced`: the atomic itself releases.
        """
        if at.segment is not None or at.remote:
            wave.cluster_barriers.hear(wave, where.instruction)
        if self.races is None:
            return
        if at.space == "shared":
            self.meet(wave)
        if at.segment is not None and not of_block(where.instruction):
            if fenced:
                self.races.fence(wave)
            # Threads of one instruction take turns: the later ones see what the earlier ones release.
            self.races.release(wave, at, where)
            self.races.acquire(wave, at, where)

    def publish(self, wave: Wave, at: Located, where: Access, fenced: bool) -> None:
        """The active threads did a volatile or releasing store."""
        if self.races is not None and at.segment is not None:
            if fenced:
                self.races.fence(wave)
            self.races.release(wave, at, where)
            if self.races.watches(at.segment):
                self.races.store_in_order(wave, at, where)

    def run(self, arch: str) -> LaunchResult:
        """Run every block. Faults are in the result."""
        refused = refusal(self, arch)
        if refused is not None:
            return LaunchResult((Fault("launch", refused),))
        self.deadline = time.monotonic() + seconds_left(self.limits.seconds)
        faults: list[Fault] = []
        births = Births()
        kernel = self._watched(births)
        try:
            with np.errstate(all="ignore"):
                for blocks in waves(self):
                    wave = self.wave_of(blocks)
                    Flow(kernel, wave).run()
                    wave.shared.synchronise(wave, None)
                    wave.cluster_barriers.leave(wave)
                    self.blocks_done += len(blocks)
                    # A wave of few steps ends before it looks at the clock itself.
                    if time.monotonic() > self.deadline and self.blocks_done < self.blocks:
                        raise LaunchFault(Fault("timeout", self.out_of_budget(by_steps=False)))
        except LaunchFault as stopped:
            faults.append(stopped.fault)
        if self.spare is not None:
            self.kernel.spares.append(self.spare)
        was_stopped = bool(faults)
        faults += self.findings.found.values()
        counted = None
        if self.checks.counts:
            sizes = [block.count for block in self.kernel.blocks]
            counted = self.counts.result(self.kernel.flat.body, sizes)
        births_found = tuple(births.found.values())
        asserted = self.tags.results() if self.tags is not None else ()
        lost = self.tags.tags_lost() if self.tags is not None else ()
        return LaunchResult(
            tuple(faults), self._counted(), counted, births_found, asserted, lost, stopped=was_stopped
        )

    def _watched(self, births: Births) -> DecodedKernel:
        """The kernel with the watchers that this launch asks for."""
        watchers: list[Watcher] = []
        if self.checks.births:
            watchers.append(births.watch)
        if self.checks.decisions is not None:
            watchers.append(self.checks.decisions.watch)
        if self.checks.noise is not None:
            seed = [self.checks.noise, self.number]
            watchers.append(Noise(seed, tuple(self.kernel.flat.body)).watch)
        if self.tags is not None:
            watchers.append(self.tags.watch)
        if self.checks.terms is not None:
            watchers.append(self.checks.terms.watch)
        follows_undefined = self.checks.uninitialised and reads_local_memory(self.kernel)
        if self.checks.overflow and not watchers:
            kernel = self._watched_as_usual(follows_undefined)
        else:
            self.undefined = UndefinedLocals(self.kernel.layout) if follows_undefined else None
            overflow = AddressOverflow(self.kernel.address_registers) if self.checks.overflow else None
            kernel = self._watched_by(watchers, self.undefined, overflow)
        return kernel if self.trace is None else self.trace.recorded(kernel)

    def _watched_as_usual(self, follows_undefined: bool) -> DecodedKernel:
        """The usual watchers alone: what an earlier launch has put around the steps is used again."""
        for number, (overflow, undefined, kernel) in enumerate(self.kernel.spares):
            if (undefined is not None) is follows_undefined:
                self.spare = self.kernel.spares.pop(number)
                overflow.reset()
                if undefined is not None:
                    undefined.reset()
                self.undefined = undefined
                return kernel
        overflow = AddressOverflow(self.kernel.address_registers)
        self.undefined = UndefinedLocals(self.kernel.layout) if follows_undefined else None
        kernel = self._watched_by([], self.undefined, overflow)
        self.spare = overflow, self.undefined, kernel
        return kernel

    def _watched_by(
        self, watchers: list[Watcher], undefined: UndefinedLocals | None, overflow: AddressOverflow | None
    ) -> DecodedKernel:
        last = [one.watch for one in (undefined, overflow) if one is not None]
        kernel = watched(self.kernel, [*watchers, *last]) if watchers or last else self.kernel
        return kernel if undefined is None else undefined.with_branches(kernel)

    def _counted(self) -> dict[str, Any]:
        counted: dict[str, Any] = {"thread_instructions": self.instructions}
        if self.checks.counts:
            counted |= self.counts.document(self.kernel.flat.body)
        if self.printed:
            counted["printf"] = self.printed
        return counted

    def wave_of(self, blocks: Index) -> Wave:
        """The threads of some blocks, before their first instruction."""
        layout = self.kernel.layout
        threads = self.block_threads * len(blocks)
        shared = SharedMemory(layout, self.shared_bytes, len(blocks), self.block_threads, None, self.arrays)
        written = None
        if self.undefined is not None:
            self.undefined.enter()
            written = np.zeros((threads, layout.frame_bytes), np.uint8)
        wave = Wave(
            self,
            blocks,
            list(layout.unset),
            np.full((threads, layout.frame_bytes), POISON, np.uint8),
            shared,
            local_written=written,
        )
        if self.races is not None:
            self.races.enter(wave)
        if self.checks.races and shared.nbytes:
            shared.races = SharedRaces(
                len(blocks),
                int(wave.warp[-1]) + 1,
                shared.stride,
                self.kernel.shared_granule,
                self.replicates_elements,
            )
            if self.kernel.orders_parts:
                warps, granules = -(-self.block_threads // 32), len(shared.races.writer)
                shared.races.clocks = Clocks(threads, warps, granules)
        return wave


def _indices(number: int, extent: Dim3) -> Dim3:
    """x, y and z of a linear number."""
    return number % extent[0], number // extent[0] % extent[1], number // (extent[0] * extent[1])
