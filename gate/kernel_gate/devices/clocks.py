"""Clocks and temperature by NVML, where it is there; without it, nothing is claimed about clocks."""

from __future__ import annotations

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

    def describe(self) -> dict[str, Any]:
        """Driver, temperature and throttle reasons; empty without NVML."""
        if self._nvml is None:
            return {"nvml": "unavailable"}
        nvml = self._nvml
        values: dict[str, Any] = {}
        for name, read in (
            ("driver", nvml.nvmlSystemGetDriverVersion),
            ("temperature_c", lambda: nvml.nvmlDeviceGetTemperature(self._handle, nvml.NVML_TEMPERATURE_GPU)),
            ("throttle_reasons", lambda: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(self._handle)),
            ("sm_mhz", self.sm_mhz),
        ):
            try:
                value = read()
            except nvml.NVMLError:
                continue
            values[name] = value.decode() if isinstance(value, bytes) else value
        return values

    def close(self) -> None:
        """Let go of NVML."""
        if self._nvml is not None:
            self._nvml.nvmlShutdown()
            self._nvml = None
