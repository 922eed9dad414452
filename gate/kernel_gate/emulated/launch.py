"""One launch: the grid in waves of whole blocks, so that memory is bounded whatever the grid."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from kernel_gate.devices.base import Fault, LaunchResult
from kernel_gate.emulated import clusters
from kernel_gate.emulated.access import Access, Change, Located
from kernel_gate.emulated.addresses import PARAMETERS, SEGMENT_BITS, AddressSpace, Segment
from kernel_gate.emulated.births import Births
from kernel_gate.emulated.clocks import Clocks
from kernel_gate.emulated.counts import Counts
from kernel_gate.emulated.faults import Findings, LaunchFault
from kernel_gate.emulated.global_races import GlobalRaces
from kernel_gate.emulated.overflow import AddressOverflow
from kernel_gate.emulated.program import DecodedKernel
from kernel_gate.emulated.scheduler import Flow
from kernel_gate.emulated.shared_memory import POISON, SharedMemory
from kernel_gate.emulated.shared_races import SharedRaces
from kernel_gate.emulated.store_targets import ANY
from kernel_gate.emulated.watching import Watcher, watched
from kernel_gate.emulated.wave import Dim3, Index, Wave

_BLOCK_MOST = (1024, 1024, 64)
_GRID_MOST = (2**31 - 1, 65535, 65535)
_BLOCK_THREADS_MOST = 1024
_CLUSTER_MOST = 16
SHARED_MOST = {"sm_80": 166_912, "sm_90": 232_448}
"""Bytes of shared memory that one block can have (CUDA programming guide, table of compute capabilities)."""
_SHARED_MOST_OTHERWISE = 101_376
_WAVE_BYTES = 1 << 29


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
    parameters: npt.NDArray[np.uint8]
    checks: Checks = field(default_factory=Checks)
    limits: Limits = field(default_factory=Limits)
    findings: Findings = field(default_factory=Findings)
    counts: Counts = field(default_factory=Counts)
    instructions: int = 0
    """Executed so far, one per thread."""
    printed: list[str] = field(default_factory=list)
    """Texts of device `printf` calls."""
    blocks_done: int = 0
    deadline: float = 0.0
    races: GlobalRaces | None = field(init=False)
    _parameter_segment: Segment | None = None

    def __post_init__(self) -> None:
        self.races = None
        if self.checks.races:
            self.races = GlobalRaces(self.kernel.global_granule, self._stored_segments())

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
        if number != PARAMETERS:
            return self.space.find(number)
        if self._parameter_segment is None:
            self._parameter_segment = Segment(
                PARAMETERS, "parameters", len(self.parameters), 1, constant=True
            )
            self._parameter_segment.fill(self.parameters)
        return self._parameter_segment

    def synchronise(self, blocks: npt.NDArray[np.bool_] | None) -> None:
        """A barrier of these blocks of the wave (None: all) has opened."""
        if self.races is not None:
            self.races.synchronise(blocks)

    def watches(self, wave: Wave, at: Located) -> bool:
        """Whether writes to this memory are looked at for races."""
        if at.segment is not None:
            return self.races is not None and self.races.watches(at.segment)
        return at.space == "shared" and wave.shared.races is not None and not at.remote

    def global_read(self, wave: Wave, at: Located, where: Access, ordered: bool) -> None:
        """The active threads read global memory; ordered reads synchronise with other blocks."""
        if self.races is None or at.segment is None:
            return
        if ordered:
            self.races.acquire(wave)
        elif self.races.watches(at.segment):
            self.races.read(wave, at, where)

    def global_write(self, wave: Wave, at: Located, where: Access, change: Change, atomic: bool) -> None:
        """The active threads write global memory."""
        if self.races is not None and at.segment is not None and self.races.watches(at.segment):
            self.races.write(wave, at, where, change, atomic)

    def acquire(self, wave: Wave, at: Located) -> None:
        """The active threads did an atomic: their blocks may have seen what others released."""
        if self.races is not None and at.segment is not None:
            self.races.acquire(wave)

    def run(self, arch: str) -> LaunchResult:
        """Run every block. Faults are in the result."""
        refused = self._refusal(arch)
        if refused is not None:
            return LaunchResult((Fault("launch", refused),))
        self.deadline = time.monotonic() + self.limits.seconds
        faults: list[Fault] = []
        births = Births()
        kernel = self._watched(births)
        try:
            with np.errstate(all="ignore"):
                for blocks in self._waves():
                    wave = self._wave(blocks)
                    Flow(kernel, wave).run()
                    wave.shared.synchronise(wave, None)
                    self.blocks_done += len(blocks)
                    # A wave of few steps ends before it looks at the clock itself.
                    if time.monotonic() > self.deadline and self.blocks_done < self.blocks:
                        raise LaunchFault(Fault("timeout", self.out_of_budget(by_steps=False)))
        except LaunchFault as stopped:
            faults.append(stopped.fault)
        faults += self.findings.found.values()
        counted = None
        if self.checks.counts:
            sizes = [block.count for block in self.kernel.blocks]
            counted = self.counts.result(self.kernel.flat.body, sizes)
        return LaunchResult(tuple(faults), self._counted(), counted, tuple(births.found.values()))

    def _watched(self, births: Births) -> DecodedKernel:
        """The kernel with the watchers that this launch asks for."""
        watchers: list[Watcher] = []
        if self.checks.births:
            watchers.append(births.watch)
        if self.checks.overflow:
            watchers.append(AddressOverflow(self.kernel.address_registers).watch)
        return watched(self.kernel, watchers) if watchers else self.kernel

    def _counted(self) -> dict[str, Any]:
        counted: dict[str, Any] = {"thread_instructions": self.instructions}
        if self.checks.counts:
            counted |= self.counts.document(self.kernel.flat.body)
        if self.printed:
            counted["printf"] = self.printed
        return counted

    def _refusal(self, arch: str) -> str | None:
        """Why a device would refuse this launch."""
        for name, extent, limits in (("grid", self.grid, _GRID_MOST), ("block", self.block, _BLOCK_MOST)):
            if any(not 1 <= e <= m for e, m in zip(extent, limits, strict=True)):
                return f"invalid launch: {name} {extent}; each extent must be 1 … {limits}"
        if self.block_threads > _BLOCK_THREADS_MOST:
            return f"invalid launch: {self.block_threads} threads per block; at most {_BLOCK_THREADS_MOST}"
        cluster = self.kernel.flat.cluster
        if any(g % c for g, c in zip(self.grid, cluster, strict=True)) or self.cluster_size > _CLUSTER_MOST:
            return f"invalid launch: a grid {self.grid} in clusters of {cluster}; they must fit and have at most 16"
        required = self.kernel.flat.required_threads
        if required is not None and self.block_threads != required:
            return f"invalid launch: {self.block_threads} threads per block; compiled for exactly {required}"
        shared = self.kernel.layout.static_shared_bytes + self.shared_bytes
        most = SHARED_MOST.get(arch, _SHARED_MOST_OTHERWISE)
        if shared > most:
            return f"invalid launch: {shared} bytes of shared memory per block; {arch} has {most}"
        return None

    def _waves(self) -> Iterator[Index]:
        total, layout = self.blocks, self.kernel.layout
        shared = layout.static_shared_bytes + self.shared_bytes
        per_thread = 8 * len(layout.types) + layout.frame_bytes
        per_block = self.block_threads * per_thread + 6 * shared
        if self.kernel.has_mbarriers and self.checks.races:
            warps = -(-self.block_threads // 32)
            per_block += 8 * warps * (shared // self.kernel.shared_granule + self.block_threads)
        count = min(self.limits.wave_threads // self.block_threads, _WAVE_BYTES // max(per_block, 1))
        size = self.cluster_size
        count = max(count // size, 1) * size
        order = clusters.order(self.grid, self.kernel.flat.cluster) if size > 1 else None
        if self.checks.order_seed is not None:
            order = np.arange(total) if order is None else order
            mixed = np.random.default_rng(self.checks.order_seed).permutation(total // size)
            order = order.reshape(-1, size)[mixed].reshape(-1)
        for start in range(0, total, count):
            stop = min(start + count, total)
            yield np.arange(start, stop) if order is None else order[start:stop]

    def _wave(self, blocks: Index) -> Wave:
        layout = self.kernel.layout
        threads = self.block_threads * len(blocks)
        shared = SharedMemory(layout, self.shared_bytes, len(blocks), self.block_threads, None)
        wave = Wave(
            self,
            blocks,
            [_unset(kind.raw) for kind in layout.types],
            np.full((threads, layout.frame_bytes), POISON, np.uint8),
            shared,
        )
        if self.races is not None:
            self.races.enter(wave)
        if self.checks.races and shared.nbytes:
            shared.races = SharedRaces(
                len(blocks), int(wave.warp[-1]) + 1, shared.stride, self.kernel.shared_granule
            )
            if self.kernel.has_mbarriers:
                warps, granules = -(-self.block_threads // 32), len(shared.races.writer)
                shared.races.clocks = Clocks(threads, warps, granules)
        return wave


def _indices(number: int, extent: Dim3) -> Dim3:
    """x, y and z of a linear number."""
    return number % extent[0], number // extent[0] % extent[1], number // (extent[0] * extent[1])


def _unset(raw: np.dtype[Any]) -> Any:
    """What a register holds before its first write, as fresh memory does; predicates are false."""
    if raw == np.bool_:
        return np.False_
    return np.full(raw.itemsize, POISON, np.uint8).view(raw)[0]
