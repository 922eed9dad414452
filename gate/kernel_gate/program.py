"""A program: what the gate builds and runs. Baseline and candidate are programs.

The gate stands alone: whoever calls it has already cut the source down to what compiles for the device (a kernel with
the device functions, types and macros that it reaches) or names a whole file that `nvcc` takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """How a program's kernel is launched: expressions over the workload's dims, in the workload's small language."""

    grid: tuple[str, ...]
    block: tuple[str, ...] = ("128",)
    """Ignored for Triton, which has `num_warps`."""
    shared_bytes: str = "0"
    constexpr: Mapping[str, str] = field(default_factory=dict)
    """Triton: value of each `tl.constexpr` parameter."""
    num_warps: int = 4
    num_stages: int = 3


@dataclass(frozen=True, slots=True)
class Program:
    """Source, entry and launch."""

    language: Literal["cuda", "triton"]
    source: str
    entry: str
    """Name of the kernel."""
    launch: LaunchSpec | None = None
    """None: the workload's own launch."""
    template_arguments: tuple[str, ...] = ()
    """CUDA: `layernorm<float, 4>` is entry `layernorm` with ("float", "4")."""
    includes: Mapping[str, str] = field(default_factory=dict)
    """Header name → contents, the only headers besides the toolkit's that the compiler may see."""
    defines: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    """For messages: `rmsnorm.cu (before)`."""
    first_line: int = 1
    """The line of the user's file that line 1 of `source` is, so that findings name the user's lines."""
    compiler: Literal["nvrtc", "nvcc"] = "nvrtc"
    """CUDA: NVRTC takes device code only; `nvcc` takes a whole file, host code included."""
    flags: tuple[str, ...] = ()
    """CUDA: the user's own compiler flags, of those that `build.allowed` lets through."""
    arguments: tuple[str, ...] | None = None
    """Names of the workload's arguments in this kernel's order; None: as in the workload."""
