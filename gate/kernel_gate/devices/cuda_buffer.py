"""A buffer on a GPU between guard zones."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kernel_gate.devices.base import DeviceError
from kernel_gate.devices.cuda_context import KEPT, CudaContext
from kernel_gate.devices.service_kernels import WORD
from kernel_gate.reasons import Reason

GUARD_BYTES = 4096
_ALIGNMENT = 256


class CudaBuffer:
    """A buffer between two guard zones of random canaries."""

    def __init__(self, device: CudaContext, nbytes: int, name: str, offset: int = 0) -> None:
        self.name = name
        self._device = device
        self._driver = device.driver
        self.nbytes = nbytes
        head = GUARD_BYTES + offset
        tail = -(offset + nbytes) % _ALIGNMENT + GUARD_BYTES
        generator = np.random.default_rng([*np.frombuffer(name.encode(), np.uint8).tolist(), nbytes])
        self._before = generator.integers(0, 256, head, np.uint8)
        self._after = generator.integers(0, 256, tail, np.uint8)
        self._taken = head + nbytes + tail
        device.memory.take(self._taken, name)
        try:
            self._memory = self._driver.mem_alloc(self._taken)
        except self._driver.MemoryError as error:
            device.memory.give_back(self._taken)
            raise DeviceError(
                f"the GPU has no {nbytes >> 20} MB left for {name}; use smaller dims",
                code=Reason.OUT_OF_MEMORY,
            ) from error
        self.address = int(self._memory) + head
        self._driver.memcpy_htod(int(self._memory), self._before)
        self._driver.memcpy_htod(self.address + nbytes, self._after)

    def write(self, array: npt.NDArray[Any]) -> None:
        """Copy an array of the buffer's size into it."""
        data = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
        if data.nbytes != self.nbytes:
            raise DeviceError(f"{self.name} has {self.nbytes} bytes; {data.nbytes} were given")
        if data.nbytes:
            self._driver.memcpy_htod(self.address, data)

    def declare_uninitialised(self) -> None:
        """Nothing: a GPU does not notice reads of what was not written; the poison makes them show."""

    def declare_input(self) -> None:
        """Nothing: a GPU does not notice stores to it; the check compares its bytes."""

    def memset(self, value: int, offset: int, nbytes: int) -> None:
        """Set bytes to one value, in order with launches; does not wait."""
        if nbytes:
            self._driver.memset_d8_async(self.address + offset, value, nbytes)

    def copy_from(self, other: CudaBuffer) -> None:
        """Take the bytes of a buffer of the same size, in order with launches; does not wait."""
        if self.nbytes:
            self._driver.memcpy_dtod_async(self.address, other.address, self.nbytes)

    def same_as(self, other: CudaBuffer) -> bool:
        """Whether a buffer of the same size holds the same bytes; waits for what was launched."""
        aligned = self.address % WORD == other.address % WORD == 0
        whole = self.nbytes // WORD * WORD if aligned else 0
        if whole and self._device.differ(self.address, other.address, whole):
            return False
        return bool(np.array_equal(self._from(whole), other._from(whole)))

    def _from(self, offset: int) -> npt.NDArray[np.uint8]:
        data = np.empty(self.nbytes - offset, np.uint8)
        if data.size:
            self._driver.memcpy_dtoh(data, self.address + offset)
        return data

    def read(self) -> npt.NDArray[np.uint8]:
        """The bytes of the buffer."""
        return self._from(0)

    def damaged(self) -> int | None:
        """Offset of the guard byte nearest to the buffer that changed, None when the guards are whole."""
        after = np.empty_like(self._after)
        self._driver.memcpy_dtoh(after, self.address + self.nbytes)
        changed = np.flatnonzero(after != self._after)
        if changed.size:
            return self.nbytes + int(changed[0])
        before = np.empty_like(self._before)
        self._driver.memcpy_dtoh(before, self.address - len(before))
        changed = np.flatnonzero(before != self._before)
        return int(changed[-1]) - len(before) if changed.size else None

    def free(self) -> None:
        """Give the memory back; after the context was lost there is nothing to give."""
        if not self._device.lost:
            try:
                self._memory.free()
            except self._driver.Error:  # a launch that nothing waited for has failed
                self._device.lost = True
            else:
                self._device.memory.give_back(self._taken)
        if self._device.lost:
            KEPT.append(self._memory)
