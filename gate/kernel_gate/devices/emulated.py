"""The `emulated` device: no GPU needed. Correctness, bounds, races and counts of transactions; never a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from kernel_gate.devices.base import Buffer, DeviceError, Fault, LaunchResult
from kernel_gate.devices.image import Image
from kernel_gate.emulated.addresses import AddressSpace, Segment
from kernel_gate.emulated.launch import Checks, Launch, Limits
from kernel_gate.emulated.layout import Layout
from kernel_gate.emulated.program import DecodedKernel, decode
from kernel_gate.emulated.ptx.model import PtxError
from kernel_gate.emulated.ptx.parser import parse
from kernel_gate.emulated.variables import place_variables


class EmulatedBuffer:
    """A buffer. Accesses outside it are faults that never take effect, so its surroundings cannot be damaged."""

    def __init__(self, space: AddressSpace, segment: Segment) -> None:
        self.name = segment.name
        self.segment = segment
        self._space = space

    def write(self, array: npt.NDArray[Any]) -> None:
        """Copy an array of the buffer's size into it; all of it counts as initialised."""
        data = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
        if len(data) != self.segment.nbytes:
            raise DeviceError(f"{self.name} has {self.segment.nbytes} bytes; {len(data)} were given")
        self.segment.fill(data)

    def declare_uninitialised(self) -> None:
        """Report reads of what the kernel has not written, although the host wrote a pattern."""
        self.segment.written = np.zeros_like(self.segment.data)

    def read(self) -> npt.NDArray[np.uint8]:
        """The bytes of the buffer, copied."""
        return self.segment.data[: self.segment.nbytes].copy()

    def damaged(self) -> int | None:
        """Always None: an access outside the buffer is refused and is among the launch's faults."""
        return None

    def free(self) -> None:
        """Give the memory back; later accesses through its address are faults."""
        self._space.free(self.segment)


class EmulatedKernel:
    """A decoded image and its module's global variables, which live as long as it does."""

    def __init__(self, space: AddressSpace, image: Image, arch: str, checks: Checks, limits: Limits) -> None:
        try:
            module = parse(image.ptx, image.entry)
            variables = place_variables(module, space)
            self.kernel: DecodedKernel = decode(module, image.entry, variables)
        except PtxError as error:
            raise DeviceError(f"the emulated device cannot read this image: {error}") from error
        self._space, self._image, self._arch = space, image, arch
        self._checks, self._limits = checks, limits
        self.variables = variables

    @property
    def unsupported(self) -> dict[str, int]:
        """Opcodes that stop a launch when a thread reaches them, with how often they stand in the kernel."""
        return dict(self.kernel.unsupported)

    def launch(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared_bytes: int,
        arguments: Sequence[Buffer | np.generic],
    ) -> LaunchResult:
        """Run once and wait until it is done. Faults are returned, not raised."""
        try:
            parameters = _marshal(self.kernel.layout, arguments, self._image.extra_pointers)
        except DeviceError as error:
            return LaunchResult((Fault("launch", str(error)),))
        launch = Launch(
            self.kernel,
            self._space,
            grid,
            block,
            shared_bytes + self._image.shared_bytes,
            parameters,
            self._checks,
            self._limits,
        )
        return launch.run(self._arch)


class EmulatedDevice:
    """Implements `kernel_gate.devices.base.Device`."""

    kind: Literal["cuda", "emulated"] = "emulated"

    def __init__(
        self, arch: str = "sm_80", checks: Checks | None = None, limits: Limits | None = None
    ) -> None:
        self.arch = arch
        self.checks = checks or Checks()
        self.limits = limits or Limits()
        self._space = AddressSpace()

    def describe(self) -> dict[str, Any]:
        """What goes into the evidence. Results of this device are about values, never about time."""
        return {
            "name": "emulated",
            "compute_capability": [int(self.arch[3:-1]), int(self.arch[-1])],
            "numpy": np.__version__,
            "races": self.checks.races,
            "order_seed": self.checks.order_seed,
        }

    def load(self, image: Image) -> EmulatedKernel:
        """Decode an image. Raises `DeviceError` when its PTX cannot be read; opcodes fault when they are reached."""
        return EmulatedKernel(self._space, image, self.arch, self.checks, self.limits)

    def allocate(self, nbytes: int, name: str, itemsize: int) -> EmulatedBuffer:
        """A buffer, aligned to 256 bytes and more; uninitialised until it is written."""
        return EmulatedBuffer(self._space, self._space.allocate(nbytes, name, itemsize))

    def close(self) -> None:
        """Give everything back."""
        self._space = AddressSpace()


def _marshal(
    layout: Layout, arguments: Sequence[Buffer | np.generic], extra_pointers: int
) -> npt.NDArray[np.uint8]:
    """Arguments as the kernel's parameter bytes. Raises `DeviceError` when they do not fit its signature."""
    values = [*arguments, *(np.uint64(0) for _ in range(extra_pointers))]
    if len(values) != len(layout.parameters):
        raise DeviceError(f"the kernel takes {len(layout.parameters)} arguments; {len(values)} were given")
    block = np.zeros(max(layout.parameter_bytes, 1), np.uint8)
    for number, (value, (offset, nbytes)) in enumerate(zip(values, layout.parameters.values(), strict=True)):
        if isinstance(value, EmulatedBuffer):
            value = np.uint64(value.segment.base)
        if not isinstance(value, np.generic):
            raise DeviceError(f"argument {number} is neither a buffer of this device nor a NumPy scalar")
        data = value.tobytes()
        if len(data) != nbytes:
            raise DeviceError(f"argument {number} has {len(data)} bytes; the kernel takes {nbytes}")
        block[offset : offset + nbytes] = np.frombuffer(data, np.uint8)
    return block
