"""Shared memory that asynchronous operations read or write until something waits for them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from kernel_gate.devices.base import Place
from kernel_gate.emulated.ptx.model import Instruction
from kernel_gate.emulated.wave import Index, Wave

_UNIT = 16
"""Bytes that are held together."""


@dataclass(slots=True)
class HeldBytes:
    """The shared memory of a wave's blocks, in units of 16 bytes."""

    nbytes: int
    stride: int
    """Bytes from block to block."""
    holder: npt.NDArray[np.int32] = field(init=False)
    """Number of the operation that may be there; 0: none."""

    def __post_init__(self) -> None:
        self.holder = np.zeros(self.nbytes // _UNIT, np.int32)

    def hold(self, places: Sequence[Index], number: int) -> None:
        """An operation may be at these bytes (16 from each) until it is released."""
        for offsets in places:
            self.holder[offsets // _UNIT] = number

    def release(self, offsets: Index, number: int) -> None:
        """The operation with this number is over at these bytes; a later one that holds them stays."""
        units = offsets // _UNIT
        self.holder[units[self.holder[units] == number]] = 0

    def check_write(
        self, wave: Wave, offsets: Index, instruction: Instruction, operations: Sequence[Instruction]
    ) -> None:
        """Report a write by the active threads to bytes that are held; operation N is `operations[N - 1]`."""
        holders = self.holder[offsets // _UNIT]
        if not holders.any():
            return
        position = int(np.argmax(holders))
        operation = operations[int(holders[position]) - 1]
        message = (
            f"race in shared memory, byte {int(offsets[position]) % self.stride}: written while the asynchronous "
            f"`{operation.opcode}`" + (f" of line {operation.line}" if operation.line else "")
            + " may still be at work there: nothing has waited for it"
        )  # fmt: skip
        issued = Place("the asynchronous copy that nothing has waited for", operation.line)
        wave.launch.findings.add(wave.fault("race", message, instruction, position, related=(issued,)))
