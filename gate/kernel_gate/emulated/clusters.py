"""Clusters: blocks that run together, reach each other's shared memory and have a barrier (PTX ISA).

The shared memory of a block is there from when the block has begun until it has left. It is asked whether the cluster's
barrier opened before another block's memory was reached, and whether that block arrived at one after. A block that may
have heard of others in another way is not asked: by an mbarrier that another block has reached, by a volatile or
acquiring load, or by an atomic whose result it compares, of global memory or of another block's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from kernel_gate.emulated.operands import names, results
from kernel_gate.emulated.types import Array

if TYPE_CHECKING:
    from kernel_gate.devices.base import Dim3
    from kernel_gate.emulated.program import DecodedKernel
    from kernel_gate.emulated.ptx.model import Instruction
    from kernel_gate.emulated.wave import Index, Wave

_ORDERS = frozenset({"acquire", "acq_rel", "cas", "exch"})


def order(grid: Dim3, cluster: Dim3) -> Index:
    """All blocks of a grid, those of a cluster by rank next to each other."""
    numbers = np.arange(grid[0] * grid[1] * grid[2]).reshape(grid[::-1])
    (x, y, z), (cx, cy, cz) = grid, cluster
    split = numbers.reshape(z // cz, cz, y // cy, cy, x // cx, cx)
    return split.transpose(0, 2, 4, 1, 3, 5).reshape(-1)


def positions(wave: Wave) -> dict[str, Array]:
    """The special registers of clusters, one value for each thread of the wave or a scalar."""
    launch = wave.launch
    grid, cluster = launch.grid, launch.kernel.flat.cluster
    size = launch.cluster_size
    block = wave.blocks[wave.block_of]
    at = (block % grid[0], block // grid[0] % grid[1], block // (grid[0] * grid[1]))
    registers: dict[str, Array] = {
        "%cluster_ctarank": wave.block_of % size,
        "%cluster_nctarank": np.asarray(size),
        "%is_explicit_cluster": np.asarray(int(size > 1)),
    }
    for axis, name in enumerate("xyz"):
        registers[f"%cluster_ctaid.{name}"] = at[axis] % cluster[axis]
        registers[f"%clusterid.{name}"] = at[axis] // cluster[axis]
        registers[f"%cluster_nctaid.{name}"] = np.asarray(cluster[axis])
        registers[f"%nclusterid.{name}"] = np.asarray(grid[axis] // cluster[axis])
    return {name: values.astype(np.uint32)[()] for name, values in registers.items()}


@dataclass(slots=True)
class ClusterBarriers:
    """`barrier.cluster` of the clusters of a wave: opens when all threads that have not left have arrived."""

    cluster_of: Index
    """The cluster within the wave of each thread. The wave itself is not kept, so that it is freed when it ends."""
    phase: Index = field(init=False)
    """How often each cluster's barrier has opened."""
    arrived_in: Index = field(init=False)
    """The phase in which each thread arrived last; -1: never."""
    _reached: dict[int, tuple[int, Instruction, int]] = field(default_factory=dict)
    """Blocks whose shared memory others reached: the last phase in which, the instruction and the thread."""
    heard: npt.NDArray[np.bool_] = field(init=False)
    """By block of the wave: whether it may have waited for another in another way."""
    _telling: frozenset[Instruction] | None = None
    """Atomics by which a block can hear of others; None: not looked at yet."""

    def __post_init__(self) -> None:
        self.phase = np.zeros(int(self.cluster_of[-1]) + 1, np.int64)
        self.arrived_in = np.full(len(self.cluster_of), -1, np.int64)
        self.heard = np.zeros(len(self.cluster_of), np.bool_)

    def hear(self, wave: Wave, atom: Instruction | None = None) -> None:
        """The active threads have looked at memory that other blocks reach; `atom`: by this instruction."""
        if wave.launch.cluster_size == 1:
            return
        if self._telling is None:
            self._telling = _telling(wave.launch.kernel)
        if atom is None or atom in self._telling:
            self.heard[wave.block_of[wave.index]] = True

    def arrive(self, wave: Wave) -> None:
        """The active threads arrive."""
        threads = wave.index
        self.arrived_in[threads] = self.phase[self.cluster_of[threads]]

    def ready(self, wave: Wave, threads: Index, left: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Which of these threads need not wait any more; `left`: threads of the wave that have left the kernel."""
        everyone = self.cluster_of
        there = left | (self.arrived_in == self.phase[everyone])
        full = np.bincount(everyone, weights=there) == wave.launch.block_threads * wave.launch.cluster_size
        waits = np.zeros(len(self.phase), np.bool_)
        cluster = self.cluster_of[threads]
        waits[cluster[self.arrived_in[threads] == self.phase[cluster]]] = True
        opens = full & waits
        if opens.any():
            self.phase[opens] += 1
            blocks = np.repeat(opens, wave.launch.cluster_size)
            wave.shared.synchronise(wave, blocks)
            wave.launch.synchronise(blocks)
            if wave.launch.races is not None:
                wave.launch.races.acquire_all(blocks)
            wave.stalled[blocks[wave.block_of]] = False
        result: npt.NDArray[np.bool_] = self.arrived_in[threads] < self.phase[cluster]
        return result

    def reach(self, wave: Wave, owners: Index, instruction: Instruction) -> None:
        """The active threads access the shared memory of these blocks."""
        blocks = wave.block_of[wave.index]
        others = np.flatnonzero(owners != blocks)
        if not len(others):
            return
        phase = self.phase[self.cluster_of[wave.index]]
        early = others[(phase[others] == 0) & ~self.heard[blocks[others]]]
        if len(early):
            _report(wave, "nothing has waited for that block to begin", instruction, int(early[0]))
        for owner, position in zip(*np.unique(owners[others], return_index=True), strict=True):
            place = others[position]
            self._reached[int(owner)] = int(phase[place]), instruction, int(wave.index[place])

    def leave(self, wave: Wave) -> None:
        """All threads have left: report blocks that may have left before others reached their shared memory."""
        for owner, (phase, instruction, thread) in self._reached.items():
            if self.arrived_in[wave.block_of == owner].max() < phase and not self.heard[owner]:
                wave.active = np.array([thread])
                _report(wave, "that block does not wait and may have left", instruction, 0)


def _report(wave: Wave, why: str, instruction: Instruction, position: int) -> None:
    if wave.shared.races is not None:
        message = f"race on the shared memory of another block of the cluster: {why}"
        wave.launch.findings.add(wave.fault("race", message, instruction, position))


def _telling(kernel: DecodedKernel) -> frozenset[Instruction]:
    """Atomics that take a word, that acquire, or whose results are compared."""
    body = kernel.flat.body
    compared = {name for i in body if i.parts[0] == "setp" for name in names(i.operands[1:])}
    return frozenset(
        i
        for i in body
        if i.parts[0] == "atom"
        and (not _ORDERS.isdisjoint(i.parts) or not compared.isdisjoint(names(results(i))))
    )
