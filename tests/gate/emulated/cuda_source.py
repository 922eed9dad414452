"""Small CUDA C++ kernels on the emulated device: compile, lay out arguments, launch, read back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from kernel_gate.build.nvrtc import compile_nvrtc
from kernel_gate.devices.base import Fault, LaunchResult
from kernel_gate.devices.emulated import EmulatedDevice
from kernel_gate.devices.image import Image
from kernel_gate.emulated.launch import Checks, Limits
from kernel_gate.program import Program


@cache
def image(source: str, entry: str = "kernel") -> Image:
    """Device code of one kernel."""
    return compile_nvrtc(Program("cuda", source, entry))


@dataclass(frozen=True)
class Outcome:
    """What a launch left behind."""

    result: LaunchResult
    arrays: dict[str, np.ndarray]

    @property
    def faults(self) -> tuple[Fault, ...]:
        return self.result.faults


def launch(
    code: Image | str,
    arguments: dict[str, Any],
    grid: Any = 1,
    block: Any = 32,
    shared_bytes: int = 0,
    checks: Checks | None = None,
    limits: Limits | None = None,
    uninitialised: tuple[str, ...] = (),
    inputs: tuple[str, ...] = (),
    arch: str = "sm_80",
) -> Outcome:
    """Launch a kernel; arrays become buffers of their name and are read back, scalars go as they are."""
    device = EmulatedDevice(arch, checks, limits)
    kernel = device.load(image(code) if isinstance(code, str) else code)
    values, buffers = [], {}
    for name, value in arguments.items():
        if isinstance(value, np.ndarray):
            buffers[name] = device.allocate(value.nbytes, name, value.itemsize)
            buffers[name].write(value)
            if name in uninitialised:
                buffers[name].declare_uninitialised()
            if name in inputs:
                buffers[name].declare_input()
            values.append(buffers[name])
        else:
            values.append(value)
    result = kernel.launch(dim3(grid), dim3(block), shared_bytes, values)
    arrays = {n: b.read().view(arguments[n].dtype).reshape(arguments[n].shape) for n, b in buffers.items()}
    return Outcome(result, arrays)


def dim3(extent: Any) -> tuple[int, int, int]:
    """One, two or three extents as three."""
    extents = (extent,) if isinstance(extent, int) else tuple(extent)
    return (*extents, 1, 1)[:3]  # type: ignore[return-value]


def line_of(source: str, marker: str) -> int:
    """The line of a source on which a comment `// marker` stands."""
    return next(n for n, line in enumerate(source.splitlines(), 1) if f"// {marker}" in line)
