"""Where workers can be: one place per visible GPU, or so many shares of the processor for the emulated device."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Literal

from kernel_gate.devices.base import DeviceError
from kernel_gate.reasons import Reason
from kernel_gate.threads import share_of_cores

_THREADS_PER_EMULATED = 2
"""Two compilers run side by side at the start of a run; NumPy takes one thread after that."""
_CORES_PER_GPU = 4
"""Compilers, sanitizers and the oracle of one verdict on a GPU."""


@dataclass(frozen=True, slots=True)
class Place:
    """Room for one worker."""

    name: str
    environment: tuple[tuple[str, str], ...] = field(default=())
    """Added to the worker's environment."""
    is_gpu: bool = False


def gpu_places() -> list[Place]:
    """One place per GPU that NVML lists and CUDA_VISIBLE_DEVICES lets through.

    Raises `DeviceError` when there is none.
    """
    try:
        import pynvml
    except ImportError as error:
        raise _none("the NVML bindings are missing; pip install 'kernel-lineage[gpu]'") from error
    try:
        pynvml.nvmlInit()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
        uuids = [str(pynvml.nvmlDeviceGetUUID(handle)) for handle in handles]
        pynvml.nvmlShutdown()
    except pynvml.NVMLError as error:
        raise _none(f"{error}; nvidia-smi shows what the driver sees") from error
    visible = visible_gpus(uuids, os.environ.get("CUDA_VISIBLE_DEVICES"))
    if not visible:
        raise _none("CUDA_VISIBLE_DEVICES hides them all; unset it or name one")
    return [Place(f"gpu {uuids.index(u)}", (("CUDA_VISIBLE_DEVICES", u),), is_gpu=True) for u in visible]


def _none(why: str) -> DeviceError:
    return DeviceError(f"no GPU can be used: {why}", code=Reason.DEVICE_MISSING)


def visible_gpus(uuids: list[str], setting: str | None) -> list[str]:
    """The GPUs that CUDA_VISIBLE_DEVICES leaves, in its order; as the driver does, it ends at the first wrong name.

    Names are numbers or beginnings of UUIDs (CUDA programming guide, environment variables).
    """
    if setting is None:
        return uuids
    visible: list[str] = []
    for name in (part.strip() for part in setting.split(",")):
        if name.isdecimal():
            matches = uuids[int(name) : int(name) + 1]
        else:
            matches = [u for u in uuids if name and u.startswith(name)]
        if len(matches) != 1 or matches[0] in visible:
            break
        visible += matches
    return visible


def emulated_places(count: int | None = None) -> list[Place]:
    """Places for the emulated device; by default as many as this machine's processor serves."""
    return [Place(f"emulated {i}") for i in range(count or share_of_cores(_THREADS_PER_EMULATED))]


def beside_gpus(gpus: int) -> list[Place]:
    """Places for the emulated device that leave each GPU's worker the cores of its own compilers, and see no GPU."""
    free = share_of_cores(1) - gpus * _CORES_PER_GPU
    count = max(1, free // _THREADS_PER_EMULATED)
    return [Place(f"emulated {i}", (("CUDA_VISIBLE_DEVICES", ""),)) for i in range(count)]


def places(device: Literal["auto", "cuda", "emulated"]) -> list[Place]:
    """Where requests for this device can run. Raises `DeviceError` for `cuda` when there is no GPU."""
    if device == "emulated":
        return emulated_places()
    try:
        return gpu_places()
    except DeviceError:
        if device == "cuda":
            raise
        return emulated_places()
