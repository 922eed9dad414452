"""Opening a device by its name: `cuda`, `emulated`, or `auto`, which takes a GPU when there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from kernel_gate.devices.base import Device, DeviceError
from kernel_gate.processes.closing import Closing

if TYPE_CHECKING:
    from kernel_gate.devices.emulated import EmulatedDevice

DeviceKind = Literal["auto", "cuda", "emulated"]
EMULATED_ARCH = "sm_90"
"""What programs are compiled for on the emulated device: Hopper, so that `tl.dot` becomes wgmma as on an H200."""
EMULATED_MULTIPROCESSORS = 4
"""What a wrapper that asks is told: few, so that grids which fill the device stay small."""


class OpenDevices(Closing):
    """The devices of one process. A GPU is opened once and kept; an emulated one is made for each run."""

    def __init__(self) -> None:
        self._gpu: Device | None = None

    @property
    def has_gpu(self) -> bool:
        """Whether a GPU is open and can be used."""
        return self._gpu is not None and not self._gpu.lost

    @property
    def lost(self) -> bool:
        """Whether a kernel has made the GPU's context unusable for this process."""
        return self._gpu is not None and self._gpu.lost

    def open(
        self,
        kind: DeviceKind,
        *,
        seconds_per_launch: float = 60.0,
        launch_seconds: float = 10.0,
        emulated_arch: str = EMULATED_ARCH,
    ) -> tuple[Device, str]:
        """As `open_device`; a GPU that is open already keeps its context and takes the new limit."""
        if self._gpu is not None and kind != "emulated":
            self._gpu.launch_seconds = launch_seconds
            return self._gpu, ""
        device, why_emulated = open_device(
            kind,
            seconds_per_launch=seconds_per_launch,
            launch_seconds=launch_seconds,
            emulated_arch=emulated_arch,
        )
        if device.kind == "cuda":
            self._gpu = device
        return device, why_emulated

    def keep(self, gpu: Device) -> None:
        """Take a GPU that is open already; it is closed with the others."""
        self._gpu = gpu

    def done(self, device: Device) -> None:
        """A run is done with a device: the kept GPU stays open."""
        if device is not self._gpu:
            device.close()

    def close(self) -> None:
        """Give the GPU back."""
        if self._gpu is not None:
            self._gpu.close()
            self._gpu = None


def open_device(
    kind: DeviceKind,
    *,
    seconds_per_launch: float = 60.0,
    launch_seconds: float = 10.0,
    emulated_arch: str = EMULATED_ARCH,
) -> tuple[Device, str]:
    """The device, and why it is the emulated one, if it is. Raises `DeviceError` for a missing `cuda`.

    A launch may take `launch_seconds` on a GPU, and `seconds_per_launch` on the emulated device, which is slower.
    """
    reason = ""
    if kind in {"auto", "cuda"}:
        from kernel_gate.devices.cuda import CudaDevice

        try:
            return CudaDevice(launch_seconds=launch_seconds), ""
        except DeviceError as error:
            if kind == "cuda":
                raise
            reason = str(error)
    return open_emulated(seconds_per_launch, emulated_arch), reason or "the emulated device was asked for"


def open_emulated(seconds_per_launch: float, arch: str = EMULATED_ARCH) -> Device:
    """The emulated device with all its detectors."""
    from kernel_gate.devices.emulated import EmulatedDevice
    from kernel_gate.emulated.launch import Checks, Limits

    return EmulatedDevice(arch, Checks(), Limits(seconds=seconds_per_launch))


def open_quiet(seconds_per_launch: float, **looked_for: Any) -> EmulatedDevice:
    """The emulated device to look at what a right launch does: of its detectors those that are always on, and those
    that are asked for, as `Checks` names them.
    """
    from kernel_gate.devices.emulated import EmulatedDevice
    from kernel_gate.emulated.launch import Checks, Limits

    checks = Checks(**{"races": False, "uninitialised": False, "overflow": False, **looked_for})
    return EmulatedDevice(EMULATED_ARCH, checks, Limits(seconds=seconds_per_launch))
