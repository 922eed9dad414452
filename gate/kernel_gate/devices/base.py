"""What a device is to the gate. Two exist: `cuda` (PyCUDA + NVML) and `emulated` (PTX on NumPy; never a time).

The trusted process owns every buffer. A candidate contributes an image and a launch description only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Image:
    """Device code of one program, as a child process compiled it."""

    entry: str
    """Mangled name."""
    ptx: str
    cubin: bytes | None = None
    """None when only PTX was asked for (the emulated device)."""
    arch: str = "sm_80"
    block_threads: int | None = None
    """Triton: 32 × num_warps, fixed by the compilation."""
    shared_bytes: int = 0
    """Dynamic shared memory that the image needs in addition to the launch's own (Triton's `metadata.shared`)."""
    parameters: tuple[str, ...] | None = None
    """Triton: the names of the arguments that the image still takes; constants were folded away."""
    extra_pointers: int = 0
    """Triton: trailing scratch pointers (global and profile scratch) that are passed as null."""
    registers: int | None = None
    spill_bytes: int | None = None
    static_shared_bytes: int | None = None
    log: str = ""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something a launch did wrong."""

    kind: str
    """`out_of_bounds`, `misaligned`, `race`, `uninitialised`, `barrier`, `trap`, `launch`, `timeout`, `unsupported`."""
    message: str
    line: int | None = None
    """Line of the program's source."""
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    buffer: str | None = None
    element: int | None = None
    """Flat index into the buffer, in elements; may lie outside it."""


@dataclass(frozen=True, slots=True)
class LaunchResult:
    """What one launch left behind besides its effect on the buffers."""

    faults: tuple[Fault, ...] = ()
    counts: dict[str, Any] = field(default_factory=dict)
    """Emulated device: facts of the executed addresses (sectors per request, shared wavefronts, instructions)."""


class Buffer(Protocol):
    """A buffer on a device with guard zones around it."""

    name: str

    def write(self, array: npt.NDArray[Any]) -> None:
        """Copy an array of the buffer's size into it."""

    def read(self) -> npt.NDArray[np.uint8]:
        """The bytes of the buffer."""

    def damaged(self) -> int | None:
        """Offset in bytes, relative to the buffer's start, of the first guard byte that changed; None when intact."""

    def free(self) -> None:
        """Give the memory back."""


class LoadedKernel(Protocol):
    """An image on a device."""

    def launch(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared_bytes: int,
        arguments: Sequence[Buffer | np.generic],
    ) -> LaunchResult:
        """Run once and wait until it is done. Faults are returned, not raised."""


class Device(Protocol):
    """Where programs run."""

    kind: Literal["cuda", "emulated"]
    arch: str
    """What to compile for: `sm_90`."""

    def describe(self) -> dict[str, Any]:
        """Name, compute capability, driver, memory: what goes into the evidence."""

    def load(self, image: Image) -> LoadedKernel:
        """Load an image. Raises `DeviceError` when the device refuses it."""

    def allocate(self, nbytes: int, name: str, itemsize: int) -> Buffer:
        """A guarded buffer, aligned to 256 bytes unless asked otherwise."""

    def close(self) -> None:
        """Give everything back."""


class DeviceError(Exception):
    """A device that is missing or refuses; the message says what to do."""
