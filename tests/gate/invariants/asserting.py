"""Kernels with invariants in their comments, on the emulated device: what each assertion says of one launch."""

from __future__ import annotations

from typing import Any

import numpy as np

from gate.emulated.cuda_source import launch
from kernel_gate.build.nvrtc import compile_nvrtc
from kernel_gate.devices.base import Asserted, LaunchResult
from kernel_gate.emulated.launch import Checks
from kernel_gate.invariants.bound import on_shape
from kernel_gate.invariants.marking import marked
from kernel_gate.invariants.reading import read_statements
from kernel_gate.program import Program


def watch(
    source: str,
    arguments: dict[str, Any],
    grid: Any = 1,
    block: Any = 32,
    dims: dict[str, int] | None = None,
    arch: str = "sm_80",
    entry: str = "kernel",
    quiet: bool = True,
) -> LaunchResult:
    """Launch a kernel and watch what its comments assert. All must be readable; `quiet`: nothing else may be wrong."""
    statements, places = read_statements(source, "cuda", [entry])
    assert statements.mistakes == ()
    image = compile_nvrtc(marked(Program("cuda", source, entry), statements, places), arch)
    shapes = {n: (a.shape, a.itemsize) for n, a in arguments.items() if isinstance(a, np.ndarray)}
    invariants = on_shape(statements, shapes, dims or {})
    result = launch(image, arguments, grid, block, checks=Checks(invariants=invariants), arch=arch).result
    assert result.faults == () or not quiet
    return result


def only(result: LaunchResult) -> Asserted:
    """The one assertion of a launch."""
    (assertion,) = result.asserted
    return assertion


def floats(*shape: int) -> np.ndarray:
    """An array whose elements are all different."""
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
