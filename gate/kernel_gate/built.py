"""A program with its images, and the same on a device."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from kernel_gate.build.unit import Unit
from kernel_gate.capture.record import Record
from kernel_gate.capture.replay import replayed
from kernel_gate.cases import ALLOCATED, Memory
from kernel_gate.devices.base import Buffer, Device, Image, LoadedKernel
from kernel_gate.execution import Execution
from kernel_gate.launching import BoundProgram, LaunchError, bind
from kernel_gate.program import Program
from kernel_gate.workload import Workload


@dataclass(frozen=True, slots=True)
class Built:
    """A program and its images."""

    program: Program
    images: Mapping[Unit, Image]
    records: tuple[Record, ...] | None = None
    """What its wrapper did on each shape, for a program that is recorded."""

    @property
    def label(self) -> str:
        """For messages."""
        return self.program.name or self.program.entry

    def bound(self, workload: Workload, dims: Mapping[str, int]) -> BoundProgram:
        """What the program does on one shape. Raises `LaunchError`."""
        if self.records is None:
            return bind(workload, self.program, dims)
        record = next((r for r in self.records if r.dims == dict(dims)), None)
        if record is None:
            raise LaunchError(f"{self.label} was not recorded for {dims}")
        return replayed(record, self.images, workload, self.label)


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
        bound = self.built.bound(self.workload, dims)
        kernels = [
            (self._kernel(launch.unit, dims), self._image(launch.unit, dims)) for launch in bound.launches
        ]
        return Execution(self.device, kernels, self.workload, self.built.program, bound, lent, memory)

    @property
    def kernels(self) -> Collection[LoadedKernel]:
        """Those that some shape has needed so far."""
        return self._kernels.values()

    def _image(self, unit: Unit, dims: Mapping[str, int]) -> Image:
        image = self.built.images.get(unit)
        if image is None:
            shape = ", ".join(f"{name} {extent}" for name, extent in dims.items())
            raise LaunchError(f"{self.built.label} was not built for {shape}")
        return image

    def _kernel(self, unit: Unit, dims: Mapping[str, int]) -> LoadedKernel:
        if unit not in self._kernels:
            image = self._image(unit, dims)
            # Kernels of one compilation share its global variables.
            beside = next(
                (k for u, k in self._kernels.items() if self.built.images[u].ptx == image.ptx), None
            )
            self._kernels[unit] = self.device.load(image, beside)
        return self._kernels[unit]
