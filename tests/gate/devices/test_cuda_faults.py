"""What the `cuda` device says when the driver fails, on a driver that fails on demand."""

import numpy as np
import pytest

from gate.devices.fake_driver import FakeDriver, install
from gate.programs import affine
from kernel_gate.build.compile import compile_program
from kernel_gate.build.unit import Unit
from kernel_gate.devices.base import DeviceError
from kernel_gate.devices.cuda import CudaDevice
from kernel_gate.devices.opening import open_device
from kernel_gate.devices.signature import misfit, parameter_bytes
from kernel_gate.program import Program
from kernel_gate.reasons import Reason


@pytest.fixture(scope="module")
def image():
    return compile_program(affine(), "sm_90", want_cubin=True)[Unit()]


def launch(device: CudaDevice, image, *arguments):
    buffers = [device.allocate(256, name, 4) for name in ("y", "x")]
    launch_arguments = arguments or (*buffers, np.int32(64))
    result = device.load(image).launch((1, 1, 1), (64, 1, 1), 0, launch_arguments)
    for buffer in buffers:
        buffer.free()
    return result


def test_a_launch_that_ends_is_a_launch_without_faults(monkeypatch, image):
    install(monkeypatch, FakeDriver())
    result = launch(CudaDevice(), image)
    assert (result.faults, result.device_lost) == ((), False)


def test_a_driver_without_a_gpu_is_said(monkeypatch):
    install(monkeypatch, FakeDriver(init="cuInit failed: no CUDA-capable device is detected"))
    with pytest.raises(DeviceError, match="no CUDA-capable device is detected; nvidia-smi shows") as caught:
        open_device("cuda")
    assert caught.value.code is Reason.DEVICE_MISSING
    device, why = open_device("auto")
    assert device.kind == "emulated" and "no CUDA-capable device" in why


def test_no_memory_names_the_argument(monkeypatch, image):
    install(monkeypatch, FakeDriver(memory=1 << 20))
    with pytest.raises(DeviceError, match=r"x takes 8 MB and this process may have \d MB more") as caught:
        CudaDevice().allocate(8 << 20, "x", 4)
    assert caught.value.code is Reason.OUT_OF_MEMORY


@pytest.mark.parametrize(
    "message",
    [
        "cuModuleLoadDataEx failed: device kernel image is invalid",
        "cuModuleLoadDataEx failed: no kernel image is available for execution on the device",
        "cuModuleLoadDataEx failed: the provided PTX was compiled with an unsupported toolchain.",
    ],
)
def test_a_toolkit_newer_than_the_driver_is_told_from_a_bad_image(monkeypatch, image, message):
    install(monkeypatch, FakeDriver(load=message))
    with pytest.raises(DeviceError, match=r"it knows CUDA up to 12\.8: update the driver") as caught:
        CudaDevice().load(image)
    assert caught.value.code is Reason.TOOLKIT_NEWER_THAN_DRIVER


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("an illegal memory access was encountered", "illegal_address"),
        ("misaligned address", "misaligned"),
        ("unspecified launch failure", "trap"),
    ],
)
def test_a_kernel_that_fails_loses_the_context(monkeypatch, image, message, kind):
    install(monkeypatch, FakeDriver(launch=f"cuEventQuery failed: {message}"))
    device = CudaDevice()
    result = launch(device, image)
    assert (result.faults[0].kind, result.device_lost, device.lost) == (kind, True, True)


def test_a_kernel_that_does_not_end_is_left_alone_after_its_time(monkeypatch, image):
    driver = install(monkeypatch, FakeDriver())
    driver.hangs = True
    device = CudaDevice(launch_seconds=0.05)
    result = launch(device, image)
    assert result.faults[0].kind == "timeout"
    assert result.faults[0].message == "the launch did not end within 0.05 s"
    assert result.device_lost and driver.given_back == []


def test_a_launch_may_take_longer_when_others_took_long_and_ended(monkeypatch, image):
    install(monkeypatch, FakeDriver())
    device = CudaDevice(launch_seconds=1.0)
    device._longest = 2.0
    assert device.launch_limit() == 41.0


def test_arguments_that_do_not_fit_are_not_launched(monkeypatch, image):
    install(monkeypatch, FakeDriver())
    device = CudaDevice()
    short = launch(device, image, np.uint64(1), np.uint64(2))
    assert short.faults[0].message == "the kernel takes 3 arguments; 2 were given"
    narrow = launch(device, image, np.uint64(1), np.uint64(2), np.int64(3))
    assert narrow.faults[0].message == "argument 2 has 8 bytes; the kernel takes 4"


def test_parameters_as_ptx_declares_them():
    source = """struct P { int a[5]; double b; };
    __global__ void k(float *y, unsigned char c, P p, bool b, long long q, short h, double d) {
        if (b) y[0] = c + p.a[2] + q + h + d;
    }
    __global__ void nothing() {}"""
    images = {e: compile_program(Program("cuda", source, e), "sm_90")[Unit()] for e in ("k", "nothing")}
    sizes = {e: parameter_bytes(i.ptx, i.entry) for e, i in images.items()}
    assert sizes == {"k": [8, 1, 32, 1, 8, 2, 8], "nothing": []}
    assert misfit([8, 4], [8, 4]) == ""
