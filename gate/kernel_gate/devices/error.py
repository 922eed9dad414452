"""The error of a device that is not there; who only catches it need not load what devices are made of."""

from __future__ import annotations

from kernel_gate.reasons import Reason


class DeviceError(Exception):
    """A device that is missing or refuses; the message says what to do."""

    def __init__(self, message: str, *, code: Reason = Reason.LAUNCH_FAILED) -> None:
        super().__init__(message)
        self.code = code
