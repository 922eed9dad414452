"""A program: what the gate builds and runs. Baseline and candidate are programs.

Most programs are one launch of one kernel. Others are a sequence of launches and memsets over the workload's buffers
and scratch buffers of their own; the gate runs, checks and times a sequence as one.

The gate stands alone: whoever calls it has already cut the source down to what compiles for the device (a kernel with
the device functions, types and macros that it reaches) or names a whole file that `nvcc` takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

WARP = 32
"""Threads of a warp."""
WARPS_MOST = 32
STAGES_MOST = 16
"""What Triton takes as `num_warps` and `num_stages`."""
_AS_JSON = {"extra": "forbid"}
"""How pydantic reads a program that a request or a record holds."""


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """How a program's kernel is launched: expressions over the workload's dims, in the workload's small language."""

    __pydantic_config__ = _AS_JSON

    grid: tuple[str, ...]
    block: tuple[str, ...] = ("128",)
    """Ignored for Triton, which has `num_warps`."""
    shared_bytes: str = "0"
    constexpr: Mapping[str, str] = field(default_factory=dict)
    """Triton: value of each `tl.constexpr` parameter. CUDA: of macros and constants of the source that are sizes."""
    num_warps: int | str = 4
    num_stages: int | str = 3


@dataclass(frozen=True, slots=True)
class Pointer:
    """An argument that points into a buffer."""

    buffer: str
    offset: str = "0"
    """Bytes from the buffer's start: an expression."""


@dataclass(frozen=True, slots=True)
class Value:
    """An argument that is a number which the workload does not declare."""

    value: str
    """An expression."""
    dtype: str


Word = str | Pointer | Value
"""A pointer or a number; text is the name of an argument of the workload or of a scratch buffer."""


@dataclass(frozen=True, slots=True)
class Structure:
    """An argument that is a structure, given by value. What no field covers is 0."""

    fields: tuple[tuple[int, Word], ...]
    """Bytes from the structure's start, and what lies there."""
    nbytes: int
    align: int


Operand = Word | Structure
"""An argument of a launch."""


@dataclass(frozen=True, slots=True)
class LaunchStep:
    """One launch of a sequence."""

    entry: str
    """Name of the kernel."""
    launch: LaunchSpec
    arguments: tuple[Operand, ...]
    """In the kernel's order; for Triton without its `tl.constexpr` parameters."""
    template_arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MemsetStep:
    """Bytes that are set between launches, as `cudaMemsetAsync` does."""

    buffer: str
    value: int = 0
    """The value of each byte, 0 to 255."""
    nbytes: str | None = None
    """An expression; None: to the buffer's end."""
    offset: str = "0"
    """Bytes from the buffer's start: an expression."""


@dataclass(frozen=True, slots=True)
class FillStep:
    """A variable of the device's code that gets the bytes of a buffer, as by `cudaMemcpyToSymbol`."""

    variable: str
    """As the source names it, with namespaces or without."""
    buffer: str


Step = LaunchStep | MemsetStep | FillStep
"""One step of a sequence."""


@dataclass(frozen=True, slots=True)
class Scratch:
    """A buffer of the program's own, poisoned and guarded like all others; a step clears it where the program does."""

    name: str
    dtype: str
    shape: tuple[str, ...]
    """Expressions."""


@dataclass(frozen=True, slots=True)
class Program:
    """Source, entry and launch."""

    __pydantic_config__ = _AS_JSON

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
    lacking: tuple[str, ...] = ()
    """CUDA: headers that nobody has and that the source needs, each with what to do: for a build that fails."""
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
    module: str = ""
    """Triton: the path of `source` in its package, `liger_kernel/ops/rms_norm.py`; `includes` are its siblings then."""
    steps: tuple[Step, ...] = ()
    """The sequence of a program of several launches; `entry` names it, and `launch`, `template_arguments` and
    `arguments` are not used. Empty: one launch of `entry`, or the workload's sequence."""
    scratch: tuple[Scratch, ...] = ()
    """Buffers that the steps use besides the workload's."""
    beside: tuple[str, ...] = ()
    """Other kernels that a candidate's host code launches beside `entry`, and the baseline's does not."""
    of_torch: tuple[str, ...] = ()
    """What PyTorch, or the host of results, works out in a candidate's host code alone, or in the baseline's alone:
    `PyTorch's sqrt_()`. The launch may be given other data, or leave more to do."""
    skipped_where: tuple[str, ...] = ()
    """What a candidate's host code keeps from call to call and asks before it launches `entry`, and the baseline's does
    not: conditions, as they are written. What it does on other calls is not judged.
    """
    launched_where: tuple[str, ...] = ()
    """Conditions over dims under which host code launches this instance of a template; elsewhere it launches others."""
    own_dims: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Names in the launch of which the workload has no dim, as the number of the device's multiprocessors → what they
    are where it is checked and where it is timed."""
    calls: int = 1
    """Calls of its host function that the steps are: where a later one finds other contents than the first, two."""

    def is_same_as(self, other: Program) -> bool:
        """Whether both are one program, whatever messages call them."""
        return replace(self, name=other.name) == other
