"""The state of the threads that run together: some whole blocks of the grid."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kernel_gate.devices.base import Dim3, Fault
from kernel_gate.emulated.async_copies import AsyncCopies
from kernel_gate.emulated.bulk_groups import BulkGroups
from kernel_gate.emulated.clusters import ClusterBarriers, positions
from kernel_gate.emulated.faults import LaunchFault
from kernel_gate.emulated.mbarriers import Mbarriers
from kernel_gate.emulated.types import Array
from kernel_gate.emulated.warpgroup import Products

if TYPE_CHECKING:
    from kernel_gate.emulated.launch import Launch
    from kernel_gate.emulated.ptx.model import Instruction
    from kernel_gate.emulated.shared_memory import SharedMemory

Index = npt.NDArray[np.int64]


@dataclass(slots=True)
class Wave:
    """Thread t of a wave belongs to its block `t // block_threads`; warps are 32 consecutive threads of a block.

    A register holds one value per thread, or a NumPy scalar when it is the same for all threads.
    """

    launch: Launch
    blocks: Index
    """Linear number in the grid of each block."""
    registers: list[Array]
    local: npt.NDArray[np.uint8]
    """Local memory: one row per thread."""
    local_written: npt.NDArray[np.uint8] | None = field(default=None, kw_only=True)
    """0xFF where something was written to it; None: not looked at."""
    shared: SharedMemory
    stack: Index | None = None
    """First free byte of each thread's local memory, once a thread has allocated some while it ran."""
    active: Index | None = None
    """Threads that execute the current instruction, ascending; None: all."""
    _lent: Index | None = field(default=None, init=False)
    """Threads whose turn it is; None: all."""
    _held: dict[int, Array] = field(default_factory=dict, init=False)
    """Their registers, those that they have used, by number."""
    _changed: set[int] = field(default_factory=set, init=False)
    """Registers of which others hold what was there before."""
    threads: int = field(init=False)
    every: Index = field(init=False)
    """0 … threads - 1."""
    block_of: Index = field(init=False)
    """Block within the wave of each thread."""
    thread_in_block: Index = field(init=False)
    lane: Index = field(init=False)
    warp: Index = field(init=False)
    """Warp within the wave of each thread."""
    special: dict[str, Array] = field(init=False)
    """Special registers that the kernel has asked for."""
    copies: AsyncCopies = field(init=False)
    products: Products = field(init=False)
    mbarriers: Mbarriers = field(default_factory=Mbarriers)
    outgoing: BulkGroups = field(init=False)
    cluster_barriers: ClusterBarriers = field(init=False)
    stalled: npt.NDArray[np.bool_] = field(init=False)
    """Threads that found what they wait for not ready: all others go first."""
    carry: npt.NDArray[np.bool_] = field(init=False)
    """The condition-code register of each thread."""

    def __post_init__(self) -> None:
        size = self.launch.block_threads
        self.threads = size * len(self.blocks)
        self.every = np.arange(self.threads)
        self.block_of, self.thread_in_block = np.divmod(self.every, size)
        self.lane = self.thread_in_block % 32
        self.warp = self.block_of * -(-size // 32) + self.thread_in_block // 32
        self.copies = AsyncCopies(self.threads)
        self.products = Products(self.threads)
        self.outgoing = BulkGroups(self.threads)
        self.cluster_barriers = ClusterBarriers(self.block_of // self.launch.cluster_size)
        self.stalled = np.zeros(self.threads, np.bool_)
        self.carry = np.zeros(self.threads, np.bool_)
        self.special = {}

    def position(self, name: str) -> Array:
        """A special register that says where each thread is; made when a kernel first asks."""
        value = self.special.get(name)
        if value is None:
            value = self.special[name] = self._position(name)
        return value

    def _position(self, name: str) -> Array:
        if name in ("%laneid", "%warpid"):
            in_warps = self.lane if name == "%laneid" else self.thread_in_block // 32
            return in_warps.astype(np.uint32)
        of_thread, axis = name.startswith("%tid"), "xyz".index(name[-1])
        extent = self.launch.block if of_thread else self.launch.grid
        if extent[axis] == 1 or (not of_thread and len(self.blocks) == 1):
            # The same for all threads: kept as a scalar, it costs nothing.
            first = 0 if of_thread else int(self.blocks[0])
            return np.uint32(first // math.prod(extent[:axis]) % extent[axis])  # type: ignore[return-value]
        number = self.thread_in_block if of_thread else self.blocks[self.block_of]
        return (number // math.prod(extent[:axis]) % extent[axis]).astype(np.uint32)

    @property
    def cluster_positions(self) -> dict[str, Array]:
        """Special registers of clusters; made when a kernel first asks."""
        if "%cluster_ctarank" not in self.special:
            self.special.update(positions(self))
        return self.special

    @property
    def index(self) -> Index:
        """The active threads."""
        return self.every if self.active is None else self.active

    @property
    def active_count(self) -> int:
        """How many threads execute the current instruction."""
        return self.threads if self.active is None else len(self.active)

    def spread(self, value: Array) -> Array:
        """One value per active thread, of a value that may be a scalar."""
        return np.broadcast_to(value, (self.active_count,)) if np.ndim(value) == 0 else value

    def select(self, active: Index | None) -> None:
        """Let these threads execute, until it is others' turn: their registers lie side by side so long."""
        lent = self._lent
        if active is lent or (active is not None and lent is not None and np.array_equal(active, lent)):
            self.active = lent
            return
        self.put_back()
        self._held.clear()
        self.active = self._lent = active

    def put_back(self) -> None:
        """Write what the threads whose turn it is have changed to where all threads' registers are."""
        for register in self._changed:
            self._scatter(register, self._lent, self._held[register])
        self._changed.clear()

    def read(self, register: int) -> Array:
        """One value per active thread, or a scalar. Never to be written to."""
        active = self.active
        if active is None:
            return self.registers[register]
        if active is self._lent:
            held = self._held.get(register)
            if held is None:
                held = self.registers[register]
                if held.ndim:
                    held = self._held[register] = held[active]
            return held
        self._settle(register)
        value = self.registers[register]
        return value[active] if value.ndim else value

    def write(self, register: int, value: Array) -> None:
        """Write a register for the active threads. `value` must not be an array that is written to later."""
        active = self.active
        if active is None:
            self.registers[register] = value
        elif active is self._lent:
            self._held[register] = value
            self._changed.add(register)
        else:
            self._settle(register)
            self._held.pop(register, None)
            self._scatter(register, active, value)

    def _settle(self, register: int) -> None:
        if register in self._changed:
            self._changed.remove(register)
            self._scatter(register, self._lent, self._held[register])

    def _scatter(self, register: int, threads: Index | None, value: Array) -> None:
        current = self.registers[register]
        if current.ndim == 0:
            current = np.full(self.threads, current)
        if current.dtype != value.dtype:
            current = current.view(value.dtype)
        current[threads] = value
        self.registers[register] = current

    def place(self, thread: int) -> tuple[Dim3, Dim3]:
        """Block and thread indices of a thread of the wave."""
        cta, inner = int(self.blocks[self.block_of[thread]]), int(self.thread_in_block[thread])
        return self.launch.indices(cta * self.launch.block_threads + inner)

    def fault(
        self, kind: str, message: str, instruction: Instruction, position: int = 0, **where: Any
    ) -> Fault:
        """A fault of the active thread at `position` among the active ones."""
        block, thread = self.place(int(self.index[position]))
        line = instruction.line
        text = f"{message} (block {block}, thread {thread}{'' if line is None else f', line {line}'})"
        return Fault(kind, text, line, block, thread, inner=instruction.inner, **where)

    def stop(
        self, kind: str, message: str, instruction: Instruction, position: int = 0, **where: Any
    ) -> LaunchFault:
        """The exception that ends the launch with this fault."""
        return LaunchFault(self.fault(kind, message, instruction, position, **where))


@dataclass(slots=True)
class Snapshot:
    """What the registers of the active threads held."""

    values: list[bytes]
    _differed: int = 0
    """The register that had changed when it was last asked; most loops count in one."""

    @classmethod
    def of(cls, wave: Wave) -> Snapshot:
        return cls([wave.read(register).tobytes() for register in range(len(wave.registers))])

    def still(self, wave: Wave) -> bool:
        """Whether the active threads' registers hold the same."""
        for register in (self._differed, *range(len(self.values))):
            if wave.read(register).tobytes() != self.values[register]:
                self._differed = register
                return False
        return True
