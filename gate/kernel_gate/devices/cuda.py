"""The `cuda` device: PyCUDA for memory, modules and launches, NVML for clocks.

The driver is initialised and a context made on opening, never at import; `pycuda.autoinit` and `pycuda.compiler` are
not used. After an illegal address a context is lost: the process that owns it ends with the verdict.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from kernel_gate.devices.base import Buffer, DeviceError, Fault, Image, LaunchResult
from kernel_gate.devices.clocks import Clocks

GUARD_BYTES = 4096
_ALIGNMENT = 256
_DEFAULT_DYNAMIC_SHARED = 48 << 10
_L2_FLUSH_FACTOR = 4
"""Writing this many times the L2 cache leaves nothing else in it."""


class CudaBuffer:
    """A buffer between two guard zones of random canaries."""

    def __init__(self, device: CudaDevice, nbytes: int, name: str) -> None:
        self.name = name
        self._device = device
        self._driver = device.driver
        self._nbytes = nbytes
        tail = -nbytes % _ALIGNMENT + GUARD_BYTES
        generator = np.random.default_rng([*np.frombuffer(name.encode(), np.uint8).tolist(), nbytes])
        self._before = generator.integers(0, 256, GUARD_BYTES, np.uint8)
        self._after = generator.integers(0, 256, tail, np.uint8)
        try:
            self._memory = self._driver.mem_alloc(GUARD_BYTES + nbytes + tail)
        except self._driver.MemoryError as error:
            raise DeviceError(
                f"the GPU has no {nbytes >> 20} MB left for {name}; use smaller dims"
            ) from error
        self.address = int(self._memory) + GUARD_BYTES
        self._driver.memcpy_htod(int(self._memory), self._before)
        self._driver.memcpy_htod(self.address + nbytes, self._after)

    def write(self, array: npt.NDArray[Any]) -> None:
        """Copy an array of the buffer's size into it."""
        data = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
        if data.nbytes != self._nbytes:
            raise DeviceError(f"{self.name} has {self._nbytes} bytes; {data.nbytes} were given")
        if data.nbytes:
            self._driver.memcpy_htod(self.address, data)

    def declare_uninitialised(self) -> None:
        """Nothing: a GPU does not notice reads of what was not written; the poison makes them show."""

    def read(self) -> npt.NDArray[np.uint8]:
        """The bytes of the buffer."""
        data = np.empty(self._nbytes, np.uint8)
        if self._nbytes:
            self._driver.memcpy_dtoh(data, self.address)
        return data

    def damaged(self) -> int | None:
        """Offset of the guard byte nearest to the buffer that changed, None when the guards are whole."""
        after = np.empty_like(self._after)
        self._driver.memcpy_dtoh(after, self.address + self._nbytes)
        changed = np.flatnonzero(after != self._after)
        if changed.size:
            return self._nbytes + int(changed[0])
        before = np.empty_like(self._before)
        self._driver.memcpy_dtoh(before, self.address - GUARD_BYTES)
        changed = np.flatnonzero(before != self._before)
        return int(changed[-1]) - GUARD_BYTES if changed.size else None

    def free(self) -> None:
        """Give the memory back; after the context was lost there is nothing to give."""
        if not self._device.lost:
            self._memory.free()


class CudaKernel:
    """A function of a loaded cubin."""

    def __init__(self, device: CudaDevice, image: Image) -> None:
        if image.cubin is None:
            raise DeviceError(f"{image.entry} was built without a cubin")
        self._device = device
        self._image = image
        driver = device.driver
        try:
            self._module = driver.module_from_buffer(image.cubin)
            self._function = self._module.get_function(image.entry)
        except driver.Error as error:
            raise DeviceError(f"the GPU refuses this image ({image.arch}): {error}") from error
        self.static_shared_bytes = int(self._function.shared_size_bytes)

    def _marshalled(self, arguments: Sequence[Buffer | np.generic]) -> list[np.generic]:
        values: list[np.generic] = []
        for argument in arguments:
            if isinstance(argument, CudaBuffer):
                values.append(np.uint64(argument.address))
            elif isinstance(argument, np.bool_):
                values.append(np.uint8(argument))
            elif isinstance(argument, np.float16):
                values.append(argument.view(np.uint16))
            elif isinstance(argument, np.generic):
                values.append(argument)
            else:
                raise DeviceError(f"{argument!r} is not a buffer of this device")
        return values + [np.uint64(0)] * self._image.extra_pointers

    def _allow_shared(self, dynamic: int) -> None:
        if dynamic > _DEFAULT_DYNAMIC_SHARED - self.static_shared_bytes:
            attribute = self._device.driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._function.set_attribute(attribute, dynamic)

    def enqueue(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared_bytes: int,
        arguments: Sequence[Buffer | np.generic],
    ) -> None:
        """Launch without waiting. Raises the driver's error when it refuses."""
        self.prepared(grid, block, shared_bytes, arguments)()

    def prepared(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared_bytes: int,
        arguments: Sequence[Buffer | np.generic],
    ) -> Callable[[], None]:
        """The same launch, ready to be made many times with little work on the host."""
        dynamic = shared_bytes + self._image.shared_bytes
        self._allow_shared(dynamic)
        values = self._marshalled(arguments)
        self._function.prepare([value.dtype for value in values])
        call = self._function.prepared_async_call
        return functools.partial(call, grid, block, None, *values, shared_size=dynamic)

    def launch(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared_bytes: int,
        arguments: Sequence[Buffer | np.generic],
    ) -> LaunchResult:
        """Run once and wait until it is done. Faults are returned, not raised."""
        driver = self._device.driver
        try:
            self.enqueue(grid, block, shared_bytes, arguments)
        except driver.Error as error:
            return LaunchResult((Fault("launch", f"the launch is refused: {error}"),))
        try:
            driver.Context.synchronize()
        except driver.Error as error:
            self._device.lost = True
            fault = Fault(_kind_of(str(error)), f"the kernel failed: {error}")
            return LaunchResult((fault,), device_lost=True)
        return LaunchResult()


