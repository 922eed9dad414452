"""A kernel of a cubin on a GPU: its arguments, its launches, and what the driver's errors mean."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from kernel_gate.devices.base import Arguments, Buffer, DeviceError, Dim3, Fault, Image, LaunchResult
from kernel_gate.devices.cuda_buffer import CudaBuffer
from kernel_gate.devices.cuda_context import KEPT, CudaContext
from kernel_gate.devices.cuda_variables import declared_variables, find_variables, overwrite
from kernel_gate.devices.occupancy import Multiprocessor, occupancy
from kernel_gate.devices.signature import misfit, parameter_bytes, with_structures
from kernel_gate.devices.variable_names import require_size, variable_named
from kernel_gate.emulated.special_registers import GRID_BARRIER
from kernel_gate.reasons import Reason

_DEFAULT_DYNAMIC_SHARED = 48 << 10
_MEETS_GRID = "all blocks wait for each other, which takes a cooperative launch; none is made on a GPU"


class CudaKernel:
    """A function of a loaded cubin."""

    def __init__(self, device: CudaContext, image: Image, beside: CudaKernel | None = None) -> None:
        if image.cubin is None:
            raise DeviceError(f"{image.entry} was built without a cubin")
        self._device = device
        self._image = image
        driver = device.driver
        try:
            self.module: Any = beside.module if beside else driver.module_from_buffer(image.cubin)
            device.modules.append(self.module)
            self._function = self.module.get_function(image.entry)
        except driver.Error as error:
            raise _refused(image, str(error), driver.get_driver_version()) from error
        self.variables: dict[str, tuple[int, bytes]] = (
            beside.variables if beside else find_variables(driver, self.module, image.ptx)
        )
        self._allowed_shared = 0
        self._declared = parameter_bytes(image.ptx, image.entry)
        self.static_shared_bytes = int(self._function.shared_size_bytes)

    def _marshalled(self, arguments: Arguments, blocks: int) -> list[np.generic]:
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
        extra = [np.uint64(0)] * self._image.extra_pointers
        if self._image.scratch_bytes:
            extra[0] = np.uint64(self._device.scratch(self._image.scratch_bytes * blocks))
        return [*values, *extra]

    def filling(self, variable: str, buffer: Buffer) -> Callable[[], None] | None:
        """What copies a buffer into a variable of the module, without waiting; None where it has none."""
        return self.filling_from(variable, buffer.name, buffer.address, buffer.nbytes)

    def filling_from(self, variable: str, name: str, address: int, nbytes: int) -> Callable[[], None] | None:
        """The same from so many bytes at an address, which `name` calls in messages."""
        symbol = variable_named(variable, declared_variables(self._image.ptx))
        if symbol is None:
            return None
        own, size = self.module.get_global(symbol)
        require_size(variable, int(size), name, nbytes)
        return functools.partial(self._device.driver.memcpy_dtod_async, int(own), address, nbytes)

    def overwrite_variables(self, seed: int) -> tuple[str, ...]:
        """Put random bytes into the module's variables that are not as the module was loaded; their names."""
        return overwrite(self._device.driver, self.variables, seed)

    def _allow_shared(self, dynamic: int) -> None:
        """Raises `DeviceError` where a block asks for more than there is."""
        if dynamic > max(_DEFAULT_DYNAMIC_SHARED - self.static_shared_bytes, self._allowed_shared):
            asked, most = self.static_shared_bytes + dynamic, self._device.most_shared_bytes()
            if asked > most:
                raise DeviceError(
                    f"the launch is refused: a block asks for {asked} bytes of shared memory, and this GPU gives {most}"
                )
            attribute = self._device.driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._function.set_attribute(attribute, dynamic)
            self._allowed_shared = dynamic

    def resources(self, block_threads: int, shared_bytes: int, sm: Multiprocessor) -> dict[str, Any]:
        """What a launch of so many threads a block takes, and how many blocks of it run at once."""
        registers = int(self._function.num_regs)
        dynamic = shared_bytes + self._image.shared_bytes
        occupied = occupancy(sm, block_threads, registers, self.static_shared_bytes + dynamic)
        return {
            "entry": self._image.entry,
            "registers": registers,
            "spill_bytes": self._image.spill_bytes,
            "local_bytes": int(self._function.local_size_bytes),
            "static_shared_bytes": self.static_shared_bytes,
            "dynamic_shared_bytes": dynamic,
            "block_threads": block_threads,
            "blocks_per_multiprocessor": occupied.blocks,
            "occupancy": occupied.share,
            "occupancy_limited_by": occupied.limited_by,
        }

    def enqueue(self, grid: Dim3, block: Dim3, shared_bytes: int, arguments: Arguments) -> None:
        """Launch without waiting. Raises the driver's error when it refuses."""
        self.prepared(grid, block, shared_bytes, arguments)()

    def prepared(
        self, grid: Dim3, block: Dim3, shared_bytes: int, arguments: Arguments
    ) -> Callable[[], None]:
        """The same launch, ready to be made many times with little work on the host."""
        dynamic = shared_bytes + self._image.shared_bytes
        self._allow_shared(dynamic)
        values = self._marshalled(arguments, grid[0] * grid[1] * grid[2])
        if self._declared is not None and len(values) > len(self._declared):
            fitting = with_structures(self._declared, values)
            if fitting is not None:
                values = [word for words in fitting for word in words]
                return self._prepared(grid, block, dynamic, values)
        if self._declared is not None and (wrong := misfit(self._declared, [v.nbytes for v in values])):
            raise DeviceError(wrong, code=Reason.ARGUMENTS_DIFFER)
        return self._prepared(grid, block, dynamic, values)

    def _prepared(
        self, grid: Dim3, block: Dim3, dynamic: int, values: list[np.generic]
    ) -> Callable[[], None]:
        values = [
            word for value in values for word in (value["words"] if isinstance(value, np.void) else [value])
        ]
        self._function.prepare([value.dtype for value in values])
        call = self._function.prepared_async_call
        return functools.partial(call, grid, block, None, *values, shared_size=dynamic)

    def launch(self, grid: Dim3, block: Dim3, shared_bytes: int, arguments: Arguments) -> LaunchResult:
        """Run once and wait until it is done. Faults are returned, not raised."""
        if any(register in self._image.ptx for register in GRID_BARRIER):
            return LaunchResult((Fault("cooperative", _MEETS_GRID),))
        driver = self._device.driver
        try:
            self.enqueue(grid, block, shared_bytes, arguments)
        except DeviceError as error:
            return LaunchResult((Fault("launch", str(error)),))
        except driver.Error as error:
            if (kind := kind_of(str(error))) in ("illegal_address", "misaligned"):
                self._device.lost = True
                return LaunchResult((Fault(kind, f"an earlier launch failed: {error}"),), device_lost=True)
            return LaunchResult((Fault("launch", f"the launch is refused: {error}"),))
        try:
            ended = self._device.wait()
        except driver.Error as error:
            self._device.lost = True
            fault = Fault(kind_of(str(error)), f"the kernel failed: {error}")
            return LaunchResult((fault,), device_lost=True)
        if ended:
            return LaunchResult()
        self._device.lost = True
        KEPT.append(self._device)
        message = f"the launch did not end within {self._device.launch_limit():.3g} s"
        return LaunchResult((Fault("timeout", message),), device_lost=True)


