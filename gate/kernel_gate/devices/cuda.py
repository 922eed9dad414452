"""The `cuda` device: PyCUDA for memory, modules and launches, NVML for clocks."""

from __future__ import annotations

from typing import Any, Literal

from kernel_gate.devices.base import Image, LoadedKernel
from kernel_gate.devices.clocks import Clocks
from kernel_gate.devices.cuda_buffer import CudaBuffer
from kernel_gate.devices.cuda_context import CudaContext
from kernel_gate.devices.cuda_kernel import CudaKernel
from kernel_gate.devices.occupancy import Multiprocessor
from kernel_gate.devices.peaks import float32_flops_per_second, most_flops_per_second
from kernel_gate.devices.timed import ClockReader, Timer


class CudaDevice(CudaContext):
    """Implements `kernel_gate.devices.base.Device` on the first visible GPU."""

    kind: Literal["cuda", "emulated"] = "cuda"

    def __init__(self, ordinal: int = 0, *, launch_seconds: float = 10.0) -> None:
        """As `CudaContext`. Raises `DeviceError` when no GPU can be used."""
        super().__init__(ordinal, launch_seconds=launch_seconds)
        major, minor = self.handle.compute_capability()
        self.arch = f"sm_{major}{minor}"
        self._nvml = Clocks(self.handle.pci_bus_id())
        self.clocks: ClockReader = self._nvml

    def _attribute(self, name: str) -> int:
        return int(self.handle.get_attribute(getattr(self.driver.device_attribute, name)))

    @property
    def peak_bytes_per_second(self) -> int:
        """The peak of device memory: two transfers a clock over the width of its bus."""
        return (
            2 * self._attribute("MEMORY_CLOCK_RATE") * 1000 * self._attribute("GLOBAL_MEMORY_BUS_WIDTH") // 8
        )

    def describe(self) -> dict[str, Any]:
        """Name, compute capability, driver, memory."""
        return {
            "name": self.handle.name(),
            "compute_capability": [*self.handle.compute_capability()],
            "driver_cuda": self.driver.get_driver_version(),
            "memory_bytes": self.handle.total_memory(),
            "sms": self._attribute("MULTIPROCESSOR_COUNT"),
            **self._peaks(),
            "l2_bytes": self._attribute("L2_CACHE_SIZE"),
            "peak_bytes_per_second": self.peak_bytes_per_second,
            **self._nvml.describe(),
        }

    def _peaks(self) -> dict[str, Any]:
        capability, sms = self.handle.compute_capability(), self._attribute("MULTIPROCESSOR_COUNT")
        khz = self._attribute("CLOCK_RATE")
        return {
            "max_sm_khz": khz,
            "peak_flops_per_second": float32_flops_per_second(capability, sms, khz),
            "most_flops_per_second": most_flops_per_second(capability, sms, khz),
        }

    def multiprocessor(self) -> Multiprocessor:
        """What bounds the blocks that run at once."""
        return Multiprocessor(
            threads=self._attribute("MAX_THREADS_PER_MULTIPROCESSOR"),
            blocks=self._attribute("MAX_BLOCKS_PER_MULTIPROCESSOR"),
            registers=self._attribute("MAX_REGISTERS_PER_MULTIPROCESSOR"),
            shared_bytes=self._attribute("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"),
            reserved_shared_bytes=self._attribute("RESERVED_SHARED_MEMORY_PER_BLOCK"),
        )

    def open_timer(self) -> Timer:
        """A timer by events, for the caller to close."""
        from kernel_gate.devices.launch_timer import LaunchTimer

        return LaunchTimer(self)

    def load(self, image: Image, beside: LoadedKernel | None = None) -> CudaKernel:
        """Load an image. Raises `DeviceError` when the GPU refuses it."""
        return CudaKernel(self, image, beside if isinstance(beside, CudaKernel) else None)

    def allocate(self, nbytes: int, name: str, itemsize: int, offset: int = 0) -> CudaBuffer:  # noqa: ARG002
        """A guarded buffer that starts `offset` bytes past a multiple of 256; its guards are counted in bytes."""
        return CudaBuffer(self, nbytes, name, offset)

    def reorder(self, seed: int | None) -> None:
        """Nothing: a GPU chooses the order of blocks itself."""

    def close(self) -> None:
        """Give everything back. Safe after the context was lost."""
        self.leave()
        self._nvml.close()
