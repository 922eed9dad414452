"""What a candidate may make the trusted side hold, read and clean up."""

import os
from pathlib import Path

import numpy as np
import pytest

from gate.build.test_compile import SOFTMAX, build_error, cuda, triton
from kernel_gate.build.compile import compile_program
from kernel_gate.build.unit import Unit
from kernel_gate.devices.base import DeviceError
from kernel_gate.devices.cuda_buffer import CudaBuffer
from kernel_gate.devices.device_memory import DeviceMemory
from kernel_gate.devices.emulated import EmulatedDevice
from kernel_gate.emulated.addresses import AddressSpace
from kernel_gate.files.temporary import TemporaryFolder, remove_tree, temporary_root
from kernel_gate.reasons import Reason
from kernel_gate.standing import Standing
from kernel_lineage.auditing.judging import audit
from kernel_lineage.auditing.submissions import submissions


def loaded(source):
    image = compile_program(cuda(source, "k"), "sm_80")[Unit()]
    return EmulatedDevice().load(image)


def test_a_device_array_that_no_memory_holds_is_refused_before_it_is_made():
    source = (
        "__device__ float a[3ull << 40];\n__global__ void k(float *y) { a[threadIdx.x] = 1; y[0] = a[1]; }\n"
    )
    with pytest.raises(DeviceError, match=r"a takes .* GB; the emulated device has"):
        loaded(source)


def test_arrays_count_together():
    space = AddressSpace(most_bytes=1000)
    first = space.allocate(600, "first", 1)
    with pytest.raises(DeviceError, match="second takes"):
        space.allocate(600, "second", 1)
    space.free(first)
    assert space.allocate(600, "second", 1).nbytes == 600


class NoRoom:
    """A GPU's driver that counts what it is asked for."""

    MemoryError = type("NoMemory", (Exception,), {})

    def __init__(self) -> None:
        self.asked: list[int] = []

    def mem_alloc(self, nbytes: int) -> None:
        self.asked.append(nbytes)
        raise self.MemoryError


class Gpu:
    def __init__(self) -> None:
        self.driver, self.memory = NoRoom(), DeviceMemory(10 << 20)


def test_what_is_asked_of_a_gpu_is_counted_before_the_driver_is_asked():
    memory = DeviceMemory(100)
    memory.take(60, "first")
    with pytest.raises(DeviceError, match=r"second takes .* use smaller dims") as refused:
        memory.take(31, "second")
    assert refused.value.code is Reason.OUT_OF_MEMORY
    memory.give_back(60)
    memory.take(90, "second")


def test_a_buffer_beyond_the_share_of_a_gpu_reaches_no_driver_and_one_that_it_refuses_is_given_back():
    gpu = Gpu()
    with pytest.raises(DeviceError, match="y takes 64 MB"):
        CudaBuffer(gpu, 64 << 20, "y")
    assert gpu.driver.asked == []
    for _ in range(3):
        with pytest.raises(DeviceError, match="no 8 MB left for y"):
            CudaBuffer(gpu, 8 << 20, "y")
    assert len(gpu.driver.asked) == 3


@pytest.mark.parametrize("megabytes", [1, 64])
def test_local_arrays_that_no_thread_has_are_refused(megabytes):
    body = f"volatile char a[{megabytes << 20}]; a[threadIdx.x] = 1; y[0] = a[(int)y[1]];"
    result = loaded(f"__global__ void k(float *y) {{ {body} }}\n").launch(
        (1, 1, 1), (1024, 1, 1), 0, [np.uint64(0)]
    )
    assert "bytes of local memory per thread" in result.faults[0].message


def test_local_arrays_of_a_block_are_counted_together():
    body = "volatile char a[400 << 10]; a[threadIdx.x] = 1; y[0] = a[(int)y[1]];"
    kernel = loaded(f"__global__ void k(float *y) {{ {body} }}\n")
    message = kernel.launch((1, 1, 1), (1024, 1, 1), 0, [np.uint64(0)]).faults[0].message
    assert (
        message
        == "the emulated device cannot run it: the local arrays of a block take 800 MB; it has 512 MB for them"
    )


