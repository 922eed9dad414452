"""The facts of the device at hand, and of one that is described."""

from __future__ import annotations

from functools import cache

from kernel_lineage.skills.conditions.facts import Fact, Facts, FactSource, Scalar

_SHARED_OPT_IN = {
    (7, 0): 98_304, (7, 5): 65_536, (8, 0): 166_912, (8, 6): 101_376, (8, 7): 166_912, (8, 9): 101_376,
    (9, 0): 232_448, (10, 0): 232_448, (10, 3): 232_448, (12, 0): 101_376,
}  # fmt: skip
"""Largest shared memory of a block in bytes, by compute capability (CUDA C++ Programming Guide, appendix)."""
_CORES = {
    (7, 0): 64,
    (7, 5): 64,
    (8, 0): 64,
    (8, 6): 128,
    (8, 7): 128,
    (8, 9): 128,
    (9, 0): 128,
    (10, 0): 128,
}
"""FP32 cores of a multiprocessor, by compute capability (the same guide, arithmetic instructions)."""


@cache
def device_facts() -> tuple[Facts, str]:
    """What NVML tells of the first device; without one, no facts and the reason."""
    try:
        import pynvml
    except ImportError:
        return (
            Facts(),
            "device facts are unknown: nvidia-ml-py is not installed (pip install 'kernel-lineage[gpu]')",
        )
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return Facts(), f"device facts are unknown: NVML does not start ({error})"
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(0)
        name = pynvml.nvmlDeviceGetName(handle)
        major, minor = pynvml.nvmlDeviceGetCudaComputeCapability(handle)
        cores = pynvml.nvmlDeviceGetNumGpuCores(handle)
    except pynvml.NVMLError as error:
        return Facts(), f"device facts are unknown: NVML tells nothing of device 0 ({error})"
    finally:
        pynvml.nvmlShutdown()
    label = name.decode() if isinstance(name, bytes) else str(name)
    return Facts(described_device(label, (int(major), int(minor)), int(cores))), ""


def described_device(name: str, capability: tuple[int, int], cores: int) -> dict[str, Fact]:
    """The facts of a device by its name, compute capability and number of FP32 cores."""
    values: dict[str, Scalar] = {"device.name": name, "device.compute_capability": capability}
    if capability in _SHARED_OPT_IN:
        values["device.shared_bytes_per_block"] = _SHARED_OPT_IN[capability]
    if capability in _CORES:
        values["device.sms"] = cores // _CORES[capability]
    return {n: Fact((v,), f"{n} is {_shown(v)} ({name})", FactSource.DEVICE) for n, v in values.items()}


def _shown(value: Scalar) -> str:
    return ".".join(map(str, value)) if isinstance(value, tuple) else str(value)
