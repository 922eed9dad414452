"""Times one launch between two events so that it reads what `ncu` calls gpu__time_duration.

What was measured on an H200 and why it is done this way (tests/benchmarks/results/timing_overhead.md):
- One launch in flight. While the host queues further work, the doorbells that it rings show in the times: 0.3 µs
  of scatter instead of 0.1 µs.
- The cache is cleared by reading, not by setting memory: dirty lines cost the next kernel 2 to 7 µs.
- Events around a launch read 1.2 µs more than gpu__time_duration, whatever the kernel. The cost of the events is
  measured on an empty kernel each time, so that it follows the machine; what remains is the launch of that kernel,
  which gpu__time_duration contains as well.
- CUPTI's activity records scatter less (0.02 µs) but leave the launch out (0.9 µs less than gpu__time_duration), hold
  the profiler of the process, and are one more library to find.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

from kernel_gate.devices.base import DeviceError
from kernel_gate.devices.cuda import CudaDevice
from kernel_gate.devices.cuda_context import KEPT
from kernel_gate.devices.cuda_kernel import kind_of
from kernel_gate.reasons import FAULT_REASONS, Reason
from kernel_gate.timing.intervals import midmean

EMPTY_KERNEL_US = 1.5
"""What a kernel that does nothing is said to take, so that the times of 36 kernels agree best with gpu__time_duration
on an H200 (`ncu` itself reads 1.3 to 1.5)."""
_FLUSH_FACTOR = 2
"""Reading this many times the L2 cache leaves nothing else in it; more changed no time."""
_CALIBRATION_LAUNCHES = 200
_QUEUE_US = 15.0
"""What the host may need to queue an event, a launch and another event."""
_QUEUE_LAUNCH_US = 8.0
"""And each further launch of a program."""
_SHORTEST_US = 0.1
_SPIN_SECONDS = 0.05
"""A launch of up to this is waited for without a pause, so that the next one follows at once."""
_CALIBRATION_LIMIT = 10.0
"""Seconds for one launch of a kernel that does nothing."""


def make_lines_ordinary() -> None:
    """Lines of the L2 cache that a kernel asked to keep (evict_last) are evicted as any others from now on.

    cuCtxResetPersistingL2Cache of the driver, which PyCUDA does not have. Raises `DeviceError` where it is refused:
    reading through the cache would then leave such lines in it, and a cold launch would not be one.
    """
    try:
        status = ctypes.CDLL("libcuda.so.1").cuCtxResetPersistingL2Cache()
    except (OSError, AttributeError) as error:
        raise DeviceError(f"kept lines cannot be reset: {error}", code=Reason.TIMING_FAILED) from error
    if status:
        raise DeviceError(f"kept lines cannot be reset: CUDA error {status}", code=Reason.TIMING_FAILED)


class LaunchTimer:
    """Events, the buffer that clears the L2 cache, and the cost of the events."""

    def __init__(self, device: CudaDevice) -> None:
        self._device = device
        driver = device.driver
        module = device.service()
        self._read_all = module.get_function("read_all").prepare("PQ")
        self._wait = module.get_function("wait_cycles").prepare("Q")
        self._empty = module.get_function("empty").prepare("")
        about = device.describe()
        self._flush_bytes = _FLUSH_FACTOR * int(about["l2_bytes"])
        self._flush_us = self._flush_bytes / int(about["peak_bytes_per_second"]) * 1e6
        self._flush: Any = driver.mem_alloc(self._flush_bytes)
        driver.memset_d32(int(self._flush), 0, self._flush_bytes // 4)
        self._blocks = 2 * int(about["sms"])
        self._cycles_per_us = int(about["max_sm_khz"]) / 1000
        self._start, self._stop = driver.Event(), driver.Event()
        self.forgets_kept_lines = False
        self.overhead_us = 0.0
        """What the events add to a launch's own time."""
        self._calibrate()

    def _calibrate(self) -> None:
        def empty() -> None:
            self._empty.prepared_async_call((1, 1), (32, 1, 1), None)

        for _ in range(3):
            self.cold(empty, 1, _CALIBRATION_LIMIT)
        whole = midmean([self.cold(empty, 1, _CALIBRATION_LIMIT) for _ in range(_CALIBRATION_LAUNCHES)])
        self.overhead_us = max(0.0, whole - EMPTY_KERNEL_US)

    def clear_l2(self) -> None:
        """Leave nothing of any kernel's data in the L2 cache."""
        self._read_all.prepared_async_call(
            (self._blocks, 1), (1024, 1, 1), None, int(self._flush), self._flush_bytes // 16
        )

    def cold(self, launch: Callable[[], None], steps: int, limit: float) -> float:
        """Microseconds of a launch (of `steps` kernels) that finds the L2 cache without its data.

        Raises `DeviceError` for one that fails, or does not end within `limit` seconds.
        """
        if self.forgets_kept_lines:
            make_lines_ordinary()
        for _ in range(math.ceil(self._queueing_us(steps) / self._flush_us)):
            self.clear_l2()
        return self._between_events(launch, limit)

    def warm(self, launch: Callable[[], None], steps: int, limit: float) -> float:
        """The same of a launch that finds in the L2 cache what was used last."""
        cycles = int(self._queueing_us(steps) * self._cycles_per_us)
        self._wait.prepared_async_call((1, 1), (1, 1, 1), None, cycles)
        return self._between_events(launch, limit)

    @staticmethod
    def _queueing_us(steps: int) -> float:
        """How long the device must be busy, so that the host's pace does not show in the time."""
        return _QUEUE_US + _QUEUE_LAUNCH_US * (steps - 1)

    def _between_events(self, launch: Callable[[], None], limit: float) -> float:
        try:
            self._start.record()
            launch()
            self._stop.record()
            ended = self._device.wait_for(self._stop, limit, spin=_SPIN_SECONDS)
        except self._device.driver.Error as error:
            self._device.lost = True
            code = FAULT_REASONS[kind_of(str(error))]
            raise DeviceError(f"a timed launch failed: {error}", code=code) from error
        if not ended:
            self._device.lost = True
            KEPT.append(self._device)
            raise DeviceError(f"a timed launch did not end within {limit:.3g} s", code=Reason.HANG)
        micros = float(self._start.time_till(self._stop)) * 1000.0
        return max(micros - self.overhead_us, _SHORTEST_US)

    def close(self) -> None:
        """Give everything back while the context is there; after it was lost there is nothing to give."""
        if self._device.lost:
            KEPT.extend([self._flush, self._start, self._stop])
        else:
            self._flush.free()
        del self._read_all, self._wait, self._empty, self._start, self._stop