_IMAGE_ERRORS = (
    "unsupported toolchain",
    "kernel image is invalid",
    "no kernel image is available",
    "invalid ptx",
)
"""What CUDA_ERROR_UNSUPPORTED_PTX_VERSION, INVALID_IMAGE, NO_BINARY_FOR_GPU and INVALID_PTX say."""


def _refused(image: Image, message: str, driver_cuda: int) -> DeviceError:
    """An image that the driver does not load; most often the toolkit that made it is newer than the driver."""
    if not any(part in message.lower() for part in _IMAGE_ERRORS):
        return DeviceError(f"the GPU refuses this image ({image.arch}): {message}")
    newest = f"{driver_cuda // 1000}.{driver_cuda % 1000 // 10}"
    return DeviceError(
        f"the driver does not take this image ({image.arch}): {message}; it knows CUDA up to {newest}: update the "
        "driver, or install compilers that are not newer",
        code=Reason.TOOLKIT_NEWER_THAN_DRIVER,
    )


def kind_of(message: str) -> str:
    """Our word for an error of the driver."""
    text = message.lower()
    if "illegal memory access" in text or "illegal address" in text:
        return "illegal_address"
    if "misaligned" in text:
        return "misaligned"
    if "timeout" in text or "timed out" in text:
        return "timeout"
    return "trap"
