"""A stand-in for `pycuda.driver` on a machine without a GPU: it fails as it is told to."""

from __future__ import annotations

import itertools
import sys
from types import ModuleType, SimpleNamespace

import numpy as np

LAUNCH_US = 4.0
"""What every launch takes on the fake device."""


class Error(Exception):
    """pycuda.driver.Error."""


class MemoryError_(Error):
    """pycuda.driver.MemoryError."""


class FakeDriver(ModuleType):
    """What `CudaDevice` asks of the driver."""

    Error, MemoryError = Error, MemoryError_

    def __init__(self, *, init: str = "", load: str = "", launch: str = "", memory: int = 1 << 30) -> None:
        super().__init__("pycuda.driver")
        self.fails_init, self.fails_load, self.fails_launch = init, load, launch
        self.free = memory
        self.hangs = False
        self.given_back: list[str] = []
        self._addresses = itertools.count(1 << 20, 1 << 20)
        self.Context = SimpleNamespace()
        attributes = (
            "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
            *("L2_CACHE_SIZE", "MEMORY_CLOCK_RATE", "GLOBAL_MEMORY_BUS_WIDTH", "MULTIPROCESSOR_COUNT"),
            "CLOCK_RATE",
        )
        self.device_attribute = SimpleNamespace(**{name: name for name in attributes})
        self.now_us = 0.0
        self.function_attribute = SimpleNamespace(MAX_DYNAMIC_SHARED_SIZE_BYTES=1)

    def init(self) -> None:
        if self.fails_init:
            raise Error(self.fails_init)

    def get_driver_version(self) -> int:
        return 12080

    def Device(self, ordinal: int) -> SimpleNamespace:
        return SimpleNamespace(
            make_context=lambda: SimpleNamespace(pop=lambda: self.given_back.append("context")),
            compute_capability=lambda: (9, 0),
            pci_bus_id=lambda: "0000:00:00.0",
            get_attribute=lambda name: 1000 if name != "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN" else 1 << 16,
            name=lambda: "fake",
            total_memory=lambda: 1 << 30,
        )

    def mem_get_info(self) -> tuple[int, int]:
        return self.free, self.free

    def mem_alloc(self, nbytes: int) -> _Allocation:
        if nbytes > self.free:
            raise MemoryError_("cuMemAlloc failed: out of memory")
        return _Allocation(self, next(self._addresses))

    def memcpy_htod(self, address: int, data: object) -> None:
        """Nothing is kept."""

    def memcpy_dtoh(self, data: np.ndarray, address: int) -> None:
        data[...] = 0

    def memset_d8_async(self, address: int, value: int, nbytes: int) -> None:
        """Nothing is kept."""

    def module_from_buffer(self, cubin: bytes) -> SimpleNamespace:
        if self.fails_load:
            raise Error(self.fails_load)
        function = SimpleNamespace(shared_size_bytes=0, prepared_async_call=self._launched)
        function.prepare = lambda types: function
        return SimpleNamespace(get_function=lambda name: function)

    def memset_d32(self, address: int, value: int, count: int) -> None:
        """Nothing is kept."""

    def _launched(self, *arguments: object, **options: object) -> None:
        self.now_us += LAUNCH_US

    def Event(self) -> SimpleNamespace:
        def query() -> bool:
            if self.fails_launch:
                raise Error(self.fails_launch)
            return not self.hangs

        event = SimpleNamespace(query=query, at=0.0)
        event.record = lambda: setattr(event, "at", self.now_us)
        event.time_till = lambda later: (later.at - event.at) / 1000
        return event


class _Allocation:
    def __init__(self, driver: FakeDriver, address: int) -> None:
        self._driver, self._address = driver, address

    def __int__(self) -> int:
        return self._address

    def free(self) -> None:
        self._driver.given_back.append("memory")


def install(monkeypatch, driver: FakeDriver) -> FakeDriver:
    """Let `import pycuda.driver` find it."""
    package = ModuleType("pycuda")
    package.driver = driver  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pycuda", package)
    monkeypatch.setitem(sys.modules, "pycuda.driver", driver)
    monkeypatch.setitem(sys.modules, "pynvml", None)
    return driver
