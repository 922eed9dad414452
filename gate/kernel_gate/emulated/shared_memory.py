"""Shared memory of the blocks of a wave, with what was written and who raced."""

import re
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from kernel_gate.emulated.addresses import RANK_SHIFT, SHARED_BITS
from kernel_gate.emulated.layout import POISON, Layout, SharedVariable
from kernel_gate.emulated.ptx.model import Instruction
from kernel_gate.emulated.shared_races import SharedRaces
from kernel_gate.emulated.types import Array
from kernel_gate.emulated.wave import Index, Wave
from kernel_gate.shared_arrays import Arrays, indices

_STRIDE = 1024
"""Blocks lie a multiple of this apart: the longest pattern of a swizzle."""


_LOCAL = re.compile(r"_ZZ.*?E(\d+)([\w$]+)")


def _source_name(symbol: str) -> str:
    """`tile` of `_ZZ6kernelPfE4tile`."""
    match = _LOCAL.fullmatch(symbol)
    if match is None:
        return symbol.partition("_$_")[0]
    name = match[2][: int(match[1])]
    return name if len(name) == int(match[1]) else symbol


@dataclass(slots=True)
class SharedMemory:
    """One row of `stride` bytes per block."""

    layout: Layout
    dynamic_bytes: int
    blocks: int
    block_threads: int
    races: SharedRaces | None
    arrays: Arrays
    """How the source declares arrays of several dimensions."""
    nbytes: int = field(init=False)
    """Per block, static and dynamic."""
    stride: int = field(init=False)
    data: npt.NDArray[np.uint8] = field(init=False)
    written: npt.NDArray[np.uint8] = field(init=False)
    """0xFF where something was written since the block started."""
    _by_number: dict[int, SharedVariable] = field(init=False)
    _row: Index = field(init=False)
    """First byte of the block of each thread of the wave."""

    def __post_init__(self) -> None:
        self.nbytes = self.layout.static_shared_bytes + self.dynamic_bytes
        self.stride = -(-self.nbytes // _STRIDE) * _STRIDE
        self.data = np.full(self.stride * self.blocks, POISON, np.uint8)
        self.written = np.zeros_like(self.data)
        self._row = np.repeat(np.arange(self.blocks) * self.stride, self.block_threads)
        self._by_number = {v.address >> SHARED_BITS: v for v in self.layout.shared.values()}

    def synchronise(self, wave: Wave, blocks: npt.NDArray[np.bool_] | None) -> None:
        """A barrier of the given blocks (None: all) has opened."""
        if self.races is not None:
            self.races.synchronise(wave, blocks)

    def named(self, byte: int, nbytes: int) -> tuple[str, int]:
        """The source's name of the array at a byte of a block's shared memory, and the number of its element there.

        `nbytes`: of an element, as the access has it.
        """
        variable = self._variable_at(byte)
        if variable is None:
            return "shared memory", byte // nbytes
        return _source_name(variable.name), (byte - variable.physical) // nbytes

    def shown(self, byte: int, nbytes: int) -> str:
        """The element of `named` as the source writes it: `tile[1][0]`."""
        name, element = self.named(byte, nbytes)
        variable = self._variable_at(byte)
        return name + self._indices(variable, element, nbytes) if variable else f"{name}[{element}]"

    def _variable_at(self, byte: int) -> SharedVariable | None:
        variables = self.layout.shared.values()
        return next((v for v in variables if 0 <= byte - v.physical < self._extent(v)), None)

    def _indices(self, variable: SharedVariable, element: int, nbytes: int) -> str:
        extents = self.arrays.get(_source_name(variable.name), frozenset())
        return "".join(f"[{index}]" for index in indices(extents, variable.nbytes, element, nbytes))

    def check_written(
        self, wave: Wave, threads: Index, offsets: Index, nbytes: int, instruction: Instruction
    ) -> None:
        """Report reads by these threads of `nbytes` at these offsets, multiples of it, where nothing was written."""
        missing = (self.written.reshape(-1, nbytes)[offsets // nbytes] != 0xFF).any(axis=1)
        if missing.any():
            position = int(np.argmax(missing))
            outer, wave.active = wave.active, threads
            kind, message = self.unwritten(wave, int(offsets[position]), nbytes)
            wave.launch.findings.add(wave.fault(kind, message, instruction, position))
            wave.active = outer

    def unwritten(self, wave: Wave, offset: int, nbytes: int) -> tuple[str, str]:
        """Kind and words for a read of bytes that are not all written: a copy may be on its way."""
        place = f"shared memory at byte {offset % self.stride}"
        if (shown := self.shown(offset % self.stride, nbytes)).count("[") > 1:
            place += f" ({shown})"
        copy = wave.copies.covering(offset, nbytes) or wave.mbarriers.covering(offset, nbytes)
        if copy is None:
            return "uninitialised", f"uninitialised read of {place}, which nothing has written"
        line = f" of line {copy.line}" if copy.line else ""
        return "race", (
            f"race in {place}: read while the asynchronous `{copy.opcode}`{line} may still be writing it: "
            "nothing has waited for it"
        )

    def _extent(self, variable: SharedVariable) -> int:
        return self.dynamic_bytes if variable.external else variable.nbytes

    def locate(self, wave: Wave, address: Array, nbytes: int, instruction: Instruction) -> Index:
        """Byte offsets into `data` of each active thread's access. Raises `LaunchFault` for a bad one."""
        addresses = wave.spread(address).astype(np.int64)
        low, high = int(addresses.min()), int(addresses.max())
        row = self._row if wave.active is None else self._row[wave.active]
        if high >> RANK_SHIFT:
            own = wave.block_of[wave.index]
            row = self._blocks(wave, addresses >> RANK_SHIFT, own, instruction) * self.stride
            addresses = addresses & (1 << RANK_SHIFT) - 1
            low, high = int(addresses.min()), int(addresses.max())
        number = low >> SHARED_BITS
        variable = self._by_number.get(number)
        fits = (
            variable is not None
            and number == high >> SHARED_BITS
            and low >= variable.address
            and high + nbytes <= variable.address + self._extent(variable)
        )
        if fits:
            assert variable is not None
            physical = addresses + (variable.physical - variable.address)
        else:
            physical = self._locate_each(wave, addresses, nbytes, instruction)
        if np.bitwise_or.reduce(physical) & (nbytes - 1):
            position = int(np.argmax(physical & (nbytes - 1) != 0))
            message = f"misaligned: {nbytes}-byte access to shared memory at byte {int(physical[position])}"
            raise wave.stop("misaligned", message, instruction, position)
        if self.blocks > 1:
            physical += row
        return physical

    def is_remote(self, address: Array) -> bool:
        """Whether some of these addresses name the shared memory of a block by its rank in the cluster."""
        return bool(int(address.max()) >> RANK_SHIFT)

    def _blocks(self, wave: Wave, named: Index, own: Index, instruction: Instruction) -> Index:
        """The block of the wave that each address is in; `named`: its rank plus one, or 0."""
        size = wave.launch.cluster_size
        if (named > size).any():
            position = int(np.argmax(named > size))
            message = (
                f"out of bounds: shared memory of block {int(named[position]) - 1} of a cluster of {size}"
            )
            raise wave.stop("out_of_bounds", message, instruction, position)
        owners: Index = np.where(named > 0, own // size * size + named - 1, own)
        wave.cluster_barriers.reach(wave, owners, instruction)
        return owners

    def _locate_each(self, wave: Wave, addresses: Index, nbytes: int, instruction: Instruction) -> Index:
        physical = np.full_like(addresses, -1)
        for number in np.unique(addresses >> SHARED_BITS):
            variable = self._by_number.get(int(number))
            if variable is None:
                continue
            offset = addresses - variable.address
            inside = (addresses >> SHARED_BITS == number) & (offset >= 0)
            inside &= offset + nbytes <= self._extent(variable)
            physical[inside] = offset[inside] + variable.physical
        outside = physical < 0
        if outside.any():
            position = int(np.argmax(outside))
            address = int(addresses[position])
            variable = self._by_number.get(address >> SHARED_BITS)
            if variable is None:
                raise wave.stop("out_of_bounds", "no shared variable at this address", instruction, position)
            byte, name = address - variable.address, _source_name(variable.name)
            shown = self._indices(variable, byte // nbytes, nbytes)
            element = f" (`{name}{shown}`)" if shown.count("[") > 1 else ""
            message = (
                f"out of bounds: {nbytes} bytes at byte {byte} of shared `{name}`{element}, "
                f"which has {self._extent(variable)}"
            )
            raise wave.stop(
                "out_of_bounds",
                message,
                instruction,
                position,
                buffer=name,
                element=byte // nbytes,
            )
        return physical
