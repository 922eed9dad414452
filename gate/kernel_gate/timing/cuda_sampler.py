"""Samples on a GPU: buffers renewed, the cache cold (or warm), one launch between events, the SM clock beside it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from kernel_gate.devices.base import DeviceError
from kernel_gate.devices.timed import ClockReader, Timer
from kernel_gate.timing.sampling import Launch, LaunchFailed, Sample

Cache = Literal["cold", "warm"]

_CLOCK_SECONDS = 0.001
"""How long a reading of the SM clock is used: reading takes NVML 66 µs, as long as a sample of a short kernel."""


@dataclass(frozen=True, slots=True)
class TimedProgram:
    """One loaded copy of a program on one set of buffers."""

    launch: Callable[[], None]
    renew: Callable[[], None]
    """Queues what makes outputs and scratch worthless and restores what the program changes in place."""
    steps: int
    """Launches and memsets that one run queues."""
    limit: float
    """Seconds after which a timed launch counts as hanging."""


class CudaSampler:
    """Implements `kernel_gate.timing.sampling.Sampler`."""

    def __init__(
        self,
        timer: Timer,
        clocks: ClockReader,
        programs: Mapping[Launch, TimedProgram],
        *,
        cache: Cache = "cold",
        inspect: Callable[[Launch], None] | None = None,
    ) -> None:
        """`inspect` is called after each timed launch, while its outputs are there."""
        self._timer, self._clocks, self._programs = timer, clocks, programs
        self._cache = cache
        self._inspect = inspect
        self.buffer_sets = 1 + max(launch.buffers for launch in programs)
        self._clock_read = -1.0
        self._sm_mhz: float | None = None

    def time(self, launch: Launch) -> Sample:
        """Time one launch. Raises `LaunchFailed`."""
        program = self._programs[launch]
        try:
            program.renew()
            if self._cache == "cold":
                micros = self._timer.cold(program.launch, program.steps, program.limit)
            else:
                program.launch()
                program.renew()
                micros = self._timer.warm(program.launch, program.steps, program.limit)
        except DeviceError as error:
            raise LaunchFailed(launch.program, error.code, str(error)) from error
        if self._inspect is not None:
            self._inspect(launch)
        return Sample(micros, self._clock())

    def _clock(self) -> float | None:
        now = time.monotonic()
        if now - self._clock_read > _CLOCK_SECONDS:
            self._sm_mhz, self._clock_read = self._clocks.sm_mhz(), now
        return self._sm_mhz

    def state(self) -> dict[str, float]:
        """Temperature, power and throttle reasons now."""
        return self._clocks.state()