def _kind_of(message: str) -> str:
    """Our word for an error of the driver."""
    text = message.lower()
    if "illegal" in text and "address" in text:
        return "out_of_bounds"
    if "misaligned" in text:
        return "misaligned"
    if "timeout" in text or "timed out" in text:
        return "timeout"
    return "trap"


class CudaDevice:
    """Implements `kernel_gate.devices.base.Device` on the first visible GPU."""

    kind: Literal["cuda", "emulated"] = "cuda"

    def __init__(self, ordinal: int = 0) -> None:
        try:
            import pycuda.driver as driver
        except ImportError as error:
            raise DeviceError(
                f"no GPU can be used: PyCUDA or the NVIDIA driver is missing ({error}); "
                "install the driver and pip install 'kernel-lineage[gpu]'"
            ) from error
        self.driver: Any = driver
        self.lost = False
        """Whether a kernel's failure has made the context unusable."""
        try:
            driver.init()
            self._device = driver.Device(ordinal)
            self._context = self._device.make_context()
        except driver.Error as error:
            raise DeviceError(
                f"no GPU can be used: {error}; nvidia-smi shows what the driver sees"
            ) from error
        major, minor = self._device.compute_capability()
        self.arch = f"sm_{major}{minor}"
        self.clocks = Clocks(self._device.pci_bus_id())
        self._flush_bytes = _L2_FLUSH_FACTOR * int(self._attribute("L2_CACHE_SIZE"))
        self._flush_us = self._flush_bytes / self.peak_bytes_per_second * 1e6
        self._flush: Any = None

    def _attribute(self, name: str) -> int:
        return int(self._device.get_attribute(getattr(self.driver.device_attribute, name)))

    @property
    def peak_bytes_per_second(self) -> int:
        """Of the device's memory: two transfers per clock over the width of its bus."""
        return (
            2 * self._attribute("MEMORY_CLOCK_RATE") * 1000 * self._attribute("GLOBAL_MEMORY_BUS_WIDTH") // 8
        )

    def describe(self) -> dict[str, Any]:
        """Name, compute capability, driver, memory."""
        (2 * self._attribute("MEMORY_CLOCK_RATE") * 1000 * self._attribute("GLOBAL_MEMORY_BUS_WIDTH") // 8)
        return {
            "name": self._device.name(),
            "compute_capability": [*self._device.compute_capability()],
            "driver_cuda": self.driver.get_driver_version(),
            "memory_bytes": self._device.total_memory(),
            "sms": self._attribute("MULTIPROCESSOR_COUNT"),
            "l2_bytes": self._attribute("L2_CACHE_SIZE"),
            "peak_bytes_per_second": self.peak_bytes_per_second,
            **self.clocks.describe(),
        }

    def load(self, image: Image) -> CudaKernel:
        """Load an image. Raises `DeviceError` when the GPU refuses it."""
        return CudaKernel(self, image)

    def allocate(self, nbytes: int, name: str, itemsize: int) -> CudaBuffer:  # noqa: ARG002 - guards are in bytes
        """A guarded buffer, aligned to 256 bytes."""
        return CudaBuffer(self, nbytes, name)

    def flush_l2(self, busy_us: float) -> None:
        """Leave nothing of the kernels' data in the L2 cache, and keep the GPU busy for about `busy_us`.

        While it is busy, the launches to be timed are queued, so that the host's pace does not show in their time.
        """
        if self._flush is None:
            self._flush = self.driver.mem_alloc(self._flush_bytes)
        for _ in range(max(1, math.ceil(busy_us / self._flush_us))):
            self.driver.memset_d32_async(int(self._flush), 0, self._flush_bytes // 4)

    def close(self) -> None:
        """Give everything back. Safe after the context was lost."""
        if self._flush is not None and not self.lost:
            self._flush.free()
        self._flush = None
        self._context.pop()
        self.clocks.close()
