"""What a case of the Triton comparison is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .llmc_case import Arrays, Reference

FLOAT_TOLERANCE = 2e-5
LOW_TOLERANCE = 2**-6
"""Relative to the largest expected value of an output."""


@dataclass(frozen=True)
class TritonCase:
    """One kernel, its arguments by the names of its parameters, and what it should give."""

    file: str
    """Within Liger-Kernel's `ops`, or `triton_own.py` beside this file."""
    kernel: str
    arguments: Arrays
    grid: tuple[int, ...]
    reference: Reference
    """float64 arguments → expected outputs."""
    constexpr: Mapping[str, int | float | bool] = field(default_factory=dict)
    num_warps: int = 4
    low_precision: frozenset[str] = frozenset()
    """Arguments that are bf16."""
    tolerance: float | None = None
    """None: by the types of the arguments."""
