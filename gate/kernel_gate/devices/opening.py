"""Opening a device by its name: `cuda`, `emulated`, or `auto`, which takes a GPU when there is one."""

from __future__ import annotations

from typing import Literal

from kernel_gate.devices.base import Device, DeviceError

DeviceKind = Literal["auto", "cuda", "emulated"]
EMULATED_ARCH = "sm_80"


def open_device(kind: DeviceKind, *, seconds_per_launch: float = 60.0) -> tuple[Device, str]:
    """The device, and why it is the emulated one, if it is. Raises `DeviceError` for a missing `cuda`."""
    reason = ""
    if kind in {"auto", "cuda"}:
        from kernel_gate.devices.cuda import CudaDevice

        try:
            return CudaDevice(), ""
        except DeviceError as error:
            if kind == "cuda":
                raise
            reason = str(error)
    return open_emulated(seconds_per_launch), reason or "the emulated device was asked for"


def open_emulated(seconds_per_launch: float) -> Device:
    """The emulated device with all its detectors."""
    from kernel_gate.devices.emulated import EmulatedDevice
    from kernel_gate.emulated.launch import Checks, Limits

    return EmulatedDevice(EMULATED_ARCH, Checks(), Limits(seconds=seconds_per_launch))
