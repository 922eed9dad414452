"""How much of a GPU's memory one process may allocate: what asks the driver for some asks here before."""

from __future__ import annotations

from kernel_gate.devices.base import DeviceError
from kernel_gate.reasons import Reason

SHARE = 0.9
"""Buffers may take this share of what is free at the start: the driver, modules and other processes want the rest."""


class DeviceMemory:
    """Bytes that are still to be had of a budget. What a module brings with it, the driver allocates by itself."""

    def __init__(self, free_bytes: int) -> None:
        self.most_bytes = int(SHARE * free_bytes)
        self._held = 0

    def take(self, nbytes: int, what: str) -> None:
        """Count an allocation before it is made. Raises `DeviceError` when it is more than is left."""
        if self._held + nbytes > self.most_bytes:
            left = (self.most_bytes - self._held) >> 20
            raise DeviceError(
                f"{what} takes {nbytes >> 20} MB and this process may have {left} MB more of the GPU; use smaller dims",
                code=Reason.OUT_OF_MEMORY,
            )
        self._held += nbytes

    def give_back(self, nbytes: int) -> None:
        """Count what was freed."""
        self._held -= nbytes
