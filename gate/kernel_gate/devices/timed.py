"""What the profile stage asks of a device that gives times, beside what every device gives.

The stage knows these interfaces only, so that all of it but the times themselves can run without a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from kernel_gate.devices.base import Arguments, Buffer, Device, Dim3
from kernel_gate.devices.occupancy import Multiprocessor


class Timer(Protocol):
    """Times one launch after another."""

    overhead_us: float
    """What the timer adds to a launch's own time; it is taken off."""
    forgets_kept_lines: bool
    """Whether lines that a kernel asks the cache to keep are made ordinary ones before a cold launch."""

    def cold(self, launch: Callable[[], None], steps: int, limit: float) -> float:
        """Microseconds of a launch (of `steps` kernels) that finds no cache with its data.

        Raises `DeviceError` for one that fails, or does not end within `limit` seconds (`Reason.HANG`).
        """

    def warm(self, launch: Callable[[], None], steps: int, limit: float) -> float:
        """The same of a launch that finds in the cache what was used last."""

    def close(self) -> None:
        """Give everything back."""


class ClockReader(Protocol):
    """What the device says of its clocks."""

    def sm_mhz(self) -> float | None:
        """The clock now; None when nothing tells."""

    def state(self) -> dict[str, float]:
        """Temperature, power, clock and throttle reasons now, as far as something tells."""


@runtime_checkable
class TimedBuffer(Buffer, Protocol):
    """A buffer that can be restored between timed launches."""

    def copy_from(self, other: Any) -> None:
        """Take the bytes of a buffer of the same size, in order with launches; does not wait."""

    def same_as(self, other: Any) -> bool:
        """Whether a buffer of the same size holds the same bytes; waits for what was launched."""


@runtime_checkable
class TimedKernel(Protocol):
    """A kernel that can be launched without waiting for it."""

    def prepared(
        self, grid: Dim3, block: Dim3, shared_bytes: int, arguments: Arguments
    ) -> Callable[[], None]:
        """A launch, ready to be made many times with little work on the host."""

    def resources(self, block_threads: int, shared_bytes: int, sm: Multiprocessor) -> dict[str, Any]:
        """What a launch of so many threads a block takes, and how many blocks of it run at once."""


@runtime_checkable
class TimedDevice(Device, Protocol):
    """A device that gives times."""

    clocks: ClockReader

    def open_timer(self) -> Timer:
        """A timer, for the caller to close."""

    def multiprocessor(self) -> Multiprocessor:
        """What bounds the blocks that run at once."""
