"""Timing by events on a driver that fails and hangs as it is told to."""

from types import SimpleNamespace

import pytest

from gate.devices.fake_driver import LAUNCH_US, FakeDriver, install
from kernel_gate.devices import launch_timer
from kernel_gate.devices.base import DeviceError
from kernel_gate.devices.cuda import CudaDevice
from kernel_gate.devices.launch_timer import EMPTY_KERNEL_US, LaunchTimer
from kernel_gate.reasons import Reason


def timer_on(monkeypatch, driver: FakeDriver) -> tuple[LaunchTimer, CudaDevice]:
    install(monkeypatch, driver)
    device = CudaDevice()
    return LaunchTimer(device), device


def test_what_the_events_add_is_taken_off(monkeypatch):
    driver = FakeDriver()
    timer, _ = timer_on(monkeypatch, driver)
    assert timer.overhead_us == pytest.approx(LAUNCH_US - EMPTY_KERNEL_US)

    def launch() -> None:
        driver.now_us += 100.0

    assert timer.cold(launch, 1, 1.0) == pytest.approx(100.0 - timer.overhead_us)
    assert timer.warm(launch, 1, 1.0) == pytest.approx(100.0 - timer.overhead_us)


def test_a_timed_launch_that_does_not_end_is_left_alone_after_its_time(monkeypatch):
    driver = FakeDriver()
    timer, device = timer_on(monkeypatch, driver)
    driver.hangs = True
    with pytest.raises(DeviceError, match=r"did not end within 0\.02 s") as caught:
        timer.cold(lambda: None, 1, 0.02)
    assert (caught.value.code, device.lost) == (Reason.HANG, True)
    timer.close()
    assert driver.given_back == []


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("cuEventQuery failed: an illegal memory access was encountered", Reason.ILLEGAL_ADDRESS),
        ("cuEventQuery failed: misaligned address", Reason.MISALIGNED),
        ("cuEventQuery failed: unspecified launch failure", Reason.TRAP),
    ],
)
def test_a_timed_launch_that_fails_says_which_rule_it_broke(monkeypatch, message, code):
    driver = FakeDriver()
    timer, device = timer_on(monkeypatch, driver)
    driver.fails_launch = message
    with pytest.raises(DeviceError) as caught:
        timer.cold(lambda: None, 1, 1.0)
    assert (caught.value.code, device.lost) == (code, True)


@pytest.mark.parametrize(
    ("status", "message"), [(0, None), (801, "CUDA error 801"), (None, "no such function")]
)
def test_kept_lines_are_reset_or_nothing_is_timed(monkeypatch, status, message):
    def library(name: str) -> SimpleNamespace:
        if status is None:
            raise AttributeError("no such function")
        return SimpleNamespace(cuCtxResetPersistingL2Cache=lambda: status)

    timer, _ = timer_on(monkeypatch, FakeDriver())
    monkeypatch.setattr(launch_timer.ctypes, "CDLL", library)
    timer.forgets_kept_lines = True
    if message is None:
        assert timer.cold(lambda: None, 1, 1.0) > 0
        return
    with pytest.raises(DeviceError, match=message) as caught:
        timer.cold(lambda: None, 1, 1.0)
    assert caught.value.code is Reason.TIMING_FAILED
