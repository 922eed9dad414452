"""How large the device is that a draft is for: grids that fill a device have as many blocks as it needs.

The number of multiprocessors is a dim. Checked is a small device, so that such grids stay small; timed is the device at
hand, so that they fill it.
"""

from __future__ import annotations

import re

from kernel_gate.devices.opening import EMULATED_MULTIPROCESSORS
from kernel_lineage.workloads.first_device import device_facts

CHECKED = EMULATED_MULTIPROCESSORS
"""Multiprocessors of the device that sizes are checked for."""
MULTIPROCESSORS = "multiProcessorCount"
"""The dim of CUDA C++, as its runtime calls the number."""
ASKED_OF_TORCH = "multi_processor_count"
"""The dim of host code over torch, as a device's properties call the number there."""
NAMES = (MULTIPROCESSORS, ASKED_OF_TORCH, "multiprocessor_count", "num_sms")
"""What the dim is called by how host code asks for it: the CUDA runtime, torch, and Triton's driver twice."""
USUAL = 132
"""Those of an H100 or H200, where no device is at hand; host code that is recorded is told of as many."""
_UNIT = r"(?:sms?|(?:multi_?)?processors?|(?:vector|cube|ai|aic|aiv)?_?cores?)"
_COUNT = re.compile(
    rf"(?:\w*_)?(?:(?:num|number_of|count)_?(?:\w+_)?{_UNIT}|{_UNIT}_?(?:count|num))(?:_count)?_?",
    re.IGNORECASE,
)


def counts_multiprocessors(name: str) -> bool:
    """Whether a name says that it is a device's number of multiprocessors: `multiProcessorCount`, `num_sms`."""
    return _COUNT.fullmatch(name) is not None


def multiprocessors() -> int:
    """Multiprocessors of the first GPU of this machine; of a usual one where NVML tells of none."""
    fact = device_facts()[0].get("device.sms")
    count = fact.values[0] if fact is not None else None
    return count if isinstance(count, int) else USUAL
