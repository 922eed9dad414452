"""What one program decides by on a shape, by its arguments alone: asked without running it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from kernel_gate.built import Built, LoadedProgram
from kernel_gate.cases import Case
from kernel_gate.devices.base import Buffer, DeviceError
from kernel_gate.devices.emulated import EmulatedDevice, EmulatedKernel
from kernel_gate.emulated.guards import Constants, Decided, constants
from kernel_gate.launching import LaunchError
from kernel_gate.processes.closing import Closing
from kernel_gate.stages.scalar_sides import Scalars
from kernel_gate.workload import Workload


@dataclass(slots=True)
class Decisions(Closing):
    """Those of one program; each shape is asked once. A context manager."""

    built: Built
    workload: Workload
    constants: Constants = field(default_factory=Constants)
    """What it compares with and adds; after the first shape was asked."""
    _device: EmulatedDevice = field(init=False)
    _loaded: LoadedProgram = field(init=False)
    _decided: dict[tuple[tuple[int, ...], Scalars], tuple[tuple[int, Decided], ...] | None] = field(
        default_factory=dict
    )
    _read: set[int] = field(default_factory=set)
    """Kernels whose constants are among these."""
    _buffers: Mapping[str, Buffer] | None = None
    """Made for the first shape that was asked."""
    _owners: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        self._device = EmulatedDevice("sm_90")
        # Asking is cheap as long as nothing has to be built for it.
        self._loaded = LoadedProgram(self._device, replace(self.built, build=None), self.workload)

    def close(self) -> None:
        self._owners.close()
        self._device.close()

    def on(self, dims: Mapping[str, int], scalars: Scalars = ()) -> tuple[tuple[int, Decided], ...] | None:
        """Each kernel that is launched, by a number of its own, with what it decides; None where it cannot be asked."""
        key = tuple(dims.values()), scalars
        if key not in self._decided:
            try:
                self._decided[key] = tuple(self._launches(dims, scalars))
            except (LaunchError, DeviceError, MemoryError):
                self._decided[key] = None
        return self._decided[key]

    def _launches(self, dims: Mapping[str, int], scalars: Scalars) -> Iterator[tuple[int, Decided]]:
        loaded = replace(self._loaded, workload=Case(dims, 0, scalars=scalars).applied(self.workload))
        if self._buffers is None:
            self._buffers = self._owners.enter_context(loaded.execution(dims)).buffers
        # What is asked depends on arguments alone: buffers of another size do for all shapes.
        with loaded.execution(dims, self._buffers) as execution:
            for kernel, call in execution.calls():
                assert isinstance(kernel, EmulatedKernel)
                yield id(kernel), kernel.decided(*call)
                if id(kernel) not in self._read:
                    self._read.add(id(kernel))
                    self.constants.include(constants(kernel.kernel))
