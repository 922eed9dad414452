"""What a proof may take for granted of a kernel's callers: sizes, promises, buffers, scalars, launch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kernel_gate.expr.terms import ZERO, Term

MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_BLOCK = (1024, 1024, 64)
MAX_THREADS = 1024
"""Limits of every supported device (CUDA C++ Programming Guide, technical specifications)."""


@dataclass(frozen=True, slots=True)
class BufferSetting:
    """One buffer of the workload."""

    name: str
    dtype: str
    itemsize: int
    elements: Term
    align: int
    """Bytes that its address is a multiple of."""
    address: Term | None = None
    """Where it lies, in bytes, as launches and kernels that ask for it see it."""
    is_output: bool = False
    """Whether every element is to be written."""
    is_input: bool = False
    """Whether it is only read."""
    values: tuple[Term, Term] | None = None
    """Integers that are only read: least value, and the value that all are below, where the workload states them."""
    has_any: bool = False
    """Whether its integers may be any of its type."""


@dataclass(frozen=True, slots=True)
class LaunchSetting:
    """Extents of the launch."""

    grid: tuple[Term, Term, Term]
    block: tuple[Term, Term, Term]
    shared_bytes: Term = ZERO


@dataclass(frozen=True, slots=True)
class Setting:
    """Everything of a workload that a proof uses."""

    dims: tuple[str, ...]
    """Each is at least 1."""
    assumptions: tuple[Term, ...]
    """Promises, and that scalars fit their types and the launch the device."""
    buffers: Mapping[str, BufferSetting]
    """By the kernel's parameter."""
    scalars: Mapping[str, Term]
    """Integer arguments by the kernel's parameter."""
    launch: LaunchSetting
    constants: Mapping[str, Term] = field(default_factory=dict)
    """Template arguments and `tl.constexpr` parameters that are integers."""
    types: Mapping[str, str] = field(default_factory=dict)
    """Template arguments that are types."""
    scalar_types: Mapping[str, str] = field(default_factory=dict)
    """NumPy's names of the integer arguments' types, for languages whose kernels do not declare them."""
    naturals: frozenset[str] = frozenset()
    """Variables, besides the dims, that are never negative."""
    addresses: Mapping[str, tuple[Term, ...]] = field(default_factory=dict)
    """Variables that stand for where buffers lie → what is known of them."""
    unknowns: Mapping[str, str] = field(default_factory=dict)
    """Variables that stand for what the terms cannot say, with the reason."""
    is_open: bool = False
    """Nothing is known of the callers: sizes, launch and types that the text does not tell stay symbols."""
