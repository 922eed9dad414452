"""What a source file says about its kernels: the values that every other package reads.

Invariants: values are immutable; nothing here knows git, skills, devices or editors; reading never raises on
broken code, it returns what can be seen and a list of problems.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tree_sitter import Node


class Language(StrEnum):
    """A kernel language that the product reads."""

    CUDA = "cuda"
    TRITON = "triton"


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A half-open range of a file: UTF-8 byte offsets, and the 1-based first and last line it touches."""

    start: int
    end: int
    first_line: int
    last_line: int

    def contains(self, other: Span) -> bool:
        """Whether `other` lies within this span."""
        return self.start <= other.start and other.end <= self.end


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a file that could not be read; the rest of the file was."""

    message: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a kernel, in the kernel's order."""

    name: str
    """`unnamed_2` for the third one, where the code gives it no name."""
    type: str
    """As written, without the name: `const float* __restrict__`, `int`, `tl.constexpr`; "" when nothing is written."""
    span: Span
    dtype: str | None = None
    """Element type of a pointer or type of a scalar, NumPy's name (`float32`, `bfloat16`, `int32`), if it is told."""
    pointer: bool = False
    const: bool = False
    restrict: bool = False
    constexpr: bool = False
    default: str | None = None


@dataclass(frozen=True, slots=True)
class TemplateParameter:
    """One template parameter of a CUDA C++ kernel."""

    name: str
    type: str | None
    """None for a type parameter (`typename T`), else the type of the value (`int`, `bool`)."""
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """A place where a kernel is launched, with expressions as written there."""

    kernel: str
    span: Span
    grid: tuple[str, ...]
    """One per dimension: a `dim3` or tuple variable and a grid function are given by their components, and
    `meta["BLOCK"]` of a grid function as `BLOCK`."""
    block: tuple[str, ...]
    """Empty for Triton, which has `num_warps` in `options` instead."""
    arguments: tuple[str, ...]
    """One expression per kernel parameter, in the kernel's order, as far as the site tells."""
    shared_bytes: str | None = None
    template_arguments: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    """Triton: constexpr arguments and `num_warps`, `num_stages`; CUDA: `stream`."""
    launcher: str | None = None
    """The host function that holds the site."""
    launcher_span: Span | None = None
    definitions: Mapping[str, str] = field(default_factory=dict)
    """Local names that the expressions use, and their initialisers in the launcher (`grid_size` → `ceil_div(N, 4)`)."""
    unsettled: frozenset[str] = frozenset()
    """Triton: those of them whose value depends on the way to the launch: a branch may give another one."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition that the code itself tests before, around or after what a kernel does."""

    expr: str
    """As written: `idx < N`, `C % 4 == 0`, `torch.cuda.get_device_capability()[0] >= 8`. Of `early_return` and of a
    `check` that leaves, what leads out; of all others, what holds where the work is done: one guard per conjunct, and
    `!(…)` or `not (…)` for the branch that is not taken."""
    kind: str
    """`mask`, `early_return`, `branch`, `loop_bound`, `assert`, `static_assert`, `check` or `dispatch`."""
    span: Span
    where: str
    """`kernel` or `launcher`."""
    leaves: bool = False
    """Where it holds the function is left, and what goes on comes past it: behind it, it does not hold."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A device entry point and all that is seen of it in its file."""

    language: Language
    name: str
    span: Span
    """From the first decorator, template head or qualifier to the closing brace or last statement."""
    name_span: Span
    body_span: Span
    text: str
    parameters: tuple[Parameter, ...]
    template_parameters: tuple[TemplateParameter, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)
    """`launch_bounds`, `autotune`, `heuristics`, `extern_c`, …, with their arguments as written."""
    comment: str = ""
    """The comment block directly above, without comment marks."""
    launches: tuple[Launch, ...] = ()
    """Launch sites found in the same file (or joined from others by the caller)."""
    device_functions: tuple[str, ...] = ()
    """Names of functions in the same file that the kernel reaches, directly or not, in order of definition."""
    node: Node | None = field(default=None, compare=False, repr=False)
    """CUDA, and Triton in a broken buffer: the tree-sitter node of the definition."""
    function: ast.FunctionDef | None = field(default=None, compare=False, repr=False)
    """Triton, when the file parses: the function, with line numbers of the file."""
    source: SourceFile | None = field(default=None, compare=False, repr=False)

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of that name, if there is one."""
        return next((p for p in self.parameters if p.name == name), None)


@dataclass(frozen=True, slots=True)
class DeviceFunction:
    """A `__device__` function (CUDA) or a `@triton.jit` function that is only called from kernels."""

    name: str
    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One parsed file. `data` is what spans index into."""

    language: Language
    data: bytes = field(repr=False)
    kernels: tuple[Kernel, ...]
    launches: tuple[Launch, ...]
    device_functions: tuple[DeviceFunction, ...]
    problems: tuple[Problem, ...] = ()
    root: Node | None = field(default=None, compare=False, repr=False)
    """CUDA: the tree-sitter node of the whole file."""
    module: ast.Module | None = field(default=None, compare=False, repr=False)
    """Triton: the statements that parse, with the file's line numbers."""
    derived: dict[str, object] = field(default_factory=dict, compare=False, repr=False)
    """What other modules worked out of this file, kept with it."""

    def kernel(self, name: str, line: int = 0) -> Kernel | None:
        """The kernel of that name, if there is one; of several the nearest to a line, the first without one."""
        named = [k for k in self.kernels if k.name == name]
        return min(
            named, key=lambda k: max(k.span.first_line - line, line - k.span.last_line, 0), default=None
        )

    def around_kernels(self) -> bytes:
        """The text without its kernels: what they share."""
        parts, end = [], 0
        for kernel in sorted(self.kernels, key=lambda k: k.span):
            parts.append(self.data[end : kernel.span.start])
            end = max(end, kernel.span.end)
        return b"".join([*parts, self.data[end:]])

    def text(self, span: Span) -> str:
        """The text of a span."""
        return self.data[span.start : span.end].decode("utf-8", "replace")
