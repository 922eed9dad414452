"""The gate's own kernels, run on the emulated device: what compares memory finds every byte that differs."""

import numpy as np
import pytest

from gate.devices.fake_driver import FakeDriver, install
from kernel_gate.devices.cuda import CudaDevice
from kernel_gate.devices.emulated import EmulatedDevice
from kernel_gate.devices.image import Image
from kernel_gate.devices.service_kernels import PTX, WORD
from kernel_gate.emulated.launch import Checks

WORDS = 300


def differing(first: np.ndarray, second: np.ndarray, blocks: int = 2) -> int:
    device = EmulatedDevice("sm_90", Checks(races=False))
    buffers = [device.allocate(data.nbytes, name, 4) for name, data in (("a", first), ("b", second))]
    for buffer, data in zip(buffers, (first, second), strict=True):
        buffer.write(data)
    flag = device.allocate(4, "found", 4)
    flag.write(np.zeros(1, np.uint32))
    result = device.load(Image("differ", PTX.decode(), arch="sm_70")).launch(
        (blocks, 1, 1), (64, 1, 1), 0, [*buffers, np.uint64(first.nbytes // WORD), flag]
    )
    assert result.faults == ()
    return int(flag.read().view(np.uint32)[0])


@pytest.mark.parametrize("byte", [0, 15, 16, 2051, WORDS * WORD - 1])
def test_one_byte_that_differs_is_found(byte):
    data = np.arange(WORDS * WORD, dtype=np.uint8)
    other = data.copy()
    assert differing(data, other) == 0
    other[byte] ^= 0x80
    assert differing(data, other) == 1


def test_more_threads_than_words_compare_no_more_than_there_is():
    assert differing(np.ones(WORD, np.uint8), np.ones(WORD, np.uint8), blocks=4) == 0


def test_every_kernel_can_be_read():
    device = EmulatedDevice("sm_90")
    for entry in ("read_all", "wait_cycles", "differ", "empty"):
        assert device.load(Image(entry, PTX.decode(), arch="sm_70")).unsupported == {}


def test_the_tail_of_a_buffer_is_compared_here(monkeypatch):
    driver = install(monkeypatch, FakeDriver())
    held = {}
    monkeypatch.setattr(driver, "memcpy_htod", lambda address, data: held.update({address: bytes(data)}))
    monkeypatch.setattr(
        driver,
        "memcpy_dtoh",
        lambda data, address: data.__setitem__(slice(None), 0 if data.dtype == np.uint32 else tail(address)),
    )

    def tail(address: int) -> np.ndarray:
        start = max(a for a in held if a <= address)
        return np.frombuffer(held[start], np.uint8)[address - start :][:5]

    device = CudaDevice()
    first, second = (device.allocate(2 * WORD + 5, name, 1) for name in "ab")
    data = np.arange(2 * WORD + 5, dtype=np.uint8)
    first.write(data)
    second.write(data)
    assert first.same_as(second)
    data[-1] ^= 1
    second.write(data)
    assert not first.same_as(second)
