"""What a device is to the gate. Two exist: `cuda` (PyCUDA + NVML) and `emulated` (PTX on NumPy; never a time).

The trusted process owns every buffer. A candidate contributes an image and a launch description only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from kernel_gate.devices.error import DeviceError
from kernel_gate.devices.image import Image
from kernel_gate.devices.launch_counts import LaunchCounts

__all__ = [
    "Arguments",
    "Buffer",
    "Device",
    "DeviceError",
    "Dim3",
    "Fault",
    "Image",
    "LaunchResult",
    "LoadedKernel",
    "Place",
]


Dim3 = tuple[int, int, int]
"""Extents or indices along x, y and z."""


@dataclass(frozen=True, slots=True)
class Place:
    """An access that is part of a fault or of a wrong element: who made it, and where in the source."""

    what: str
    """What it did there: `the other access of the race`."""
    line: int | None = None
    """Line of the program's source."""
    block: Dim3 | None = None
    thread: Dim3 | None = None
    inner: str = ""
    """`FILE:LINE` of a header whose code the line calls; "" for code of the source itself."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something a launch did wrong."""

    kind: str
    """`out_of_bounds`, `misaligned`, `race`, `uninitialised`, `barrier`, `shuffle`, `trap`, `launch`, `timeout`,
    `unsupported`, `input_changed`, `overflow`, `invariant`."""
    message: str
    line: int | None = None
    """Line of the program's source."""
    block: Dim3 | None = None
    thread: Dim3 | None = None
    buffer: str | None = None
    element: int | None = None
    """Flat index into the buffer, in elements; may lie outside it."""
    related: tuple[Place, ...] = ()
    """The other accesses that make it one: of a race, its other side."""
    inner: str = ""
    """`FILE:LINE` of a header whose code the line calls; "" for code of the source itself."""

    def where(self) -> dict[str, Any]:
        """Line, block, thread, buffer, element and the other accesses, as evidence holds them."""
        names = ("line", "block", "thread", "buffer", "element", "inner")
        place = {name: getattr(self, name) for name in names}
        return {**place, "related": [asdict(other) for other in self.related]}


BirthKind = Literal["NaN", "infinity", "underflow", "saturation"]


@dataclass(frozen=True, slots=True)
class Birth:
    """The first value of a kind that an instruction made out of better operands."""

    what: BirthKind
    """No number, one too large for its type, one too small, or an integer that stopped at its type's limit."""
    line: int | None
    """Line of the program's source."""
    block: Dim3
    thread: Dim3
    expression: str
    """`0 / 0`."""
    operands: tuple[float, ...]

    def __str__(self) -> str:
        at = "" if self.line is None else f" at line {self.line}"
        came = "was born" if self.what in ("NaN", "infinity") else "came about"
        return f"{self.what} {came}{at}: {self.expression} by thread {self.thread} of block {self.block}"


@dataclass(frozen=True, slots=True)
class Asserted:
    """What a launch says of one invariant."""

    number: int
    """The assertion's number in its program."""
    compared: int = 0
    """Times that tags were compared: for each thread, and for each part of a value that has tags of its own."""
    untagged: int = 0
    """Times that an operand had no tag, so that there was nothing to compare."""
    violated: int = 0
    violation: Fault | None = None
    """The first; its `related` are the loads that the data of both sides came from."""

    @property
    def reached(self) -> bool:
        """Whether any thread came to it."""
        return bool(self.compared or self.untagged)

    def __add__(self, other: Asserted) -> Asserted:
        """The counts of two launches together."""
        return Asserted(
            self.number,
            self.compared + other.compared,
            self.untagged + other.untagged,
            self.violated + other.violated,
            self.violation or other.violation,
        )


@dataclass(frozen=True, slots=True)
class LaunchResult:
    """What one launch left behind besides its effect on the buffers."""

    faults: tuple[Fault, ...] = ()
    counts: dict[str, Any] = field(default_factory=dict)
    """Emulated device: facts of the executed addresses (sectors per request, shared wavefronts, instructions)."""
    counted: LaunchCounts | None = None
    """The same by source line, with instructions and branches; None when the device was not asked to count."""
    births: tuple[Birth, ...] = ()
    """First NaNs and infinities, where the device was asked to watch; they are no faults."""
    asserted: tuple[Asserted, ...] = ()
    """What the launch says of each invariant that it was asked to watch."""
    tags_lost: tuple[Place, ...] = ()
    """Instructions through which tags were not followed."""
    device_lost: bool = False
    """The failure made the device's context unusable; nothing more can run on it in this process."""
    stopped: bool = False
    """Emulated device: a fault ended the launch; others are seen on its way to the end."""


class Buffer(Protocol):
    """A buffer on a device with guard zones around it."""

    name: str

    @property
    def nbytes(self) -> int:
        """Without its guards."""

    @property
    def address(self) -> int:
        """The address of the first byte, as kernels see it."""

    def write(self, array: npt.NDArray[Any]) -> None:
        """Copy an array of the buffer's size into it."""

    def declare_uninitialised(self) -> None:
        """Say that the kernel may not read what was written; a device that notices such reads reports them."""

    def declare_input(self) -> None:
        """Say that the kernel may not change what was written; a device that notices such stores names their place."""

    def memset(self, value: int, offset: int, nbytes: int) -> None:
        """Set bytes to one value, in order with launches; does not wait."""

    def read(self) -> npt.NDArray[np.uint8]:
        """The bytes of the buffer."""

    def damaged(self) -> int | None:
        """Offset in bytes, relative to the buffer's start, of the first guard byte that changed; None when intact."""

    def free(self) -> None:
        """Give the memory back."""


Arguments = Sequence[Buffer | np.generic]
"""What a launch takes: buffers and scalars, in the kernel's order."""


class LoadedKernel(Protocol):
    """An image on a device."""

    def launch(self, grid: Dim3, block: Dim3, shared_bytes: int, arguments: Arguments) -> LaunchResult:
        """Run once and wait until it is done. Faults are returned, not raised."""

    def overwrite_variables(self, seed: int) -> tuple[str, ...]:
        """Put random bytes into the module's variables that are not as the module was loaded; their names."""

    def filling(self, variable: str, buffer: Buffer) -> Callable[[], None] | None:
        """What copies a buffer into a variable of the module, in order with launches; None where it has none.

        Raises `DeviceError` where the sizes differ, or where several variables have the name.
        """


class Device(Protocol):
    """Where programs run."""

    kind: Literal["cuda", "emulated"]
    arch: str
    """What to compile for: `sm_90`."""
    launch_seconds: float
    """What a launch may take before it counts as hanging."""
    lost: bool
    """Whether a kernel's failure has made the device unusable for this process."""

    def describe(self) -> dict[str, Any]:
        """Name, compute capability, driver, memory: what goes into the evidence."""

    def load(self, image: Image, beside: LoadedKernel | None = None) -> LoadedKernel:
        """Load an image. Raises `DeviceError` when the device refuses it.

        `beside` is a kernel of the same compilation, whose global variables this one shares.
        """

    def allocate(self, nbytes: int, name: str, itemsize: int, offset: int = 0) -> Buffer:
        """A guarded buffer that starts `offset` bytes past a multiple of 256."""

    def reorder(self, seed: int | None) -> None:
        """Run the blocks of later launches in a random order, where the device lets one choose; None: in their own."""

    def close(self) -> None:
        """Give everything back."""
