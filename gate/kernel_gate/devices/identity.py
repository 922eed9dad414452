"""Which device a run would get, told without opening it: what a kept verdict must agree with."""

from __future__ import annotations

import ctypes
import os
from typing import Any

from kernel_gate.devices.opening import DeviceKind

EMULATED = {"name": "emulated"}


def device_identity(kind: DeviceKind) -> dict[str, Any] | None:
    """Names of the visible GPUs, driver and power limits by NVML; None when nobody can tell.

    Another driver, GPU, power limit or choice of GPUs is another identity. `auto` is the emulated device where there is
    no NVIDIA driver at all.
    """
    if kind == "emulated":
        return EMULATED
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return EMULATED if kind == "auto" else None
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
        try:
            return _gpus(pynvml)
        finally:
            pynvml.nvmlShutdown()
    except pynvml.NVMLError:
        return None


def _gpus(nvml: Any) -> dict[str, Any]:
    handles = [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(nvml.nvmlDeviceGetCount())]
    return {
        "driver": str(nvml.nvmlSystemGetDriverVersion()),
        "visible": os.environ.get("CUDA_VISIBLE_DEVICES"),
        "gpus": [
            {
                "name": str(nvml.nvmlDeviceGetName(handle)),
                "uuid": str(nvml.nvmlDeviceGetUUID(handle)),
                "power_limit_mw": nvml.nvmlDeviceGetEnforcedPowerLimit(handle),
            }
            for handle in handles
        ],
    }
