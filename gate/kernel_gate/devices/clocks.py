"""Clocks and temperature by NVML, where it is there; without it, nothing is claimed about clocks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any


class Clocks:
    """NVML's view of one GPU."""

    def __init__(self, pci_bus_id: str) -> None:
        self._nvml: Any = None
        self._handle: Any = None
        try:
            import pynvml
        except ImportError:
            return
        try:
            pynvml.nvmlInit()
            self._handle = pynvml.nvmlDeviceGetHandleByPciBusId(pci_bus_id.encode())
            self._nvml = pynvml
        except pynvml.NVMLError:
            self._handle = None

    def sm_mhz(self) -> float | None:
        """The SM clock now; None when NVML does not tell."""
        if self._nvml is None:
            return None
        try:
            return float(self._nvml.nvmlDeviceGetClockInfo(self._handle, self._nvml.NVML_CLOCK_SM))
        except self._nvml.NVMLError:
            return None

    def state(self) -> dict[str, float]:
        """Temperature (°C), power (W), SM clock (MHz) and throttle reasons (NVML's bits), as far as NVML tells."""
        if self._nvml is None:
            return {}
        nvml, handle = self._nvml, self._handle
        readings: dict[str, Callable[[], float]] = {
            "temperature_c": lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),
            "power_w": lambda: nvml.nvmlDeviceGetPowerUsage(handle) / 1000,
            "sm_mhz": lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
            "throttle_reasons": lambda: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle),
        }
        values: dict[str, float] = {}
        for name, read in readings.items():
            with contextlib.suppress(nvml.NVMLError):
                values[name] = read()
        return values

    def describe(self) -> dict[str, Any]:
        """Driver and state; without NVML, that it is missing."""
        if self._nvml is None:
            return {"nvml": "unavailable"}
        driver = self._nvml.nvmlSystemGetDriverVersion()
        return {"driver": driver.decode() if isinstance(driver, bytes) else driver, **self.state()}

    def close(self) -> None:
        """Let go of NVML."""
        if self._nvml is not None:
            self._nvml.nvmlShutdown()
            self._nvml = None
