"""A device that gives times without a GPU: the emulated one, with a clock that counts what a launch executes.

A "time" is warp instructions and sectors of memory, with a little noise. So the whole profile stage runs, and a
candidate that does less is faster; nothing is said of what a GPU would take.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernel_gate.devices.base import DeviceError, LaunchResult
from kernel_gate.devices.emulated import EmulatedDevice, EmulatedKernel
from kernel_gate.devices.occupancy import Multiprocessor
from kernel_gate.emulated.launch import Checks, Limits
from kernel_gate.gate import judge
from kernel_gate.kept import Kept
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.verdict import Verdict
from kernel_gate.workload import Workload

Refuse = Callable[[str, int], Reason | None]
"""From a kernel's PTX and the number of timed launches so far: why the next one fails; None when it does not."""
Law = Callable[[str, tuple[int, int, int]], float]
"""From a kernel's PTX and its grid: microseconds, in the place of counted work."""


class CountingKernel(EmulatedKernel):
    """Launches that can be timed."""

    def prepared(self, grid, block, shared_bytes, arguments) -> Callable[[], None]:
        return functools.partial(self._timed, grid, block, shared_bytes, arguments)

    def _timed(self, *call: Any) -> None:
        device = self._device
        device.next_fault = device.refuse(self._image.ptx, device.timed)
        device.timed += 1
        done: LaunchResult = self.launch(*call)
        total = done.counted.total
        counted = total.instructions + 4 * total.global_sectors
        device.work += counted if device.law is None else 100 * device.law(self._image.ptx, call[0])

    def resources(self, block_threads: int, shared_bytes: int, sm: Multiprocessor) -> dict[str, Any]:
        return {"entry": self._image.entry, "block_threads": block_threads, "registers": 16}


@dataclass
class StillClocks:
    """Clocks that never change, and what they say of throttling."""

    throttle_reasons: int = 0
    mhz: float | None = 1500.0

    def sm_mhz(self) -> float | None:
        return self.mhz

    def state(self) -> dict[str, float]:
        return {"temperature_c": 40.0, "sm_mhz": 1500.0, "throttle_reasons": self.throttle_reasons}


@dataclass
class CountingTimer:
    """The work of a launch as its time."""

    device: TimedEmulated
    noise: float
    overhead_us: float = 0.0
    forgets_kept_lines: bool = False
    generator: np.random.Generator = field(default_factory=lambda: np.random.default_rng(5))

    def cold(self, launch: Callable[[], None], steps: int, limit: float) -> float:
        self.device.watch(limit)
        before = self.device.work
        launch()
        if (why := self.device.next_fault) is not None:
            self.device.lost = True
            raise DeviceError(f"a timed launch did not end within {limit:.3g} s", code=why)
        micros = (self.device.work - before) / 100
        return micros * math.exp(self.noise * self.generator.standard_normal())

    warm = cold

    def close(self) -> None:
        self.device.closed_timers += 1


class TimedEmulated(EmulatedDevice):
    """Implements `kernel_gate.devices.timed.TimedDevice`; to the gate it is a GPU."""

    kind = "cuda"

    def __init__(
        self, *, noise: float = 0.001, throttle_reasons: int = 0, refuse: Refuse = lambda ptx, timed: None,
        watch: Callable[[float], object] = lambda limit: None, memory_bytes: int = 1 << 30,
        peak_bytes_per_second: int = 10**12, law: Law | None = None,
    ) -> None:  # fmt: skip
        checks = Checks(races=False, uninitialised=False, overflow=False, counts=True)
        super().__init__("sm_90", checks, Limits(seconds=20.0))
        self.lost, self.refuse, self.noise, self.watch = False, refuse, noise, watch
        self.clocks = StillClocks(throttle_reasons)
        self.law = law
        self.work = 0.0
        self.timed = self.closed_timers = 0
        self.next_fault: Reason | None = None
        self._memory, self._peak = memory_bytes, peak_bytes_per_second
        self._allocated = 0

    def describe(self) -> dict[str, Any]:
        about = {"name": "counting", "sms": 4, "l2_bytes": 1 << 16, "memory_bytes": self._memory}
        return {
            **super().describe(),
            **about,
            "peak_bytes_per_second": self._peak,
            "peak_flops_per_second": 1e13,
        }

    def load(self, image, beside=None) -> CountingKernel:
        together = beside if isinstance(beside, CountingKernel) else None
        return CountingKernel(self._space, image, self, together)

    def allocate(self, nbytes: int, name: str, itemsize: int, offset: int = 0):
        if nbytes > self._memory:
            raise DeviceError(f"the GPU has no room for {name}; use smaller dims", code=Reason.OUT_OF_MEMORY)
        return super().allocate(nbytes, name, itemsize, offset)

    def open_timer(self) -> CountingTimer:
        return CountingTimer(self, self.noise)

    def multiprocessor(self) -> Multiprocessor:
        return Multiprocessor(2048, 32, 65536, 228 << 10, 1024)


def timed_verdict(
    baseline: Program,
    candidate: Program,
    workload: Workload,
    device: TimedEmulated | None = None,
    **options: Any,
) -> Verdict:
    """The whole gate on such a device."""
    asked = GateOptions.model_validate({"profile_seconds": 20.0, "watch_seconds": 0.0, **options})
    device = device or TimedEmulated()
    with Kept() as kept:
        kept.devices.keep(device)
        return judge(baseline, candidate, workload, device="cuda", options=asked, kept=kept)