def test_dynamic_shared_memory_that_no_device_has_is_refused():
    kernel = loaded("extern __shared__ float s[];\n__global__ void k(float *y) { y[0] = s[threadIdx.x]; }\n")
    message = kernel.launch((1, 1, 1), (32, 1, 1), 2 << 30, [np.uint64(0)]).faults[0].message
    assert "bytes of shared memory per block" in message


def answers(text):
    """The error of a module that writes its own answer and ends."""
    return build_error(triton(f"import os\n{text}\nos._exit(0)\n{SOFTMAX}"))


def test_an_answer_that_is_too_long_is_not_read():
    error = answers(
        'open("result.json", "w").write(\'{"error": "build", "message": "\' + "x" * (80 << 20) + \'"}\')'
    )
    assert "ended without a result" in str(error)


def test_an_answer_that_is_nested_too_deep_is_none():
    assert "ended without a result" in str(answers('open("result.json", "w").write("[" * 1_000_000)'))


def folders_of_the_gate():
    return set(temporary_root().glob(f"{os.getpid()}-*/build-*"))


NESTS = "for _ in range(3000):\n    os.mkdir('d'); os.chdir('d')"


@pytest.mark.parametrize("text", [NESTS, "os.mkdir('d'); os.mkdir('d/e', 0); os.symlink('/', 'd/out')"])
def test_no_folder_stays(text):
    before = folders_of_the_gate()
    answers(text)
    assert folders_of_the_gate() <= before


def test_nesting_is_limited_while_it_lasts():
    error = build_error(triton(f"import os, time\n{NESTS}\ntime.sleep(60)\n{SOFTMAX}"))
    assert "nested folders more than 100 deep" in str(error)


@pytest.mark.long
def test_folders_of_any_depth_and_mode_are_removed(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o500)
    here = Path.cwd()
    with TemporaryFolder("gate-nested") as name:
        folder = Path(name)
        (folder / ".0").mkdir()
        (folder / "link").symlink_to(outside)
        try:
            os.chdir(folder)
            for _ in range(3000):
                Path("d").mkdir()
                Path("file").touch()
                os.chdir("d")
        finally:
            os.chdir(here)
        (folder / "shut").mkdir()
        (folder / "shut" / "file").touch()
        (folder / "shut").chmod(0)
    assert not folder.exists()
    assert outside.stat().st_mode & 0o777 == 0o500


def test_a_link_is_not_removed_as_a_folder(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    remove_tree(tmp_path / "link")
    assert (tmp_path / "real" / "file").exists()


MODULE = """\
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x * 2


class ModelNew(nn.Module):
    def forward(self, x):
        {does}
        return x * 2


def get_inputs():
    return [torch.rand(4)]


def get_init_inputs():
    return []
"""
TAKES = {
    "time in one number": ("taken = 9**9**9", "took more than 6 s"),
    "memory": ("taken = list(range(10**10))", "MemoryError"),
    "memory of an array": ("taken = x.repeat(10**12)", "MemoryError"),
    "depth": ("f = lambda n: f(n + 1)\n        taken = f(0)", "RecursionError"),
}


@pytest.mark.long
def test_a_submission_that_takes_everything_costs_itself_alone(tmp_path: Path):
    for name, (does, _) in TAKES.items():
        (tmp_path / f"{name}.py").write_text(MODULE.format(does=does))
    (tmp_path / "z.py").write_text(MODULE.format(does="pass"))
    by_name = {one.submission.name: one for one in (audit(s, 1.2) for s in submissions(tmp_path))}
    assert by_name["z.py"].standing is Standing.UNDECIDED and "agree" in by_name["z.py"].reason
    for name, (_, why) in TAKES.items():
        one = by_name[f"{name}.py"]
        assert one.standing is Standing.NOT_JUDGED and why in one.reason, (name, one.reason)
