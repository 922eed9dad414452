"""One launch: the grid in waves of whole blocks, so that memory is bounded whatever the grid."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from kernel_gate.devices.base import Fault, LaunchResult
from kernel_gate.emulated.access import Access, Change, Located
from kernel_gate.emulated.addresses import SEGMENT_BITS, AddressSpace
from kernel_gate.emulated.counts import Counts
from kernel_gate.emulated.faults import Findings, LaunchFault
from kernel_gate.emulated.global_races import GlobalRaces
from kernel_gate.emulated.program import DecodedKernel
from kernel_gate.emulated.scheduler import Flow
from kernel_gate.emulated.shared_memory import POISON, SharedMemory
from kernel_gate.emulated.shared_races import SharedRaces
from kernel_gate.emulated.store_targets import ANY
from kernel_gate.emulated.wave import Dim3, Index, Wave

_BLOCK_MOST = (1024, 1024, 64)
_GRID_MOST = (2**31 - 1, 65535, 65535)
_BLOCK_THREADS_MOST = 1024
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
    """Sectors and wavefronts per instruction: exact, and about as costly as the access itself."""
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
    """Formats of device `printf` calls."""
    deadline: float = 0.0
    races: GlobalRaces | None = field(init=False)

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
    def block_threads(self) -> int:
        """Threads of one block."""
        return self.block[0] * self.block[1] * self.block[2]

    def indices(self, thread: int) -> tuple[Dim3, Dim3]:
        """Block and thread indices of a thread of the grid, by its number."""
        cta, inner = divmod(thread, self.block_threads)
        return _indices(cta, self.grid), _indices(inner, self.block)

    def synchronise(self, blocks: npt.NDArray[np.bool_] | None) -> None:
        """A barrier of these blocks of the wave (None: all) has opened."""
        if self.races is not None:
            self.races.synchronise(blocks)

    def watches(self, wave: Wave, at: Located) -> bool:
        """Whether writes to this memory are looked at for races."""
        if at.segment is not None:
            return self.races is not None and self.races.watches(at.segment)
        return at.space == "shared" and wave.shared.races is not None

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
        try:
            with np.errstate(all="ignore"):
                for blocks in self._waves():
                    wave = self._wave(blocks)
                    Flow(self.kernel, wave).run()
                    wave.shared.synchronise(wave, None)
        except LaunchFault as stopped:
            faults.append(stopped.fault)
        faults += self.findings.found.values()
        return LaunchResult(tuple(faults), self._counted())

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
        required = self.kernel.flat.required_threads
        if required is not None and self.block_threads != required:
            return f"invalid launch: {self.block_threads} threads per block; compiled for exactly {required}"
        shared = self.kernel.layout.static_shared_bytes + self.shared_bytes
        most = SHARED_MOST.get(arch, _SHARED_MOST_OTHERWISE)
        if shared > most:
            return f"invalid launch: {shared} bytes of shared memory per block; {arch} has {most}"
        return None

    def _waves(self) -> Iterator[Index]:
        total = self.grid[0] * self.grid[1] * self.grid[2]
        layout = self.kernel.layout
        shared = layout.static_shared_bytes + self.shared_bytes
        per_thread = 8 * len(layout.types) + layout.frame_bytes
        per_block = self.block_threads * per_thread + 6 * shared
        count = min(self.limits.wave_threads // self.block_threads, _WAVE_BYTES // max(per_block, 1))
        count = max(count, 1)
        order = None
        if self.checks.order_seed is not None:
            order = np.random.default_rng(self.checks.order_seed).permutation(total)
        for start in range(0, total, count):
            stop = min(start + count, total)
            yield np.arange(start, stop) if order is None else order[start:stop]

    def _wave(self, blocks: Index) -> Wave:
        layout = self.kernel.layout
        threads = self.block_threads * len(blocks)
        shared = SharedMemory(layout, self.shared_bytes, len(blocks), None)
        wave = Wave(
            self,
            blocks,
            [np.zeros((), kind.raw)[()] for kind in layout.types],
            np.full((threads, layout.frame_bytes), POISON, np.uint8),
            shared,
        )
        if self.races is not None:
            self.races.enter(wave)
        if self.checks.races and shared.nbytes:
            shared.races = SharedRaces(
                len(blocks), int(wave.warp[-1]) + 1, shared.stride, self.kernel.shared_granule
            )
        return wave


def _indices(number: int, extent: Dim3) -> Dim3:
    """x, y and z of a linear number."""
    return number % extent[0], number // extent[0] % extent[1], number // (extent[0] * extent[1])
