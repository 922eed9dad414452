"""A program with its images, and the same on a device."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, MutableMapping
from dataclasses import dataclass, field, replace

from kernel_gate.build.errors import BuildError, CompilerMissing
from kernel_gate.build.unit import Unit
from kernel_gate.cases import ALLOCATED, Memory
from kernel_gate.deadline import TimeSpentError, seconds_left
from kernel_gate.devices.base import Buffer, Device, Image, LoadedKernel
from kernel_gate.execution import Execution
from kernel_gate.launching import BoundProgram, LaunchError, bind
from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.shared_arrays import shared_arrays
from kernel_gate.workload import Workload


@dataclass(frozen=True, slots=True)
class Built:
    """A program and its images."""

    program: Program
    images: MutableMapping[Unit, Image]
    build: Callable[[Unit], Image] | None = field(default=None, compare=False)
    """Builds the image that another shape needs than those that it was built for; None: there is none."""

    @property
    def label(self) -> str:
        """For messages."""
        return self.program.name or self.program.entry

    def uses(self, instructions: re.Pattern[str]) -> bool:
        """Whether any of its images has such an instruction."""
        return any(instructions.search(image.ptx) for image in self.images.values())

    def image(self, unit: Unit, dims: Mapping[str, int]) -> Image:
        """The image for one shape, built now where no earlier shape needed it.

        Raises `LaunchError`, and `TimeSpentError` where the deadline ended the compilation.
        """
        shape = ", ".join(f"{name} {extent}" for name, extent in dims.items())
        if unit not in self.images:
            if self.build is None:
                raise LaunchError(f"{self.label} was not built for {shape}")
            try:
                self.images[unit] = self.build(unit)
            except (BuildError, CompilerMissing) as error:
                if error.code is Reason.COMPILER_LIMIT and not seconds_left():
                    raise TimeSpentError(str(error)) from error
                raise LaunchError(f"{self.label} does not build for {shape}: {error}") from error
        return self.images[unit]

    def bound(self, workload: Workload, dims: Mapping[str, int], memory: Memory = ALLOCATED) -> BoundProgram:
        """What the program does on one shape, with buffers that lie so. Raises `LaunchError`."""
        return bind(workload, self.program, dims, memory)


@dataclass(slots=True)
class LoadedProgram:
    """A program on a device. Its kernels are loaded when a shape first needs them, and stay."""

    device: Device
    built: Built
    workload: Workload
    _kernels: dict[Unit, LoadedKernel] = field(default_factory=dict)

    def execution(
        self,
        dims: Mapping[str, int],
        lent: Mapping[str, Buffer] | None = None,
        memory: Memory = ALLOCATED,
    ) -> Execution:
        """The program on one shape, with buffers of its own except the lent ones.

        Raises `LaunchError` and `DeviceError`.
        """
        bound = self.built.bound(self.workload, dims, memory)
        kernels = [
            (self._kernel(launch.unit, dims), self.built.image(launch.unit, dims))
            for launch in bound.launches
        ]
        return Execution(self.device, kernels, self.workload, self.built.program, bound, lent, memory)

    @property
    def kernels(self) -> Collection[LoadedKernel]:
        """Those that some shape has needed so far."""
        return self._kernels.values()

    def _kernel(self, unit: Unit, dims: Mapping[str, int]) -> LoadedKernel:
        if unit not in self._kernels:
            image = self.built.image(unit, dims)
            # Kernels of one compilation share its global variables.
            beside = next(
                (k for u, k in self._kernels.items() if self.built.images[u].ptx == image.ptx), None
            )
            arrays = shared_arrays(self.built.program, unit)
            self._kernels[unit] = self.device.load(replace(image, arrays=arrays), beside)
        return self._kernels[unit]
