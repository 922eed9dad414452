"""A context on a GPU, and waiting for what was launched in it: all that a kernel needs of a device.

The driver is initialised and a context made on opening, never at import; `pycuda.autoinit` and `pycuda.compiler` are
not used. After an illegal address a context is lost: the process that owns it ends with the verdict.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from kernel_gate.devices.base import DeviceError
from kernel_gate.devices.device_memory import DeviceMemory
from kernel_gate.devices.service_kernels import PTX, WORD
from kernel_gate.reasons import Reason

KEPT: list[Any] = []
"""What belongs to a context with a kernel that does not end: giving any of it back would wait for that kernel."""
_TIMES_LONGEST = 20
_SPIN_SECONDS, _LONGEST_PAUSE = 0.001, 0.02
"""How long a wait asks again and again before it pauses, and the longest pause."""


_THREADS, _MOST_BLOCKS = 256, 1024
"""The launch of the kernel that compares memory."""


class CudaContext:
    """A context of this process on one GPU."""

    def __init__(self, ordinal: int = 0, *, launch_seconds: float = 10.0) -> None:
        """`launch_seconds` is what any launch may take; longer ones get a multiple of the longest that ended.

        Raises `DeviceError` when no GPU can be used.
        """
        try:
            import pycuda.driver as driver
        except ImportError as error:
            raise DeviceError(
                f"no GPU can be used: PyCUDA or the NVIDIA driver is missing ({error}); "
                "install the driver and pip install 'kernel-lineage[gpu]' (PyCUDA is built: it needs g++ and cuda.h)",
                code=Reason.DEVICE_MISSING,
            ) from error
        self.driver: Any = driver
        self.lost = False
        """Whether a kernel's failure has made the context unusable."""
        self.modules: list[Any] = []
        self.launch_seconds = launch_seconds
        self._longest = 0.0
        self._scratch: list[Any] = []
        self._scratch_bytes = 0
        self._flag: Any = None
        self._service: Any = None
        self._differ: Any = None
        try:
            driver.init()
            self.handle: Any = driver.Device(ordinal)
            self._context = self.handle.make_context()
            self.memory = DeviceMemory(driver.mem_get_info()[0])
        except driver.Error as error:
            raise DeviceError(
                f"no GPU can be used: {error}; nvidia-smi shows what the driver sees",
                code=Reason.DEVICE_MISSING,
            ) from error

    def most_shared_bytes(self) -> int:
        """Shared memory that one block may have, static and dynamic."""
        attributes = self.driver.device_attribute
        return int(self.handle.get_attribute(attributes.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN))

    def launch_limit(self) -> float:
        """Seconds that a launch may take: enough for any that takes not much longer than the longest so far."""
        return self.launch_seconds + _TIMES_LONGEST * self._longest

    def wait(self) -> bool:
        """Wait for what was launched; whether it ended within the limit. Raises the driver's error when it failed."""
        done = self.driver.Event()
        done.record()
        started = time.monotonic()
        ended = self.wait_for(done, self.launch_limit())
        if ended:
            self._longest = max(self._longest, time.monotonic() - started)
        return ended

    def wait_for(self, event: Any, limit: float, *, spin: float = _SPIN_SECONDS) -> bool:
        """Wait for an event, asking without a pause for `spin` seconds; whether it came within `limit` seconds.

        Raises the driver's error when what it waits for failed.
        """
        started = time.monotonic()
        while not event.query():
            spent = time.monotonic() - started
            if spent > limit:
                return False
            if spent > spin:
                time.sleep(min(spent / 4, _LONGEST_PAUSE))
        return True

    def scratch(self, nbytes: int) -> int:
        """The address of global scratch memory; what launches were prepared with stays until the device is closed."""
        if nbytes > self._scratch_bytes:
            self.memory.take(nbytes, "scratch memory of a launch")
            self._scratch.append(self.driver.mem_alloc(nbytes))
            self._scratch_bytes = nbytes
        return int(self._scratch[-1])

    def service(self) -> Any:
        """The module of the gate's own kernels; the driver compiles it once a context."""
        if self._service is None:
            self._service = self.driver.module_from_buffer(PTX)
        return self._service

    def differ(self, first: int, second: int, nbytes: int) -> bool:
        """Whether two ranges of memory differ; addresses and size are multiples of `WORD`. Waits."""
        if self._flag is None:
            self._flag = self.driver.mem_alloc(4)
            self._differ = self.service().get_function("differ").prepare("PPQP")
        self.driver.memset_d32(int(self._flag), 0, 1)
        words = nbytes // WORD
        blocks = min(_MOST_BLOCKS, -(-words // _THREADS))
        self._differ.prepared_async_call(
            (blocks, 1), (_THREADS, 1, 1), None, first, second, words, int(self._flag)
        )
        flag = np.zeros(1, np.uint32)
        self.driver.memcpy_dtoh(flag, int(self._flag))
        return bool(flag[0])

    def leave(self) -> None:
        """Give back the scratch memory and the context. Safe after the context was lost."""
        if self.lost:
            KEPT.extend([self._scratch, self._flag, self._service])
        else:
            if self._flag is not None:
                self._flag.free()
            for memory in self._scratch:
                memory.free()
        self._scratch, self._flag, self._service, self._differ = [], None, None, None
        self._context.pop()
