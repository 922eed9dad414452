"""What a device is to the gate. Two exist: `cuda` (PyCUDA + NVML) and `emulated` (PTX on NumPy; never a time).

The trusted process owns every buffer. A candidate contributes an image and a launch description only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from kernel_gate.devices.image import Image

__all__ = ["Buffer", "Device", "DeviceError", "Fault", "Image", "LaunchResult", "LoadedKernel"]


@dataclass(frozen=True, slots=True)
class Fault:
    """Something a launch did wrong."""

    kind: str
    """`out_of_bounds`, `misaligned`, `race`, `uninitialised`, `barrier`, `shuffle`, `trap`, `launch`, `timeout`,
    `unsupported`."""
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
    device_lost: bool = False
    """The failure made the device's context unusable; nothing more can run on it in this process."""


class Buffer(Protocol):
    """A buffer on a device with guard zones around it."""

    name: str

    def write(self, array: npt.NDArray[Any]) -> None:
        """Copy an array of the buffer's size into it."""

    def declare_uninitialised(self) -> None:
        """Say that the kernel may not read what was written; a device that notices such reads reports them."""

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
